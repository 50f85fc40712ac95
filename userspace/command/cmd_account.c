/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf account LOG...: computes goodput from the logs that a job wrote with the goodput library.
 * Needs no privilege and no kernel support. */
#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "userspace/command/account.h"
#include "userspace/command/account_query.h"
#include "userspace/command/account_store.h"
#include "userspace/base/buffer.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/tty.h"
#include "userspace/base/plural.h"
#include "userspace/command/command.h"
#include "userspace/export/export.h"
#include "userspace/ingest/goodput_source.h"
#include "userspace/output/output.h"

#define FOLLOW_POLL_MS 100
/* when a signal ends the program: how long to wait for the terminal to accept output */
#define LEAVE_WAIT_MS 500
#define DRAW_NS	      1000000000ull
/* After drawing the table took T, the log is read for at least DRAW_SHARE * T before the next
 * drawing. */
#define DRAW_SHARE  10
#define PROGRESS_NS 200000000ull
#define LAST_NS	    10000000000ull
/* number of records that are read between two checks of the clock */
#define RECORDS_PER_CHECK 4096
#define WARNINGS_MAX	  20

struct run {
	const struct options *o;
	struct goodput_query query;
	struct export_options export; /* settings of --export */
	bool prints; /* --export writes to standard output, so the report is not printed */
	struct goodput_source *source;
	struct account *account;
	uint64_t end_ns, progress_ns;
	uint64_t draw_ns; /* time of the next drawing of the table (CLOCK_MONOTONIC) */
	uint64_t warned;
	int signals; /* number of signals that were handled so far */
	bool news;   /* records were read since the last drawing */
	bool clock;  /* --now now: the answer is for the current time */
	bool color, ascii;
	bool live; /* draw the table repeatedly while the log grows */
	bool progress;
	bool shown; /* the terminal shows a progress line */
};

static volatile sig_atomic_t signals; /* number of signals received that end the program */

/* LIVE_BEGIN switches the terminal to its alternate screen, without cursor and line wrap; LIVE_END
 * switches back. */
#define LIVE_BEGIN "\033[?1049h\033[?25l\033[?7l"
#define LIVE_END   "\033[?7h\033[?25h\033[?1049l"
static volatile sig_atomic_t live_shown;

/* The first signal ends waiting for more records, the second ends reading, and the third kills the
 * process. */
static void cmd_account_on_signal(int signo)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

	if (signals < 2) {
		signals++;
		return;
	}
	if (live_shown && poll(&out, 1, LEAVE_WAIT_MS) > 0 &&
	    write(STDOUT_FILENO, LIVE_END, strlen(LIVE_END)) > 0)
		live_shown = false;
	log_held_write();
	signal(signo, SIG_DFL);
	raise(signo);
}

/* Installs the signal handler. flags: SA_RESTART, or 0 if a signal shall also interrupt a blocking
 * read. */
static void cmd_account_stop_on_signals(int flags)
{
	struct sigaction sa = {.sa_handler = cmd_account_on_signal, .sa_flags = flags};

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

static void cmd_account_progress_clear(struct run *r)
{
	if (r->shown)
		fputs("\r\033[K", stderr);
	r->shown = false;
}

static void cmd_account_progress_show(struct run *r, uint64_t now_ns)
{
	double part = goodput_source_progress(r->source);

	if (!r->progress || part < 0 || now_ns - r->progress_ns < PROGRESS_NS)
		return;
	r->progress_ns = now_ns;
	r->shown = true;
	fprintf(stderr, "\raccount: %3.0f %%", part * 100);
}

/* Logs the warnings about a job's goodput, because the JSON output has no field for them. */
static void cmd_account_report_job(struct run *r, const struct account_view *v)
{
	const struct goodput_part *p = &v->answer->cumulative;
	const char *job = goodput_name(v->names, v->answer->job);

	if (p->error && r->warned++ < WARNINGS_MAX)
		log_warn("job %s: the goodput library would raise %s: %s", job, p->error_type,
			 p->error);
	for (int i = 0; i < WARNINGS; i++)
		if (v->answer->warnings[i] && r->warned++ < WARNINGS_MAX)
			log_warn("job %s: %s: %" PRIu64, job, goodput_warning_words[i],
				 v->answer->warnings[i]);
}

/* Appends one job to out. Returns 0 or -ENOMEM. */
static int cmd_account_job_show(struct run *r, size_t job, struct buffer *out)
{
	struct goodput_answer answer = {0};
	struct account_view view;
	int err = account_answer(r->account, job, &answer, &view);

	if (err)
		return err;
	if (r->o->json)
		account_json(out, &view);
	if (r->o->json && !r->o->quiet)
		cmd_account_report_job(r, &view);
	if (!r->o->json)
		account_text(out, &view, r->color, r->ascii);
	goodput_answer_free(&answer);
	return out->failed ? -ENOMEM : 0;
}

/* Draws the text over the previous one. If the terminal has too few rows, the last row says how
 * many lines are hidden. */
static void cmd_account_live_write(const struct buffer *text)
{
	struct winsize size = {0};
	struct buffer out = {0};
	const char *at = text->data, *end;
	size_t below = 0;
	int rows;

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	rows = size.ws_row > 1 ? size.ws_row : 24;
	buffer_add(&out, "\033[H", 3);
	for (int i = 0; i + 1 < rows && at && *at; i++, at = *end ? end + 1 : end) {
		end = strchrnul(at, '\n');
		buffer_add(&out, at, (size_t)(end - at));
		buffer_add(&out, "\033[K\n", 4);
	}
	for (; at && *at; at = *end ? end + 1 : end, below++)
		end = strchrnul(at, '\n');
	buffer_printf(&out, "\033[J\033[%dH ^C ends", rows);
	if (below)
		buffer_printf(&out, "; %zu more line%s in a taller window, and at the end", below,
			      plural(below));
	if (!out.failed)
		fwrite(out.data, 1, out.len, stdout);
	fflush(stdout);
	buffer_free(&out);
}

static void cmd_account_live_begin(void)
{
	log_hold();
	live_shown = true;
	fputs(LIVE_BEGIN, stdout);
}

static void cmd_account_live_end(void)
{
	fputs(LIVE_END, stdout);
	fflush(stdout);
	live_shown = false;
	log_release();
}

static void cmd_account_ask_clock(struct run *r)
{
	if (r->clock)
		r->query.now_us = clock_real_ns() / 1000;
}

static int cmd_account_live_draw(struct run *r)
{
	uint64_t begun_ns = clock_mono_ns(), took_ns;
	struct buffer text = {0};
	int err = 0;

	cmd_account_ask_clock(r);
	for (size_t i = 0; !err && i < account_jobs(r->account); i++) {
		if (i)
			buffer_add(&text, "\n", 1);
		err = cmd_account_job_show(r, i, &text);
	}
	if (!err)
		cmd_account_live_write(&text);
	buffer_free(&text);
	took_ns = clock_mono_ns() - begun_ns;
	r->draw_ns = begun_ns + (DRAW_SHARE * took_ns > DRAW_NS ? DRAW_SHARE * took_ns : DRAW_NS);
	return err;
}

/* Reads records. Returns 0: no more records for now; 1: interrupted by a signal or because a
 * drawing is due; -errno. */
static int cmd_account_read_records(struct run *r)
{
	struct goodput_record record;
	uint64_t now_ns;
	unsigned n = 0;
	int rc, err;

	while ((rc = goodput_source_next(r->source, &record)) == 1 || rc == -EAGAIN) {
		if (rc == 1) {
			r->news = true;
			err = account_feed(r->account, &record);
			if (err)
				return err;
		}
		if (signals > r->signals)
			return 1;
		if (rc == 1 && ++n % RECORDS_PER_CHECK)
			continue;
		now_ns = clock_mono_ns();
		cmd_account_progress_show(r, now_ns);
		if (now_ns >= r->end_ns || (r->live && now_ns >= r->draw_ns))
			return 1;
	}
	return rc;
}

/* After a signal: reads what the log contains now, but not what is appended later. */
static int cmd_account_read_last(struct run *r)
{
	uint64_t now_ns = clock_mono_ns();
	int rc;

	r->signals = signals ? 1 : 0; /* A second signal ends the reading at once. */
	r->end_ns = now_ns + LAST_NS;
	r->draw_ns = UINT64_MAX;
	rc = cmd_account_read_records(r);
	return rc < 0 ? rc : 0;
}

static int cmd_account_follow(struct run *r)
{
	uint64_t now_ns;
	int rc;

	for (;;) {
		rc = cmd_account_read_records(r);
		if (rc < 0 || (!rc && goodput_source_over(r->source)))
			return rc;
		cmd_account_progress_clear(r);
		now_ns = clock_mono_ns();
		if (signals || now_ns >= r->end_ns)
			return cmd_account_read_last(r);
		if (r->live && (r->news || r->clock) && now_ns >= r->draw_ns) {
			r->news = false;
			if (cmd_account_live_draw(r) || ferror(stdout))
				return 0; /* logged at the end */
		}
		if (!rc)
			poll(NULL, 0, FOLLOW_POLL_MS);
	}
}

static int cmd_account_export_answer(void *ctx, size_t job, struct goodput_answer *ret,
				     const struct goodput_names **ret_names)
{
	struct account_view view;
	int err = account_answer(ctx, job, ret, &view);

	*ret_names = err ? NULL : view.names;
	return err;
}

static int cmd_account_export(struct run *r)
{
	return export_log_write(&r->export, &(struct export_log){
						    .query = &r->query,
						    .jobs = account_jobs(r->account),
						    .answer = cmd_account_export_answer,
						    .ctx = r->account,
					    });
}

static int cmd_account_export_check(struct run *r)
{
	const struct options *o = r->o;
	struct export_log log = {
		.query = &r->query,
		.clock = r->clock,
		.follow = o->follow,
		.combined = o->json || o->spans.count || o->excludes.count || o->ats.count ||
			    (o->store && strcmp(o->store, "none") != 0),
	};
	int err;

	r->export = output_export_options(o, false);
	err = export_log_check(&r->export, &log);
	r->clock = log.clock;
	r->prints = export_uses(o->exports.item, o->exports.count, o->dry_run).prints;
	return err;
}

static int cmd_account_print_jobs(struct run *r)
{
	struct buffer out = {0};
	int err = 0;

	if (r->prints)
		return cmd_account_export(r);
	cmd_account_ask_clock(r);
	for (size_t i = 0; !err && !ferror(stdout) && i < account_jobs(r->account); i++) {
		if (i && !r->o->json)
			buffer_add(&out, "\n", 1);
		err = cmd_account_job_show(r, i, &out);
		if (!err)
			fwrite(out.data, 1, out.len, stdout);
		buffer_clear(&out);
	}
	buffer_free(&out);
	return err || !account_jobs(r->account) ? err : cmd_account_export(r);
}

/* Logs which records of the log were not used, and why. */
static void cmd_account_report_faults(const struct run *r)
{
	struct goodput_faults f;
	uint64_t refused = account_refused(r->account);

	if (r->warned > WARNINGS_MAX)
		log_warn("%" PRIu64 " more warnings not shown", r->warned - WARNINGS_MAX);
	goodput_source_faults(r->source, &f);
	if (f.bad)
		log_warn("ignored %" PRIu64 " of %" PRIu64 " log entries as invalid; the first: %s",
			 f.bad, f.entries, f.first);
	if (f.cut)
		log_warn(
			"the log is cut off: it ends within an entry or a gzip stream; the result covers what precedes");
	if (f.late)
		log_warn(
			"%" PRIu64
			" records were too late to be sorted by time; they are processed in the order of the log",
			f.late);
	if (refused)
		log_warn("ignored %" PRIu64 " records: more than %d names of jobs", refused,
			 GOODPUT_NAMES_MAX);
	log_info("read %" PRIu64 " log entries: %" PRIu64 " without goodput records, %" PRIu64
		 " duplicates",
		 f.entries, f.foreign, f.duplicates);
}

static void cmd_account_report_nothing(const struct run *r)
{
	struct goodput_faults f;

	goodput_source_faults(r->source, &f);
	if (r->o->job && f.entries > f.bad + f.foreign)
		log_error("account: job '%s' has no record in the log", r->o->job);
	else if (!f.entries)
		log_error("%s%s: the log is empty", r->o->argv[0],
			  r->o->argc > 1 ? " and others" : "");
	else
		log_error("the log has no goodput record among its %" PRIu64 " entries%s%s",
			  f.entries, f.bad ? "; the first invalid entry: " : "", f.first);
}

static int cmd_account_loop(struct run *r)
{
	uint64_t now_ns = clock_mono_ns();
	int err, shown, kept;

	r->progress_ns = now_ns;
	r->end_ns = r->o->for_ns ? now_ns + (uint64_t)r->o->for_ns : UINT64_MAX;
	if (r->o->follow)
		cmd_account_stop_on_signals(0);
	if (r->live)
		cmd_account_live_begin();
	err = r->o->follow ? cmd_account_follow(r) : cmd_account_read_records(r);
	cmd_account_progress_clear(r);
	if (r->live)
		cmd_account_live_end();
	if (r->o->follow)
		cmd_account_stop_on_signals(SA_RESTART); /* From now on, a signal must not interrupt
							    the writing of the result. */
	shown = cmd_account_print_jobs(r);
	if (shown == -ENOMEM || err == -ENOMEM)
		log_error("account: out of memory");
	kept = err || !account_jobs(r->account) ? 0 : account_store(r->account, r->o);
	if (!account_jobs(r->account))
		cmd_account_report_nothing(r);
	else if (!r->o->quiet)
		cmd_account_report_faults(r);
	return err || shown || kept || !account_jobs(r->account) ? EXIT_RUNTIME : EXIT_OK;
}

static bool cmd_account_utf8_terminal(void)
{
	setlocale(LC_CTYPE, "");
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

int cmd_account(int argc, char **argv)
{
	struct run r = {0};
	struct options o;
	int code = options_parse(&o, CMD_ACCOUNT, argc, argv);

	if (code >= 0)
		return code;
	r.o = &o;
	code = EXIT_USAGE;
	if (!o.argc) {
		log_error(
			"account: missing log: gp-bpf account [options] LOG... (- is standard input)");
		goto done;
	}
	if (o.for_ns && !o.follow) {
		log_error("--for needs --follow");
		goto done;
	}
	if (account_query_read(&r.query, &o, &r.clock) || account_store_fits(&o, &r.query) ||
	    cmd_account_export_check(&r))
		goto done;
	r.query.history = o.store && strcmp(o.store, "none") != 0;
	code = EXIT_RUNTIME;
	r.ascii = !cmd_account_utf8_terminal();
	r.color = tty_color(STDOUT_FILENO);
	r.live = tty_escapes(STDOUT_FILENO) && o.follow && !o.json && !r.prints;
	r.progress = !o.quiet && !r.live && tty_escapes(STDERR_FILENO);
	if (goodput_source_open(&r.source, o.argv, o.argc, o.follow))
		goto done;
	r.account = account_new(&r.query, goodput_source_names(r.source), o.job);
	if (r.account)
		code = cmd_account_loop(&r);
	else
		log_error("account: out of memory");
done:
	account_free(r.account);
	goodput_source_close(r.source);
	account_query_free(&r.query);
	options_free(&o);
	return code;
}
