/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf --pid, run and record: three ways to start a watch. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/loader.h"
#include "userspace/base/buffer.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/plural.h"
#include "userspace/base/tty.h"
#include "userspace/watch/child.h"
#include "userspace/command/cmd_watch.h"
#include "userspace/command/command.h"
#include "userspace/command/settings.h"
#include "userspace/ingest/durable.h"
#include "userspace/option/option.h"
#include "userspace/output/output.h"
#include "userspace/watch/sandbox.h"
#include "userspace/watch/select.h"
#include "userspace/command/top_fetch.h"
#include "userspace/watch/watch.h"

#define READY_WAIT_MS 1000

static int cmd_watch_exit_code(int err)
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

static void cmd_watch_report_ready(const struct options *o)
{
	struct pollfd ready = {.fd = (int)o->ready_fd, .events = POLLOUT};

	/* Do not block if the process at the other end does not read. */
	if (o->ready_fd >= 0 && !poll(&ready, 1, READY_WAIT_MS))
		log_warn(
			"--ready-fd %d: nothing was written, because the process at the other end does not read",
			(int)o->ready_fd);
	else if (o->ready_fd >= 0 && write((int)o->ready_fd, "ready\n", 6) != 6)
		log_warn("--ready-fd %d: %s", (int)o->ready_fd, strerror(errno));
	if (o->ready_fd > STDERR_FILENO)
		close((int)o->ready_fd);
}

/* Prints on a terminal how long gp-bpf explain will watch. */
static void cmd_watch_report_explain(const struct options *o)
{
	char took[16];

	if (o->explain && !o->quiet && isatty(STDERR_FILENO))
		fprintf(stderr, "watching for %s (Ctrl-C: explain now)\n",
			clock_duration(took, sizeof(took), (uint64_t)o->for_ns));
}

/* Returns the command line of gp-bpf as one text, for reports and the saved state; malloc'd. NULL:
 * no memory. */
static char *command_text(int argc, char **argv)
{
	struct buffer b = {0};

	for (int i = 0; i < argc; i++) {
		size_t len = option_public_len(i ? argv[i - 1] : NULL, argv[i]);

		buffer_printf(&b, "%s%.*s%s", i ? " " : "", (int)len, argv[i],
			      argv[i][len] ? "/..." : "");
	}
	return b.data;
}

/* Starts to watch the processes of --pid. Skips a process that has ended if the watch resumes from
 * a saved state (resumed), because the state then reports the end; or if the processes were found
 * by name and another one still runs. */
static int cmd_watch_targets(struct watch *w, const struct options *o, bool resumed)
{
	bool found = o->names.count || o->cgroups.count || o->containers.count || o->pods.count;
	int64_t pid;
	int err;

	for (int i = 0; i < o->pids.count; i++) {
		if (option_number(o->pids.item[i], 1, INT32_MAX, &pid))
			return -EINVAL; /* settings_check() has logged the reason */
		err = watch_target(w, (pid_t)pid);
		if (err && (err != -ESRCH ||
			    (!resumed && (!found || (i + 1 == o->pids.count && !watch_busy(w))))))
			return err;
	}
	return 0;
}

/* Opens the output with the saved state, if any. A state of another version is discarded. */
static int cmd_watch_output_open_durable(struct output **ret, const struct options *o,
					 enum output_view view, int report_fd, struct durable *d,
					 bool *ret_saved)
{
	const struct durable_state *state = d ? durable_state(d) : NULL;
	int err = output_resume(ret, o, view, STDOUT_FILENO, report_fd, state, d);

	*ret_saved = state && !err;
	if (!state || (err != -EPROTO && err != -EBADMSG))
		return err;
	log_warn("%s: the saved state is from another version of gp-bpf; starting without it",
		 durable_dir(d));
	durable_discard(d);
	return output_resume(ret, o, view, STDOUT_FILENO, report_fd, NULL, true);
}

static int cmd_watch_until_end(const struct options *o, struct output *out,
			       const struct watch_config *cfg, bool *ret_ran,
			       struct watch_end *ret_end)
{
	struct watch *w = NULL;
	int lost, err = watch_open(&w, o, out, cfg);

	if (!err)
		err = cmd_watch_targets(w, o, cfg->saved);
	if (!err && !cfg->node && !o->pids.count && cfg->saved && !watch_busy(w))
		watch_again(w);
	/* If all processes of the saved state have ended, report how they ended, and exit. Fail if
	 * the state never had a process. */
	if (!err && !cfg->node && !o->pids.count && !watch_busy(w) && output_last_fact(out) <= 1) {
		log_error(
			"%s: the saved state has no process to watch; name one: gp-bpf --durable --pid PID",
			durable_dir(cfg->durable));
		err = -EINVAL;
	}
	if (!err && cfg->node)
		watch_node(w);
	if (!err) {
		watch_reconcile(w);
		cmd_watch_report_ready(o);
		cmd_watch_report_explain(o);
		*ret_ran = true;
		err = watch_run(w, 0, NULL);
		watch_ended(w, ret_end);
	}
	lost = watch_close(w);
	return err ? err : lost;
}

/* Blocks a signal, which the event loop will receive later, so that it does not interrupt the
 * start. */
static void cmd_watch_signal_hold(int signo)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signo);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Checks privileges first, so that no state directory is created if watching is impossible. */
static int cmd_watch_able(const struct options *o)
{
	char off[512];
	int err = options_features_off(o, off, sizeof(off));

	return err ? err : loader_able(off);
}

static enum output_view cmd_watch_view(const struct options *o, bool data)
{
	if (o->quiet || o->explain || data)
		return VIEW_NONE;
	return tty_escapes(STDOUT_FILENO) ? VIEW_LIVE : VIEW_PLAIN;
}

/* Opens the unix socket to which gp-bpf top connects. */
static int cmd_watch_serve_top(const struct options *o, struct output *out)
{
	char path[PATH_MAX];

	return output_serve(out, top_socket(o->state_dir, path));
}

/* Logs what a service watches, as the first line of its log, which bug reports include. */
static void cmd_watch_report_start(const struct options *o, const char *state_dir)
{
	int rules = o->allow.count + o->deny.count;
	char whom[64] = "every job on this node";

	if (rules)
		snprintf(whom, sizeof(whom), "the jobs on this node selected by %d rule%s", rules,
			 plural((uint64_t)rules));
	log_info("version %s watches %s; listens at %s; state in %s", GP_VERSION, whom,
		 o->listen ? o->listen : "no address", o->durable ? state_dir : "memory only");
}

/* Logs what a service has seen, as the last line of its log. Records that wait for sorting are
 * processed first, unless a successor will process them. */
static void cmd_watch_report_end(struct output *out, const struct watch_end *end, uint64_t ran_ns)
{
	const char *signal = end->signo ? sigabbrev_np(end->signo) : NULL;
	struct output_seen seen;
	char ran[32];

	if (end->reason != GP_END_HANDOVER)
		output_finish(out);
	output_seen(out, &seen);
	log_info("version %s ends%s%s%s, after %s: %llu job%s and %llu step%s seen", GP_VERSION,
		 signal ? " on SIG" : "", signal ? signal : "",
		 end->reason == GP_END_HANDOVER ? ", handing over" : "",
		 clock_duration(ran, sizeof(ran), ran_ns), (unsigned long long)seen.jobs,
		 plural(seen.jobs), (unsigned long long)seen.steps, plural(seen.steps));
}

int watch_live(const struct options *o, const struct watch_live *l)
{
	struct watch_config cfg = {.tape = l->tape,
				   .command = l->command,
				   .node = l->node,
				   .argc = l->argc,
				   .argv = l->argv};
	const char *state_dir = o->state_dir ? o->state_dir : DURABLE_DIR;
	bool data = false, quiet = o->quiet || l->node, ran = false, over;
	struct watch_end end = {.reason = GP_END_ERROR};
	uint64_t start_ns = clock_mono_ns();
	struct output *out = NULL;
	int err = 0, lost;

	loader_raise_descriptors();
	if (l->node && !l->top)
		cmd_watch_report_start(o, state_dir);
	data = o->json || l->node || output_is_data(o) || (l->tape && !strcmp(l->tape, "-"));
	if (o->durable)
		err = cmd_watch_able(o);
	if (!err && o->takeover)
		cfg.preload = loader_preload(state_dir);
	if (!err && o->durable) {
		/* Block SIGUSR1 now: as soon as this process has the lock, a later process with
		 * --takeover may send this signal. */
		cmd_watch_signal_hold(SIGUSR1);
		err = durable_open(&cfg.durable, state_dir, o->takeover);
		cmd_watch_signal_hold(SIGTERM);
	}
	if (!err)
		err = sandbox_enter(o);
	if (!err)
		err = cmd_watch_output_open_durable(&out, o, cmd_watch_view(o, data),
						    data ? STDERR_FILENO : STDOUT_FILENO,
						    cfg.durable, &cfg.saved);
	if (!err && l->top)
		err = output_top(out, l->top, l->terminal);
	else if (!err && l->node)
		err = cmd_watch_serve_top(o, out);
	if (!err)
		err = cmd_watch_until_end(o, out, &cfg, &ran, &end);
	over = end.reason == GP_END_HANDOVER;
	if (ran && l->node && !l->top)
		cmd_watch_report_end(out, &end, clock_mono_ns() - start_ns);
	if (over && !o->quiet)
		log_write(
			LOG_WARN,
			"handed over: the probes stay for the next gp-bpf --durable, which has a minute to start; gp-bpf detach removes them");
	lost = output_close(out, ran && !quiet && !over);
	durable_close(cfg.durable);
	loader_preload_free(cfg.preload);
	return cmd_watch_exit_code(err ? err : lost);
}

/* Chooses the view of `gp-bpf run`. On a terminal it prints nothing unless --live is set, because
 * the command that it runs uses the terminal. */
static enum output_view cmd_watch_view_of_run(const struct options *o, const char *tape)
{
	if (o->quiet || tape)
		return VIEW_NONE;
	if (o->live)
		return tty_escapes(STDOUT_FILENO) ? VIEW_LIVE : VIEW_PLAIN;
	return o->json || output_is_data(o) || isatty(STDERR_FILENO) ? VIEW_NONE : VIEW_EVENTS;
}

static int cmd_watch_run_unwatched(struct child *c)
{
	int status;

	child_release(c);
	while (waitpid(c->pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_RUNTIME;
	child_failed(c);
	return child_exit_code(status);
}

static int watch_child(const struct options *o, struct watch *w, struct child *c)
{
	int status = -1, err = watch_target(w, c->pid);

	if (err)
		return cmd_watch_exit_code(err);
	cmd_watch_report_ready(o);
	child_release(c);
	err = watch_run(w, c->pid, &status);
	if (status == -1)
		return cmd_watch_exit_code(err ? err : -EIO);
	return child_exit_code(status);
}

/* Starts a command and watches it. Returns its exit status; if it could not be started, an exit
 * code of gp-bpf. */
static int watch_command(const struct options *o, const char *tape, const char *command)
{
	struct child c = {.release_fd = -1, .failed_fd = -1};
	struct output *out = NULL;
	struct watch *w = NULL;
	bool failed;
	int err, code;

	if (o->live && !o->output) {
		log_error(
			"--live needs --output FILE, because the output of CMD would overwrite the view");
		return EXIT_USAGE;
	}
	err = child_spawn(&c, o->argv, o->user, tape ? NULL : o->output);
	if (err)
		return EXIT_RUNTIME;
	loader_raise_descriptors(); /* after CMD has started, so that CMD keeps its own limit */
	err = sandbox_enter(o);
	if (!err)
		err = output_open(&out, o, cmd_watch_view_of_run(o, tape), STDERR_FILENO,
				  o->live ? STDOUT_FILENO : STDERR_FILENO);
	if (!err)
		err = watch_open(
			&w, o, out,
			&(struct watch_config){.tape = tape, .run = true, .command = command});
	if (err) {
		output_close(out, false);
		if (o->best_effort) {
			log_warn(
				"run: nothing can be observed; starting the command anyway (--best-effort)");
			return cmd_watch_run_unwatched(&c);
		}
		child_abandon(&c);
		return cmd_watch_exit_code(err);
	}
	code = watch_child(o, w, &c);
	if (c.release_fd >= 0)
		child_abandon(&c);
	failed = child_failed(&c);
	err = watch_close(w);
	if (err)
		log_error("the recording is incomplete: %s", strerror(-err));
	output_close(out, !o->quiet && !failed);
	return code;
}

static int cmd_watch_pid_checked(const struct options *o, const char *command, int argc,
				 char **argv)
{
	(void)argc;
	(void)argv;
	if (o->argc) {
		log_error("--pid: unexpected argument '%s'; to start a command: gp-bpf run -- CMD",
			  o->argv[0]);
		return EXIT_USAGE;
	}
	if (o->html && o->durable) {
		log_error(
			"--html does not work with --durable, because it covers one run only; use gp-bpf report --html FILE");
		return EXIT_USAGE;
	}
	if ((o->handover || o->takeover) && !o->durable) {
		log_error("%s needs --durable", o->handover ? "--handover" : "--takeover");
		return EXIT_USAGE;
	}
	if (!o->pids.count && !o->durable) {
		log_error(
			"no process named: use gp-bpf --pid PID, or --name, --cgroup, --container, --pod");
		return EXIT_USAGE;
	}
	return watch_live(o, &(struct watch_live){.command = command});
}

static int cmd_watch_run_checked(const struct options *o, const char *command, int argc,
				 char **argv)
{
	(void)argc;
	(void)argv;
	if (!o->argc) {
		log_error("run needs a command: gp-bpf run -- CMD...");
		return EXIT_USAGE;
	}
	return watch_command(o, NULL, command);
}

static int cmd_watch_record_checked(const struct options *o, const char *command, int argc,
				    char **argv)
{
	(void)argc;
	(void)argv;
	if (!o->output || !o->argc == !o->pids.count) {
		log_error(
			"record needs a tape and what to watch: gp-bpf record -o FILE (--pid PID | -- CMD...)");
		return EXIT_USAGE;
	}
	if (o->argc && !strcmp(o->output, "-")) {
		log_error(
			"record -o - works only with --pid, because CMD writes to standard output; name a file");
		return EXIT_USAGE;
	}
	return o->argc ? watch_command(o, o->output, command)
		       : watch_live(o, &(struct watch_live){.command = command, .tape = o->output});
}

/* Number of open files that starting a watch needs. Only the hard limit matters, because
 * loader_raise_descriptors() raises the soft limit to it. */
#define FILES_LEAST 128

static int cmd_watch_files_check(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_max >= FILES_LEAST)
		return 0;
	log_error(
		"the limit of open files is %llu, but watching needs at least %d: raise the hard limit (ulimit -Hn 4096 as root, LimitNOFILE= of a service)",
		(unsigned long long)limit.rlim_max, FILES_LEAST);
	return -EPERM;
}

int watch_parsed(unsigned bit, int argc, char **argv,
		 int (*go)(const struct options *o, const char *command, int argc, char **argv))
{
	char *command = command_text(argc, argv);
	struct options o;
	int err, code = options_parse(&o, bit, argc, argv);

	o.service = bit == CMD_NODE;
	if (code < 0) {
		if (o.ready_fd > STDERR_FILENO)
			fcntl((int)o.ready_fd, F_SETFD,
			      FD_CLOEXEC); /* do not let CMD inherit the descriptor */
		err = settings_check(&o);
		if (!err && o.print_config) {
			options_print(stdout, &o, bit);
			code = EXIT_OK;
		} else {
			err = err || o.best_effort ? err : cmd_watch_files_check();
			err = err ? err : select_processes(&o);
			code = err ? cmd_watch_exit_code(err)
				   : go(&o, command ? command : "", argc, argv);
		}
		options_free(&o);
	}
	free(command);
	return code;
}

int cmd_pid(int argc, char **argv)
{
	return watch_parsed(CMD_PID, argc, argv, cmd_watch_pid_checked);
}

int cmd_run(int argc, char **argv)
{
	return watch_parsed(CMD_RUN, argc, argv, cmd_watch_run_checked);
}

int cmd_record(int argc, char **argv)
{
	return watch_parsed(CMD_RECORD, argc, argv, cmd_watch_record_checked);
}
