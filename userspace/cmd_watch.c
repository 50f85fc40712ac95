/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf --pid, run and record: three ways to start the same live run. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/loader.h"
#include "userspace/base/buffer.h"
#include "userspace/base/log.h"
#include "userspace/child.h"
#include "userspace/command.h"
#include "userspace/ingest/durable.h"
#include "userspace/model/step.h"
#include "userspace/option.h"
#include "userspace/output.h"
#include "userspace/watch.h"

static int exit_code(int err)
{
	switch (err) {
	case 0:
		return EXIT_OK;
	case -EINVAL:
		return EXIT_USAGE;
	case -EPERM:
	case -ENOSYS:
	case -EOPNOTSUPP:
		return EXIT_LACKING;
	default:
		return EXIT_RUNTIME;
	}
}

static void tell_ready(const struct options *o)
{
	if (o->ready_fd >= 0 && write((int)o->ready_fd, "ready\n", 6) != 6)
		log_warn("--ready-fd %d: %s", (int)o->ready_fd, strerror(errno));
	if (o->ready_fd > STDERR_FILENO)
		close((int)o->ready_fd);
}

static bool marker_known(const char *name)
{
	for (int b = BOUNDARY_UPDATE_EXIT; name && b <= BOUNDARY_SYNC; b++)
		if (!strcmp(name, boundary_name[b]))
			return true;
	if (name)
		log_error("--marker: no marker '%s'; see --help for those there are", name);
	return !name;
}

static char *command_text(int argc, char **argv)
{
	struct buffer b = {0};

	for (int i = 0; i < argc; i++)
		buffer_printf(&b, "%s%s", i ? " " : "", argv[i]);
	return b.data;
}

/* resumed: a target may have ended since the predecessor looked, and its end is told all the same. */
static int targets(struct watch *w, const struct options *o, bool resumed)
{
	int64_t pid;
	int err;

	for (int i = 0; i < o->pids.count; i++) {
		if (option_number(o->pids.item[i], 1, INT32_MAX, &pid)) {
			log_error("--pid: '%s' is not a process id", o->pids.item[i]);
			return -EINVAL;
		}
		err = watch_target(w, (pid_t)pid);
		if (err && (err != -ESRCH || !resumed))
			return err;
	}
	return 0;
}

/* The output, going on from the state directory where that can be; a state that another version wrote is
 * given up. */
static int output_open_durable(struct output **ret, const struct options *o, enum output_view view,
			       int report_fd, struct durable *d, bool *ret_saved)
{
	const struct durable_state *state = d ? durable_state(d) : NULL;
	int err = output_resume(ret, o, view, STDOUT_FILENO, report_fd, state, d);

	*ret_saved = state && !err;
	if (!state || (err != -EPROTO && err != -EBADMSG))
		return err;
	log_warn("%s: what was known is of another version of gp-bpf; beginning anew", durable_dir(d));
	durable_discard(d);
	return output_resume(ret, o, view, STDOUT_FILENO, report_fd, NULL, true);
}

static int watched(const struct options *o, struct output *out, const struct watch_config *cfg, bool *ret_ran,
		   bool *ret_over)
{
	struct watch *w = NULL;
	int lost, err = watch_open(&w, o, out, cfg);

	if (!err)
		err = targets(w, o, cfg->saved);
	if (!err && !o->pids.count && cfg->saved && !watch_busy(w))
		watch_again(w);
	/* When it is known that somebody was, this run tells how that ended. */
	if (!err && !o->pids.count && !watch_busy(w) && output_told(out) <= 1) {
		log_error("%s: nobody is watched; which process? gp-bpf --durable --pid PID",
			  durable_dir(cfg->durable));
		err = -EINVAL;
	}
	if (!err) {
		watch_reconcile(w);
		tell_ready(o);
		*ret_ran = true;
		err = watch_run(w, 0, NULL);
		*ret_over = watch_handed_over(w);
	}
	lost = watch_close(w);
	return err ? err : lost;
}

/* Kept for the loop, so that a start is not torn. */
static void signal_hold(int signo)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signo);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Told before a state directory is made that only those who may watch can make. */
static int able(const struct options *o)
{
	char off[512];
	int err = options_features_off(o, off, sizeof(off));

	return err ? err : loader_able(off);
}

/* Watches running processes. tape NULL: nothing is recorded. */
static int watch_pids(const struct options *o, const char *tape, const char *command)
{
	bool tty = isatty(STDOUT_FILENO), data = false, ran = false, over = false;
	struct watch_config cfg = {.tape = tape, .command = command};
	struct output *out = NULL;
	int err = 0, lost;

	data = o->json || output_is_data(o) || (tape && !strcmp(tape, "-"));
	if (o->durable)
		err = able(o);
	if (!err && o->durable) {
		signal_hold(SIGUSR1); /* of --takeover, from the moment that we have the lock */
		err = durable_open(&cfg.durable, o->state_dir ? o->state_dir : DURABLE_DIR, o->takeover);
		signal_hold(SIGTERM);
	}
	if (!err)
		err = output_open_durable(&out, o,
					  o->quiet || data ? VIEW_NONE
					  : tty		   ? VIEW_LIVE
							   : VIEW_PLAIN,
					  data ? STDERR_FILENO : STDOUT_FILENO, cfg.durable, &cfg.saved);
	if (!err)
		err = watched(o, out, &cfg, &ran, &over);
	if (over && !o->quiet)
		log_write(LOG_WARN, "handed over: the probes stay for the next gp-bpf --durable, which has a "
				    "minute to start; gp-bpf detach removes them");
	lost = output_close(out, ran && !o->quiet && !over);
	durable_close(cfg.durable);
	return exit_code(err ? err : lost);
}

static int run_unwatched(struct child *c)
{
	int status;

	child_release(c);
	while (waitpid(c->pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_RUNTIME;
	return child_exit_code(status);
}

static int watch_child(const struct options *o, struct watch *w, struct child *c)
{
	int status = -1, err = watch_target(w, c->pid);

	if (err)
		return exit_code(err);
	tell_ready(o);
	child_release(c);
	err = watch_run(w, c->pid, &status);
	if (status == -1)
		return exit_code(err ? err : -EIO);
	return child_exit_code(status);
}

/* Starts a command and watches it. Its exit status is ours unless we could not start it. */
static int watch_command(const struct options *o, const char *tape, const char *command)
{
	struct child c = {.release_fd = -1, .failed_fd = -1};
	struct output *out = NULL;
	struct watch *w = NULL;
	bool live = o->live && isatty(STDOUT_FILENO);
	int err, code;

	if (o->live && !o->output) {
		log_error("--live needs --output FILE: CMD's own output would write over the view");
		return EXIT_USAGE;
	}
	err = child_spawn(&c, o->argv, o->user, tape ? NULL : o->output);
	if (err)
		return EXIT_RUNTIME;
	err = output_open(&out, o,
			  o->quiet  ? VIEW_NONE
			  : live    ? VIEW_LIVE
			  : o->live ? VIEW_PLAIN
				    : VIEW_NONE,
			  STDERR_FILENO, o->live ? STDOUT_FILENO : STDERR_FILENO);
	if (!err)
		err = watch_open(&w, o, out,
				 &(struct watch_config){.tape = tape, .run = true, .command = command});
	if (err) {
		output_close(out, false);
		if (o->best_effort) {
			log_warn("run: nothing is observed; starting the command all the same "
				 "(--best-effort)");
			return run_unwatched(&c);
		}
		child_abandon(&c);
		return exit_code(err);
	}
	code = watch_child(o, w, &c);
	if (c.release_fd >= 0)
		child_abandon(&c);
	err = watch_close(w);
	if (err)
		log_error("the recording is not whole: %s", strerror(-err));
	output_close(out, !o->quiet && !child_failed(&c));
	return code;
}

static int pid_checked(const struct options *o, const char *command)
{
	if (o->argc) {
		log_error("--pid takes no command ('%s'); to start one: gp-bpf run -- CMD", o->argv[0]);
		return EXIT_USAGE;
	}
	if (o->html && o->durable) {
		log_error("--html is of this run alone: with --durable, ask the store: gp-bpf report --html "
			  "FILE");
		return EXIT_USAGE;
	}
	if ((o->handover || o->takeover) && !o->durable) {
		log_error("%s needs --durable", o->handover ? "--handover" : "--takeover");
		return EXIT_USAGE;
	}
	if (!o->pids.count && !o->durable) {
		log_error("which process? gp-bpf --pid PID");
		return EXIT_USAGE;
	}
	return watch_pids(o, NULL, command);
}

static int run_checked(const struct options *o, const char *command)
{
	if (!o->argc) {
		log_error("run needs a command: gp-bpf run -- CMD...");
		return EXIT_USAGE;
	}
	return watch_command(o, NULL, command);
}

static int record_checked(const struct options *o, const char *command)
{
	if (!o->output || !o->argc == !o->pids.count) {
		log_error("record needs a tape and what to watch: gp-bpf record -o FILE (--pid PID | -- "
			  "CMD...)");
		return EXIT_USAGE;
	}
	if (o->argc && !strcmp(o->output, "-")) {
		log_error("record -o - is for --pid: CMD's own output goes to standard output");
		return EXIT_USAGE;
	}
	return o->argc ? watch_command(o, o->output, command) : watch_pids(o, o->output, command);
}

static int parsed(unsigned bit, int argc, char **argv,
		  int (*go)(const struct options *o, const char *command))
{
	char *command = command_text(argc, argv);
	struct options o;
	int code = options_parse(&o, bit, argc, argv);

	if (code < 0 && !marker_known(o.marker)) {
		options_free(&o);
		code = EXIT_USAGE;
	}
	if (code < 0) {
		if (o.ready_fd > STDERR_FILENO)
			fcntl((int)o.ready_fd, F_SETFD, FD_CLOEXEC); /* not CMD's */
		code = go(&o, command ? command : "");
		options_free(&o);
	}
	free(command);
	return code;
}

int cmd_pid(int argc, char **argv)
{
	return parsed(CMD_PID, argc, argv, pid_checked);
}

int cmd_run(int argc, char **argv)
{
	return parsed(CMD_RUN, argc, argv, run_checked);
}

int cmd_record(int argc, char **argv)
{
	return parsed(CMD_RECORD, argc, argv, record_checked);
}
