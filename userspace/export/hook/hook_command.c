/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/hook/hook_command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/base/file.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"

#define NICE	  5
#define NAME_ROOM 320 /* limit of an environment variable in bytes */
#define KEPT	  200 /* limit of bytes of a command's output that are logged */
#define FIRST_FD  10  /* lowest number of descriptors before they become 0, 1 and 2 */
#define NS_PER_MS 1000000ull

/* ---- the user -------------------------------------------------------------------------------- */

int hook_user_find(struct hook_user *ret, const char *name)
{
	const char *sudo_uid = getenv("SUDO_UID");
	uid_t sudo = sudo_uid && *sudo_uid ? (uid_t)strtoul(sudo_uid, NULL, 10) : 0;
	const struct passwd *pw;

	*ret = (struct hook_user){.uid = geteuid(), .gid = getegid()};
	pw = name ? getpwnam(name) : geteuid() ? NULL : sudo ? getpwuid(sudo) : getpwnam("nobody");
	if (!pw && (name || !geteuid())) {
		log_error("--on: no such user '%s'; set another one with --hook-user",
			  name	 ? name
			  : sudo ? sudo_uid
				 : "nobody");
		return -EINVAL;
	}
	if (!pw || (geteuid() && pw->pw_uid == geteuid()))
		return 0;
	if (geteuid()) {
		log_error("--hook-user %s: only root can run a hook as another user", name);
		return -EPERM;
	}
	ret->change = true;
	ret->uid = pw->pw_uid;
	ret->gid = pw->pw_gid;
	ret->ngroups = HOOK_GROUPS;
	if (getgrouplist(pw->pw_name, pw->pw_gid, ret->groups, &ret->ngroups) < 0)
		ret->ngroups = HOOK_GROUPS; /* with more groups than this, use the first ones */
	return 0;
}

/* ---- the child: only system calls ------------------------------------------------------------ */

struct start {
	const struct hook_command *c;
	char *const *environment;
	int body, output;
};

static int hook_command_settle_descriptors(const struct start *s)
{
	int body = fcntl(s->body, F_DUPFD, FIRST_FD), output = fcntl(s->output, F_DUPFD, FIRST_FD);

	if (body < 0 || output < 0 || dup2(body, STDIN_FILENO) < 0 ||
	    dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
		return -1;
	return (int)syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
}

static void hook_command_settle_signals(void)
{
	/* Resets all signals to SIG_DFL, which the kernel's struct sigaction means if it is zeroed.
	 * Uses the system call, because a parent may have ignored two signals that the C library
	 * uses itself and refuses to change. */
	static const unsigned long dfl[8];
	sigset_t none;

	for (int i = 1; i < _NSIG; i++)
		syscall(SYS_rt_sigaction, i, dfl, NULL, _NSIG / 8);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Uses raw system calls: setresuid() and similar functions of the C library would also signal the
 * other threads, which do not exist in this child process. */
static int hook_command_settle_user(const struct hook_user *u)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	/* If the bounding set cannot be reduced, the calls below still remove the capabilities. */
	for (unsigned long cap = 0; cap < 64 && !prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); cap++)
		;
	prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (u->change && (syscall(SYS_setgroups, u->ngroups, u->groups) ||
			  syscall(SYS_setresgid, u->gid, u->gid, u->gid) ||
			  syscall(SYS_setresuid, u->uid, u->uid, u->uid)))
		return -1;
	if (syscall(SYS_capset, &head, none))
		return -1;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static _Noreturn void hook_command_start_failed(const char *what)
{
	const char *why = strerrordesc_np(errno);
	ssize_t n = write(STDERR_FILENO, what, strlen(what));

	if (n > 0 && why)
		n = write(STDERR_FILENO, why, strlen(why));
	_exit(n > 0 ? 127 : 126);
}

static _Noreturn void hook_command_exec(const struct start *s)
{
	const struct rlimit none = {0};

	setsid();
	hook_command_settle_signals();
	if (hook_command_settle_descriptors(s))
		_exit(126);
	nice(NICE);
	setrlimit(RLIMIT_CORE, &none);
	umask(022);
	if (chdir("/"))
		hook_command_start_failed("cannot change to folder /: ");
	if (hook_command_settle_user(s->c->user))
		hook_command_start_failed("cannot lower the privileges: ");
	/* The command is killed if the thread that waits for it ends. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execve(s->c->path, s->c->words, s->environment);
	hook_command_start_failed("cannot be run: ");
}

/* ---- waiting for the command ----------------------------------------------------------------- */

struct running {
	pid_t pid;
	int pidfd, output;
	char text[KEPT];
	size_t ntext, nread;
	enum hook_end end;
	int stage;	  /* number of signals sent */
	uint64_t next_ns; /* time of the next signal */
};

static void hook_command_output_read(struct running *r)
{
	char piece[4096];
	ssize_t n;

	while (r->output >= 0 && (n = read(r->output, piece, sizeof(piece))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return;
		for (ssize_t i = 0; i < n && r->ntext < KEPT; i++)
			r->text[r->ntext++] = piece[i];
		r->nread += (size_t)n;
		if (r->nread > HOOK_OUTPUT)
			break;
	}
	if (r->output >= 0)
		close(r->output); /* further writes of the command get SIGPIPE */
	r->output = -1;
}

static void hook_command_signal_next(struct running *r, uint64_t now_ns)
{
	int signo = r->stage++ ? SIGKILL : SIGTERM;

	if (signo == SIGTERM)
		r->end = HOOK_TIMEOUT;
	kill(-r->pid, signo);
	kill(r->pid, signo); /* the command may not have its process group yet */
	r->next_ns = now_ns + HOOK_GRACE_NS;
}

/* Waits for the command, and sends signals after its time limit. Returns true if the command ended;
 * false if it did not even end after SIGKILL. */
static bool hook_command_await(struct running *r, const struct hook_command *c)
{
	uint64_t limit_ns = r->next_ns;

	for (bool closed = false, cut;;) {
		struct pollfd fds[] = {{.fd = r->pidfd, .events = POLLIN},
				       {.fd = r->output, .events = POLLIN},
				       {.fd = closed ? -1 : c->wake_fd, .events = POLLIN}};
		uint64_t now_ns = clock_mono_ns(), closed_ns;

		if (now_ns < r->next_ns)
			poll(fds, 3, (int)((r->next_ns - now_ns) / NS_PER_MS) + 1);
		hook_command_output_read(r);
		if (fds[0].revents)
			return true;
		now_ns = clock_mono_ns();
		closed_ns = *c->closed_ns;
		closed = closed_ns != 0;
		cut = closed && !r->stage && closed_ns < limit_ns;
		if (cut)
			r->next_ns = closed_ns;
		if (now_ns < r->next_ns)
			continue;
		if (r->stage == 2)
			return false;
		if (cut) { /* gp-bpf ends: the command is stopped early */
			r->end = HOOK_CLOSED;
			r->stage = 1;
		}
		hook_command_signal_next(r, now_ns);
	}
}

/* Copies the first line of the command's output. */
static void hook_command_first_line(const struct running *r, char *out, size_t len)
{
	size_t n = 0;

	while (n < r->ntext && r->text[n] != '\n')
		n++;
	log_escape(out, len, r->text, n);
}

static enum hook_end hook_command_judge(const struct running *r, uint64_t limit_ns, bool ended,
					int status, char why[HOOK_WHY_MAX])
{
	char line[KEPT + 1], limit[16];

	hook_command_first_line(r, line, sizeof(line));
	if (!ended)
		snprintf(why, HOOK_WHY_MAX, "still runs after SIGKILL");
	else if (r->end == HOOK_TIMEOUT)
		snprintf(why, HOOK_WHY_MAX, "terminated, because it had not ended after %s%s%s",
			 clock_duration(limit, sizeof(limit), limit_ns), *line ? ": " : "", line);
	else if (r->end == HOOK_CLOSED)
		snprintf(why, HOOK_WHY_MAX, "killed, because it had not ended when gp-bpf ended");
	else if (r->nread > HOOK_OUTPUT)
		snprintf(why, HOOK_WHY_MAX, "wrote more than 1 MiB of output");
	else if (WIFSIGNALED(status))
		snprintf(why, HOOK_WHY_MAX, "ended by signal %d%s%s", WTERMSIG(status),
			 *line ? ": " : "", line);
	else if (WEXITSTATUS(status))
		snprintf(why, HOOK_WHY_MAX, "exit status %d%s%s", WEXITSTATUS(status),
			 *line ? ": " : "", line);
	else
		snprintf(why, HOOK_WHY_MAX, "%s", line);
	if (r->end != HOOK_DONE || !ended)
		return r->end == HOOK_DONE ? HOOK_FAILED : r->end;
	return r->nread > HOOK_OUTPUT || status ? HOOK_FAILED : HOOK_DONE;
}

static int hook_command_body_file(const char *body, size_t len)
{
	int fd = memfd_create("gp-bpf-hook", MFD_CLOEXEC);

	if (fd >= 0 && file_write_all(fd, body, len)) {
		close(fd);
		return -1;
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

static enum hook_end hook_run_and_wait(const struct hook_command *c, const struct start *s,
				       int output, char *why)
{
	struct running r = {.output = output, .next_ns = clock_mono_ns() + c->limit_ns};
	int status = 0, err;
	siginfo_t info;
	bool ended;

	r.pid = fork();
	if (!r.pid)
		hook_command_exec(s);
	err = errno;
	close(s->output);
	r.pidfd = r.pid > 0 ? (int)syscall(SYS_pidfd_open, r.pid, 0) : -1;
	if (r.pidfd < 0) {
		snprintf(why, HOOK_WHY_MAX, "cannot be started: %s",
			 strerror(r.pid > 0 ? errno : err));
		if (r.pid > 0) {
			kill(r.pid, SIGKILL);
			waitpid(r.pid, NULL, 0);
		}
		close(output);
		return HOOK_FAILED;
	}
	ended = hook_command_await(&r, c);
	if (ended) {
		/* Do not reap the command yet: its pid could be reused, and the signal would reach
		 * another process group. */
		waitid(P_PID, (id_t)r.pid, &info, WEXITED | WNOWAIT);
		kill(-r.pid, SIGKILL);
		while (waitpid(r.pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	hook_command_output_read(&r);
	if (r.output >= 0)
		close(r.output);
	close(r.pidfd);
	return hook_command_judge(&r, c->limit_ns, ended, status, why);
}

/* Writes "NAME=value" to out and returns it. prefix: "NAME=". The value is escaped. */
static char *hook_command_variable(char out[NAME_ROOM], const char *prefix, const char *value)
{
	size_t at = (size_t)snprintf(out, NAME_ROOM, "%s", prefix);

	log_escape(out + at, NAME_ROOM - at, value, strlen(value));
	return out;
}

enum hook_end hook_command_run(const struct hook_command *c, char why[HOOK_WHY_MAX])
{
	char event[NAME_ROOM], job[NAME_ROOM], why_text[NAME_ROOM], at[NAME_ROOM];
	char *environment[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			       "LANG=C.UTF-8",
			       event,
			       job,
			       NULL,
			       NULL,
			       NULL};
	size_t n = 4; /* variables that are always set */
	struct start s = {.c = c, .environment = environment};
	enum hook_end end = HOOK_FAILED;
	int pipe[2];

	hook_command_variable(event, "GP_BPF_EVENT=", c->event);
	hook_command_variable(job, "GP_BPF_JOB=", c->job);
	if (*c->why)
		environment[n++] = hook_command_variable(why_text, "GP_BPF_WHY=", c->why);
	if (*c->at)
		environment[n++] = hook_command_variable(at, "GP_BPF_LINE=", c->at);
	s.body = hook_command_body_file(c->body, c->len);
	if (s.body < 0 || pipe2(pipe, O_CLOEXEC)) {
		snprintf(why, HOOK_WHY_MAX, "cannot be started: %s", strerror(errno));
	} else {
		fcntl(pipe[0], F_SETFL, O_NONBLOCK);
		s.output = pipe[1];
		end = hook_run_and_wait(c, &s, pipe[0], why);
	}
	if (s.body >= 0)
		close(s.body);
	return end;
}
