/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/identity/stall_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/proc_file.h"

#define REMEMBERED   256	 /* processes; two in one place forget each other */
#define LOOK_MAX_NS  20000000ull /* of one process; what is not known by then stays unknown */
#define BUSY_PERCENT 25		 /* of a core, the thread itself */
#define BUSY_OTHERS  50		 /* ... its process, while it waits for another thread */
#define REMEMBER_NS  10000000000ull
#define FILE_BYTES   1024
#define STATUS_BYTES 4096
#define CLOCKS_END   16 /* MAX_CLOCKS of linux/time.h */

struct ran { /* ticks of the processor */
	uint64_t at_ns, thread, process;
	pid_t pid, tid;
};

struct stalls {
	struct ran ran[REMEMBERED];
};

struct stalls *stalls_new(void)
{
	return calloc(1, sizeof(struct stalls));
}

void stalls_free(struct stalls *s)
{
	free(s);
}

/* ---- files of one thread
 * ------------------------------------------------------------------------- */

bool look_late(const struct look *l)
{
	return clock_mono_ns() > l->deadline_ns;
}

static ssize_t thread_file(const struct look *l, const char *name, char *buf, size_t cap)
{
	char path[64];

	if (look_late(l))
		return -ETIMEDOUT;
	snprintf(path, sizeof(path), "task/%d/%s", (int)l->tid, name);
	return proc_slurp(l->root, l->pid, path, buf, cap);
}

int look_stat(struct look *l)
{
	struct proc_stat stat;
	char path[64];
	int err;

	if (look_late(l))
		return -ETIMEDOUT;
	snprintf(path, sizeof(path), "task/%d/stat", (int)l->tid);
	err = proc_stat_file(l->root, l->pid, path, &stat);
	if (err)
		return err;
	l->out->state = stat.state;
	l->thread_ticks = stat.ticks;
	return 0;
}

/* "running", "-1 SP PC" outside of a call, or "NUMBER ARG... SP PC". */
static void look_syscall(struct look *l)
{
	char line[FILE_BYTES], *at, *end;
	long number;

	l->out->syscall = -1;
	if (thread_file(l, "syscall", line, sizeof(line)) <= 0 || !isdigit((unsigned char)*line))
		return;
	number = strtol(line, &end, 10);
	if (number > INT32_MAX)
		return;
	for (int i = 0; i < 6; i++) {
		at = end;
		l->arg[i] = strtoull(at, &end, 16);
		if (end == at)
			return;
	}
	l->out->syscall = (__s32)number;
	memcpy(l->out->arg, l->arg, sizeof(l->out->arg));
}

void look_symbol(char *out, size_t cap, const char *text)
{
	size_t n = 0;

	while (n + 1 < cap && (isalnum((unsigned char)text[n]) || text[n] == '_' || text[n] == '.'))
		n++;
	memcpy(out, text, n);
	out[n] = '\0';
}

/* wchan is "0" where the kernel keeps symbols to itself; the stack's first line says the same. */
static void look_wchan(struct look *l)
{
	char text[FILE_BYTES];

	if (thread_file(l, "wchan", text, sizeof(text)) > 0 && strcmp(text, "0") != 0) {
		look_symbol(l->out->wchan, sizeof(l->out->wchan), text);
		return;
	}
	if (thread_file(l, "stack", text, sizeof(text)) > 0 && !strncmp(text, "[<0>] ", 6))
		look_symbol(l->out->wchan, sizeof(l->out->wchan), text + 6);
}

/* What a descriptor stands for, without touching it. */
static bool look_file(const struct look *l, char *out, size_t cap)
{
	char path[PROC_PATH_MAX], link[PROC_PATH_MAX];
	ssize_t n;

	if (l->arg[0] > INT32_MAX)
		return false;
	snprintf(path, sizeof(path), "%s/proc/%d/fd/%d", l->root, (int)l->pid, (int)l->arg[0]);
	n = readlink(path, link, sizeof(link) - 1);
	if (n <= 0)
		return false;
	log_escape(out, cap, link, (size_t)n);
	return true;
}

/* ---- words
 * --------------------------------------------------------------------------------------- */

static void say(struct look *l, enum gp_why why, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void say(struct look *l, enum gp_why why, const char *fmt, ...)
{
	va_list ap;

	l->out->why = (__u8)why;
	va_start(ap, fmt);
	vsnprintf(l->out->where, sizeof(l->out->where), fmt, ap);
	va_end(ap);
}

/* A path is told by its end. */
static void say_file(struct look *l, enum gp_why why, const char *verb, const char *file)
{
	size_t room = sizeof(l->out->where) - strlen(verb) - 2, len = strlen(file);

	if (len <= room)
		say(l, why, "%s %s", verb, file);
	else
		say(l, why, "%s ...%s", verb, file + len - (room - 3));
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static void why_read(struct look *l, const char *name)
{
	char file[512];

	if (!look_file(l, file, sizeof(file)))
		say(l, GP_WHY_input, "is in %s of descriptor %d", name, (int)l->arg[0]);
	else if (begins(file, "socket:"))
		say(l, GP_WHY_network, "reads a socket");
	else if (begins(file, "pipe:"))
		say(l, GP_WHY_input, "reads a pipe");
	else if (begins(file, "anon_inode:"))
		say_file(l, GP_WHY_idle, "reads", file);
	else if (begins(file, "/dev/pts/") || begins(file, "/dev/tty"))
		say_file(l, GP_WHY_idle, "reads the terminal", file);
	else
		say_file(l, GP_WHY_input, "reads", file);
}

static void why_write(struct look *l, const char *name)
{
	char file[512], verb[32];

	snprintf(verb, sizeof(verb), "is in %s of", name);
	if (look_file(l, file, sizeof(file)))
		say_file(l, begins(file, "socket:") ? GP_WHY_network : GP_WHY_io, verb, file);
	else
		say(l, GP_WHY_io, "is in %s of descriptor %d", name, (int)l->arg[0]);
}

static void why_ioctl(struct look *l)
{
	static const char *const drivers[] = {"/dev/nvidia", "/dev/kfd", "/dev/dri/", "/dev/accel",
					      "/dev/neuron"};
	enum gp_why why = GP_WHY_io;
	char file[512];

	if (!look_file(l, file, sizeof(file))) {
		say(l, GP_WHY_io, "is in ioctl");
		return;
	}
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		if (begins(file, drivers[i]))
			why = GP_WHY_device;
	}
	say_file(l, why, "is in ioctl of", file);
}

/* A call that was interrupted (SIGSTOP and SIGCONT) is told by what it sleeps in; where the
 * kernel's compiler left no frame to name (wchan is then its entry), by its arguments, which are
 * those of the first time: of the calls that go on so (nanosleep, poll, futex with a time limit:
 * linux/restart_block.h) only a sleep has a clock where the others have an address. */
static void why_restart(struct look *l)
{
	bool clock = l->arg[0] < CLOCKS_END && l->arg[1] <= TIMER_ABSTIME;

	if (strstr(l->out->wchan, "nanosleep") || (clock && !strstr(l->out->wchan, "poll")))
		say(l, GP_WHY_sleep, "sleeps");
	else if (begins(l->out->wchan, "futex"))
		say(l, GP_WHY_lock, "waits on a futex");
	else if (strstr(l->out->wchan, "poll"))
		say(l, GP_WHY_network, "polls descriptors");
	else
		say(l, GP_WHY_unknown, "is in a system call that a signal interrupted");
}

/* What a blocked thread waits for, by the system call it is in. */
static void why_syscall(struct look *l)
{
	const char *name;
	enum syscall_kind kind = syscall_kind(l->out->syscall, &name);
	bool alone = kind != SYSCALL_POLL || l->arg[1] == 1;
	char file[512];

	switch (kind) {
	case SYSCALL_READ:
		why_read(l, name);
		break;
	case SYSCALL_WRITE:
		why_write(l, name);
		break;
	case SYSCALL_SOCKET:
		say(l, GP_WHY_network, "is in %s", name);
		break;
	case SYSCALL_IOCTL:
		why_ioctl(l);
		break;
	case SYSCALL_FLOCK:
		if (look_file(l, file, sizeof(file)))
			say_file(l, GP_WHY_lock, "waits for a lock on", file);
		else
			say(l, GP_WHY_lock, "waits for a lock on a file");
		break;
	case SYSCALL_FILE:
		say(l, GP_WHY_io, "is in %s", name);
		break;
	case SYSCALL_OPEN:
		say(l, GP_WHY_input, "%s",
		    strcmp(l->out->wchan, "wait_for_partner")
			    ? "opens a file"
			    : "opens a FIFO that has no other end");
		break;
	case SYSCALL_FUTEX:
		say(l, GP_WHY_lock, "waits on a %s", name);
		break;
	case SYSCALL_POLL:
		say(l, GP_WHY_network, "polls %s", alone ? "one descriptor" : "descriptors");
		break;
	case SYSCALL_EVENTS:
		say(l, GP_WHY_idle, "waits in %s", name);
		break;
	case SYSCALL_CHILD:
		say(l, GP_WHY_child, "waits for a child in %s", name);
		break;
	case SYSCALL_SLEEP:
		say(l, GP_WHY_sleep, "sleeps");
		break;
	case SYSCALL_RESTART:
		why_restart(l);
		break;
	case SYSCALL_OTHER:
		say(l, GP_WHY_unknown, "is in system call %d", l->out->syscall);
		break;
	}
}

static void why_stopped(struct look *l)
{
	char status[STATUS_BYTES], comm[64] = "", name[80] = "", *at;
	int tracer = 0;

	if (thread_file(l, "status", status, sizeof(status)) > 0) {
		at = strstr(status, "\nTracerPid:");
		tracer = at ? atoi(at + strlen("\nTracerPid:")) : 0;
	}
	if (tracer && proc_slurp(l->root, tracer, "comm", comm, sizeof(comm)) > 0) {
		comm[strcspn(comm, "\n")] = '\0';
		log_escape(name, sizeof(name), comm, strlen(comm));
	}
	if (tracer)
		say(l, GP_WHY_stopped, "is held by process %d%s%.24s%s", tracer, *name ? " (" : "",
		    name, *name ? ")" : "");
	else
		say(l, GP_WHY_stopped, "is stopped by a signal");
}

void look_state(struct look *l)
{
	switch (l->out->state) {
	case 'T':
	case 't':
		why_stopped(l);
		break;
	case 'R':
		say(l, GP_WHY_busy, "runs");
		break;
	case 'D':
		look_syscall(l);
		look_wchan(l);
		if (l->out->syscall < 0)
			say(l, GP_WHY_io, "waits for a page of memory");
		else
			why_syscall(l);
		if (l->out->why != GP_WHY_device)
			l->out->why = GP_WHY_io;
		break;
	case 'S':
		look_syscall(l);
		look_wchan(l);
		if (l->out->syscall >= 0)
			why_syscall(l);
		else
			say(l, GP_WHY_unknown, "sleeps in the kernel");
		break;
	default:
		say(l, GP_WHY_unknown, "is in state %c", l->out->state);
		break;
	}
}

/* ---- does it run?
 * -------------------------------------------------------------------------------- */

static uint64_t process_ticks(const struct look *l)
{
	struct proc_stat stat;

	return proc_stat(l->root, l->pid, &stat) ? 0 : stat.ticks;
}

static bool over(uint64_t ticks, uint64_t ns, unsigned percent)
{
	uint64_t tick_ns = 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);

	return ns && ticks * tick_ns >= ns / 100 * percent;
}

/* A thread that is found waiting may have run a moment ago, and another may run for it. */
static void look_running(struct stalls *s, struct look *l, uint64_t now_ns)
{
	struct ran *last = &s->ran[(unsigned)l->pid % REMEMBERED];
	struct ran now = {now_ns, l->thread_ticks, process_ticks(l), l->pid, l->tid};
	bool same = last->pid == now.pid && last->tid == now.tid &&
		    now_ns - last->at_ns < REMEMBER_NS && now.thread >= last->thread &&
		    now.process >= last->process;
	uint64_t ns = same ? now_ns - last->at_ns : 0;

	if (ns && l->out->why != GP_WHY_stopped) {
		if (over(now.thread - last->thread, ns, BUSY_PERCENT))
			say(l, GP_WHY_busy, "runs");
		else if (l->out->why == GP_WHY_lock &&
			 over(now.process - last->process, ns, BUSY_OTHERS))
			say(l, GP_WHY_busy, "waits for another thread, which runs");
	}
	*last = now;
}

/* ---- a look
 * -------------------------------------------------------------------------------------- */

pid_t stalls_look(struct stalls *s, const char *root, pid_t pid, pid_t tid, uint64_t now_ns,
		  struct gp_blocked *ret)
{
	struct gp_blocked b = {.source = GP_BLOCKED_LOOK, .syscall = -1};
	struct look l = {.root = root, .pid = pid, .tid = tid, .out = &b};
	int err;

	l.deadline_ns = clock_mono_ns() + LOOK_MAX_NS;
	err = look_stat(&l);
	if (err == -ESRCH && tid != pid) {
		l.tid = pid;
		err = look_stat(&l);
	}
	if (err)
		return err;
	look_state(&l);
	look_running(s, &l, now_ns);
	look_near(&l);
	*ret = b;
	return l.tid;
}
