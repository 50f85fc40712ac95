/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/confine.h"
#include "userspace/base/log.h"
#include "userspace/base/proc_file.h"

#define NS_PER_MS 1000000ull
/* How long (ns) a call may take. Usually WAIT_NS, a hundred times as long as reading the largest
 * process; WAIT_SHORT_NS if most of the recent time was lost in waits for answers. */
#define WAIT_NS	      200000000ull
#define WAIT_SHORT_NS 50000000ull
/* Limit while the helper process is in state R: then the machine is loaded, and the process waits
 * for a CPU. */
#define WAIT_BUSY_NS 2000000000ull
/* Calls get the shorter limit while the time lost in waits is more than this (ns). The lost time is
 * reduced by a quarter of the time that passes. */
#define DEBT_NS	  1000000000ull
#define STUCK_MAX 4

struct ask {
	helper_fn *fn;
	size_t len;
	uint64_t arg[HELPER_ARG_MAX / sizeof(uint64_t)];
};

struct answer {
	ssize_t result;
	uint64_t cpu_ns;
};

/* The caller's side of a helper process */
struct helper {
	pid_t pid; /* 0: none */
	int fd;
	int keep;
	char *shared; /* memory shared with the helper process, which writes its answers there */
	size_t cap;
	/* pids of helper processes that were killed, but have not ended; 0: unused */
	pid_t stuck[STUCK_MAX];
	bool stuck_logged;
	uint64_t debt_ns, debt_at_ns;
	uint64_t cpu_ns;
};

/* ---- the helper process ---------------------------------------------------------------------- */

/* Capabilities that helper processes keep. The first four are for reading processes and files of
 * other users. The others are for writing histories and exports into folders of other users, and
 * for giving TensorBoard files to their owner. */
#define CAPS_KEPT                                                                                  \
	(CONFINE_CAP(CAP_SYS_PTRACE) | CONFINE_CAP(CAP_DAC_READ_SEARCH) |                          \
	 CONFINE_CAP(CAP_CHECKPOINT_RESTORE) | CONFINE_CAP(CAP_PERFMON) |                          \
	 CONFINE_CAP(CAP_DAC_OVERRIDE) | CONFINE_CAP(CAP_FOWNER) | CONFINE_CAP(CAP_CHOWN))

static bool confined, calls_denied;

void helper_confine(bool calls)
{
	confined = true;
	calls_denied = calls;
}

static int helper_confine_self(uint64_t caps)
{
	int err = confined ? confine_capabilities(CAPS_KEPT | caps) : 0;

	return err || !calls_denied ? err : confine_calls(CONFINE_READER);
}

int helper_settle(const char *name, int *fd, int keep, uint64_t caps)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), kept = keep < 0 ? null : keep, from, to;
	sigset_t all;

	/* Block all signals: ^C on the terminal then ends only the parent process, which ends this
	 * one. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Move the descriptors out of the range of numbers that are assigned below. */
	from = null < 0 ? -1 : fcntl(*fd, F_DUPFD, HELPER_KEPT_FD + 1);
	to = from < 0 ? -1 : fcntl(kept, F_DUPFD, HELPER_KEPT_FD + 1);
	if (to < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
	    dup2(from, 3) < 0 || dup2(to, HELPER_KEPT_FD) < 0)
		return -errno;
	*fd = 3;
	return syscall(SYS_close_range, HELPER_KEPT_FD + 1, ~0u, 0) ? -errno
								    : helper_confine_self(caps);
}

static _Noreturn void helper_serve(int fd, int keep, char *shared, size_t cap)
{
	static struct ask ask;
	struct answer answer;

	/* The kept descriptor is a BPF program; running it requires CAP_BPF. */
	if (helper_settle("gp-bpf-look", &fd, keep, keep >= 0 ? CONFINE_CAP(CAP_BPF) : 0))
		_exit(1);
	while (recv(fd, &ask, sizeof(ask), 0) > 0) {
		uint64_t before_ns = clock_thread_ns();

		answer.result = ask.fn(ask.arg, shared, cap);
		answer.cpu_ns = clock_thread_ns() - before_ns;
		if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

/* ---- starting and ending the helper process -------------------------------------------------- */

static int helper_start(struct helper *a)
{
	int pair[2], err;

	/* Each helper process gets new memory, because one that was killed may still write to the
	 * old one. */
	a->shared = mmap(NULL, a->cap, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (a->shared == MAP_FAILED)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		err = -errno;
		munmap(a->shared, a->cap);
		return err;
	}
	a->pid = fork();
	if (!a->pid)
		helper_serve(pair[1], a->keep, a->shared, a->cap);
	err = a->pid < 0 ? -errno : 0;
	close(pair[1]);
	a->fd = pair[0];
	if (err) {
		a->pid = 0;
		close(a->fd);
		munmap(a->shared, a->cap);
	}
	return err;
}

static void helper_kill(struct helper *a)
{
	pid_t *place = a->stuck;

	while (*place)
		place++;
	kill(a->pid, SIGKILL);
	close(a->fd);
	munmap(a->shared, a->cap);
	*place = a->pid;
	a->pid = 0;
}

/* Removes helper processes that have ended from `stuck`. Returns true if `stuck` has room for
 * another one. */
static bool helper_reap(struct helper *a)
{
	bool room = false;

	for (int i = 0; i < STUCK_MAX; i++) {
		if (a->stuck[i] && waitpid(a->stuck[i], NULL, WNOHANG))
			a->stuck[i] = 0;
		room |= !a->stuck[i];
	}
	return room;
}

int helper_new(struct helper **ret, size_t cap)
{
	struct helper *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->cap = cap;
	a->keep = -1;
	*ret = a;
	return 0;
}

void helper_free(struct helper *a)
{
	pid_t pid;

	if (!a)
		return;
	pid = a->pid;
	helper_reap(a);
	if (pid) {
		helper_kill(a);
		waitpid(pid, NULL, 0); /* the helper process is idle, so it ends at once */
	}
	free(a);
}

void helper_keep(struct helper *a, int fd)
{
	a->keep = fd;
}

uint64_t helper_cpu_ns(const struct helper *a)
{
	return a->cpu_ns;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static uint64_t helper_patience_ns(struct helper *a, uint64_t now_ns)
{
	uint64_t paid_ns = (now_ns - a->debt_at_ns) / 4;

	a->debt_ns -= paid_ns < a->debt_ns ? paid_ns : a->debt_ns;
	a->debt_at_ns = now_ns;
	return a->debt_ns > DEBT_NS ? WAIT_SHORT_NS : WAIT_NS;
}

/* Returns true if the helper process is not blocked: it runs, or waits for a CPU. */
static bool helper_busy(const struct helper *a)
{
	struct proc_stat s;

	return !proc_stat("", a->pid, &s) && s.state == 'R';
}

/* Waits for the answer to a request. Returns 0: *ret is the answer; -EIO: the helper process has
 * ended; -ETIMEDOUT. */
static int helper_answer_await(struct helper *a, struct answer *ret)
{
	uint64_t from_ns = clock_mono_ns(), until_ns = from_ns + helper_patience_ns(a, from_ns),
		 now_ns = from_ns;
	struct pollfd p = {.fd = a->fd, .events = POLLIN};
	ssize_t n;

	for (;;) {
		if (now_ns < until_ns)
			poll(&p, 1, (int)((until_ns - now_ns) / 1000000) + 1);
		/* Try to receive even if the time is over: this process may have been stopped while
		 * the answer came. */
		n = recv(a->fd, ret, sizeof(*ret), MSG_DONTWAIT);
		if (n == sizeof(*ret))
			return 0;
		if (n >= 0 || (errno != EAGAIN && errno != EINTR))
			return -EIO;
		if (now_ns >= until_ns && (now_ns - from_ns >= WAIT_BUSY_NS || !helper_busy(a)))
			break;
		if (now_ns >= until_ns)
			until_ns = now_ns + WAIT_SHORT_NS;
		now_ns = clock_mono_ns();
	}
	a->debt_ns += now_ns - from_ns;
	return -ETIMEDOUT;
}

static int helper_ask_send(struct helper *a, const struct ask *ask)
{
	int err = a->pid ? 0 : helper_start(a);

	if (err)
		return err;
	if (send(a->fd, ask, offsetof(struct ask, arg) + ask->len, MSG_NOSIGNAL | MSG_DONTWAIT) >=
	    0)
		return 0;
	helper_kill(a);
	return -EIO;
}

static int helper_ask_one(struct helper *a, const struct ask *ask, struct answer *ret)
{
	int err = helper_ask_send(a, ask);

	if (err)
		return err;
	err = helper_answer_await(a, ret);
	if (err)
		helper_kill(a);
	return err;
}

static bool helper_has_room(struct helper *a)
{
	if (helper_reap(a))
		return true;
	if (!a->stuck_logged)
		log_warn(
			"%d helper processes hang and cannot be killed: reading of processes is suspended until one of them ends",
			STUCK_MAX);
	a->stuck_logged = true;
	return false;
}

static ssize_t helper_answered(struct helper *a, const struct answer *answer, const void **ret)
{
	a->stuck_logged = false;
	a->cpu_ns += answer->cpu_ns;
	*ret = a->shared;
	return answer->result;
}

ssize_t helper_call(struct helper *a, helper_fn *fn, const void *arg, size_t arg_len,
		    const void **ret)
{
	struct ask ask = {.fn = fn, .len = arg_len};
	struct answer answer;
	int err = -EBUSY;

	if (arg_len > sizeof(ask.arg))
		return -E2BIG;
	memcpy(ask.arg, arg, arg_len);
	/* If the helper process was killed by something else (a user, out of memory), try once more
	 * with a new one. */
	for (int i = 0; i < 2 && (err == -EBUSY || err == -EIO); i++) {
		if (!helper_has_room(a))
			return -EBUSY;
		err = helper_ask_one(a, &ask, &answer);
	}
	return err ? err : helper_answered(a, &answer, ret);
}

int helper_ask(struct helper *a, helper_fn *fn, const void *arg, size_t arg_len)
{
	struct ask ask = {.fn = fn, .len = arg_len};
	int err = -EIO;

	if (arg_len > sizeof(ask.arg))
		return -E2BIG;
	memcpy(ask.arg, arg, arg_len);
	for (int i = 0; i < 2 && err == -EIO; i++)
		err = helper_has_room(a) ? helper_ask_send(a, &ask) : -EBUSY;
	return err;
}

ssize_t helper_answer(struct helper *a, int wait_ms, const void **ret)
{
	struct pollfd p = {.fd = a->fd, .events = POLLIN};
	struct answer answer;
	ssize_t n;

	if (!a->pid)
		return -EIO;
	poll(&p, 1, wait_ms);
	n = recv(a->fd, &answer, sizeof(answer), MSG_DONTWAIT);
	if (n == sizeof(answer))
		return helper_answered(a, &answer, ret);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	helper_kill(a);
	return -EIO;
}

ssize_t helper_await(struct helper *a, int wait_ms, const void **ret)
{
	uint64_t until_ns = clock_mono_ns() + (uint64_t)wait_ms * NS_PER_MS, now_ns;
	ssize_t n;

	do {
		n = helper_answer(a, wait_ms, ret);
		now_ns = n == -EAGAIN && wait_ms ? clock_mono_ns() : until_ns;
		wait_ms = now_ns < until_ns ? (int)((until_ns - now_ns) / NS_PER_MS) + 1 : 0;
	} while (now_ns < until_ns); /* repeat if a signal ended the wait early */
	return n;
}

ssize_t helper_once(helper_fn *fn, const void *arg, size_t arg_len, void *ret, size_t cap,
		    int wait_ms)
{
	const void *answer = NULL;
	struct helper *a;
	ssize_t n = helper_new(&a, cap ? cap : 1);

	if (n)
		return n;
	n = helper_ask(a, fn, arg, arg_len);
	n = n ? n : helper_await(a, wait_ms, &answer);
	if (n == -EAGAIN) {
		helper_drop(a);
		n = -ETIMEDOUT;
	}
	if (n > 0 && answer)
		memcpy(ret, answer, (size_t)n);
	helper_free(a);
	return n;
}

void helper_drop(struct helper *a)
{
	if (a->pid)
		helper_kill(a);
}
