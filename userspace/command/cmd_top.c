/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf top: shows the jobs of a node live. Gets them from the service, or watches with its own
 * probes if there is none. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/loop.h"
#include "userspace/base/tty.h"
#include "userspace/command/cmd_watch.h"
#include "userspace/command/command.h"
#include "userspace/command/settings.h"
#include "userspace/option/option.h"
#include "userspace/command/top_fetch.h"
#include "userspace/view/top.h"

#define INTERVAL_NS	1000000000ll
#define INTERVAL_MIN_NS 100000000ll
#define INTERVAL_MAX_NS 3600000000000ll
#define START_NS	10000000000ull /* how long to wait for a service that is starting */
/* without a terminal: number of refresh intervals to watch before printing one frame */
#define OWN_INTERVALS 5

/* ---- one answer ------------------------------------------------------------------------------ */

static int cmd_top_print(const struct options *o, const struct top_ui *ui,
			 const struct buffer *body, const struct top_source *src)
{
	struct top_state s = {0};
	struct buffer frame = {0};
	int err = top_state_parse(&s, body->data, body->len);

	if (err) {
		log_error(
			"%s: the answer is not from a gp-bpf service; check the address of --listen",
			src->name);
		return EXIT_RUNTIME;
	}
	if (o->json)
		fwrite(body->data, 1, body->len, stdout);
	else
		top_frame(&frame, &s, ui, top_once_options());
	if (frame.data)
		fwrite(frame.data, 1, frame.len, stdout);
	buffer_free(&frame);
	top_state_free(&s);
	return EXIT_OK;
}

static void cmd_top_no_answer(const struct top_source *src, const char *why)
{
	log_error("%s: %s; check that gp-bpf node listens at this address", src->name, why);
}

static int cmd_top_once(const struct options *o, const struct top_ui *ui,
			const struct top_source *src)
{
	static const struct timespec tenth = {.tv_nsec = 100000000};
	uint64_t until_ns = clock_mono_ns() + START_NS;
	struct buffer body = {0};
	char why[TOP_WHY_MAX];
	struct web *w;
	int err, code = EXIT_RUNTIME;

	if (web_open(&w))
		return EXIT_RUNTIME;
	while ((err = top_ask(w, src, &body, why)) == -EAGAIN && clock_mono_ns() < until_ns)
		nanosleep(&tenth, NULL);
	if (err)
		cmd_top_no_answer(src, why);
	else
		code = cmd_top_print(o, ui, &body, src);
	buffer_free(&body);
	web_close(w);
	return code;
}

/* ---- on a terminal --------------------------------------------------------------------------- */

struct shown {
	struct loop *loop;
	struct top *top;
	struct top_fetch *fetch;
	const struct top_source *source;
	char why[TOP_WHY_MAX]; /* reason why the last request failed; "": it succeeded */
};

static void cmd_top_on_state(void *ctx, uint64_t value)
{
	struct shown *v = ctx;
	char line[TOP_WHY_MAX + PATH_MAX + 16];
	struct top_state s;
	int err = top_fetch_take(v->fetch, &s, v->why);

	(void)value;
	if (err > 0) {
		top_note(v->top, false, "");
		top_show(v->top, &s);
	} else if (err < 0) {
		snprintf(line, sizeof(line), "%s: %s", v->source->name, v->why);
		top_note(v->top, err != -EAGAIN, line);
		top_show(v->top, NULL);
	}
}

static void cmd_top_on_key(void *ctx, uint64_t value)
{
	struct shown *v = ctx;

	/* Stop: the terminal was closed, or the user quit with a key. */
	if (value & (EPOLLHUP | EPOLLERR) || top_key(v->top))
		loop_stop(v->loop, 0);
}

static void cmd_top_on_resize(void *ctx, uint64_t value)
{
	(void)value;
	top_resize(((struct shown *)ctx)->top);
}

static void cmd_top_on_end(void *ctx, uint64_t value)
{
	(void)value;
	loop_stop(((struct shown *)ctx)->loop, 0);
}

static void cmd_top_on_log(void *ctx, enum log_level level, const char *line)
{
	top_note(((struct shown *)ctx)->top, level == LOG_ERROR, line);
}

static int cmd_top_live_loop(struct shown *v)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	int err = loop_new(&v->loop);

	for (size_t i = 0; !err && i < sizeof(ends) / sizeof(ends[0]); i++)
		err = loop_add_signal(v->loop, ends[i], cmd_top_on_end, v);
	if (!err)
		err = loop_add_signal(v->loop, SIGWINCH, cmd_top_on_resize, v);
	if (!err)
		err = loop_add_fd(v->loop, top_fetch_fd(v->fetch), EPOLLIN, cmd_top_on_state, v);
	if (!err && isatty(STDIN_FILENO))
		err = loop_add_fd(v->loop, STDIN_FILENO, EPOLLIN, cmd_top_on_key, v);
	return err;
}

static int cmd_top_live(const struct top_ui *ui, const struct top_source *src, uint64_t interval_ns)
{
	struct shown v = {.source = src};
	int err = top_fetch_start(&v.fetch, src, interval_ns);

	if (!err)
		err = cmd_top_live_loop(&v);
	if (!err)
		err = top_open(&v.top, ui, STDIN_FILENO, STDOUT_FILENO);
	if (!err) {
		log_show(cmd_top_on_log, &v);
		loop_run(v.loop);
		log_show(NULL, NULL);
	}
	top_close(v.top);
	top_fetch_stop(v.fetch);
	loop_free(v.loop);
	if (err)
		log_error("top: %s", strerror(-err));
	else if (*v.why)
		cmd_top_no_answer(src, v.why);
	return err || *v.why ? EXIT_RUNTIME : EXIT_OK;
}

/* ---- without a service ----------------------------------------------------------------------- */

static int cmd_top_own(struct options *o, struct top_ui *ui, const struct top_source *src,
		       bool terminal)
{
	log_warn("no gp-bpf node at %s: gp-bpf top watches the jobs itself, with its own probes%s",
		 src->name, terminal ? "" : "; steps are counted from now on");
	ui->own = true;
	top_ui_note(ui, false, "no gp-bpf node here: watching with own probes until q is pressed");
	if (!terminal) {
		o->for_ns = OWN_INTERVALS * o->interval_ns;
		*ui->note = '\0';
	}
	return watch_live(
		o, &(struct watch_live){
			   .command = "gp-bpf top", .node = true, .top = ui, .terminal = terminal});
}

/* ---- choice ---------------------------------------------------------------------------------- */

static int cmd_top_run(struct options *o)
{
	bool terminal = tty_escapes(STDOUT_FILENO) && !o->once && !o->json;
	struct top_source src;
	struct top_ui ui;
	int err;

	if (o->argc) {
		log_error("top: unexpected argument '%s'; to show one job: --filter", o->argv[0]);
		return EXIT_USAGE;
	}
	if (!o->interval_ns)
		o->interval_ns = INTERVAL_NS;
	if (o->interval_ns < INTERVAL_MIN_NS || o->interval_ns > INTERVAL_MAX_NS) {
		log_error("--interval: out of range: expected 100ms to 1h");
		return EXIT_USAGE;
	}
	if (settings_check(o))
		return EXIT_USAGE;
	if (top_ui_init(&ui, o->sort, o->filter) || top_source(&src, o->listen, o->state_dir))
		return EXIT_USAGE;
	err = top_source_check(&src);
	if (err == -EACCES) {
		log_error("%s: permission denied; run as root: sudo gp-bpf top", src.name);
		return EXIT_LACKING;
	}
	if (err && o->listen) {
		log_error(
			"%s: no gp-bpf listens at this address; start gp-bpf node, or omit --listen",
			src.name);
		return EXIT_RUNTIME;
	}
	if (err)
		return cmd_top_own(o, &ui, &src, terminal);
	if (o->allow.count || o->deny.count)
		log_warn("--allow, --deny: ignored: the service at %s has its own rules", src.name);
	return terminal ? cmd_top_live(&ui, &src, (uint64_t)o->interval_ns)
			: cmd_top_once(o, &ui, &src);
}

int cmd_top(int argc, char **argv)
{
	struct options o;
	int code = options_parse(&o, CMD_TOP, argc, argv);

	if (code >= 0)
		return code;
	code = cmd_top_run(&o);
	options_free(&o);
	return code;
}
