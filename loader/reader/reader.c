/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c - helper processes that read libraries: sends requests, receives answers, kills hung
 * processes. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/reader/mapping.h"
#include "loader/reader/reader_private.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"

#define WORKERS_BUSY_MAX 4 /* limit of readers that work at the same time */
/* Limit of readers, including those that neither answer nor can be killed. */
#define WORKERS_MAX 8
#define QUEUE_MAX   256
/* Limit of the time for one request: ten times as long as a large library takes on a cold, loaded
 * machine. */
#define ANSWER_NS 8000000000ull
/* A reader that still exists this long after SIGKILL counts as blocked in a file system. */
#define HUNG_NS	     1000000000ull
#define SOCKET_BYTES (1 << 20)

enum worker_state { WORKER_NONE, WORKER_IDLE, WORKER_BUSY, WORKER_KILLED };

/* A reader process, and the request that it handles */
struct worker {
	enum worker_state state;
	pid_t pid;
	int fd;
	uint64_t since_ns; /* time when the request was sent, or when the reader was killed */
	uint64_t ticket;
	pid_t target;
	struct gp_vma vma;
};

struct queued {
	struct queued *next;
	struct reader_ask ask;
};

struct reader {
	const struct probe_table *probes;
	const char *cache_dir;
	struct worker workers[WORKERS_MAX];
	struct queued *first, **last;
	size_t queued, busy;
	struct {
		struct reader_reply reply;
		struct site sites[READER_SITES_MAX];
	} in;
};

/* ---- readers --------------------------------------------------------------------------------- */

static int reader_worker_start(const struct reader *r, struct worker *w)
{
	int pair[2], size = SOCKET_BYTES;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	w->pid = fork();
	if (!w->pid)
		reader_serve(pair[1], r->probes, r->cache_dir);
	close(pair[1]);
	if (w->pid < 0) {
		close(pair[0]);
		return -errno;
	}
	w->fd = pair[0];
	w->state = WORKER_IDLE;
	return 0;
}

static void reader_worker_kill(struct worker *w)
{
	kill(w->pid, SIGKILL);
	close(w->fd);
	w->since_ns = clock_mono_ns();
	w->state = WORKER_KILLED;
}

static void reader_workers_reap(struct reader *r)
{
	for (struct worker *w = r->workers; w < r->workers + WORKERS_MAX; w++)
		if (w->state == WORKER_KILLED && waitpid(w->pid, NULL, WNOHANG))
			w->state = WORKER_NONE;
}

static struct worker *reader_worker_in(struct reader *r, enum worker_state state)
{
	for (struct worker *w = r->workers; w < r->workers + WORKERS_MAX; w++)
		if (w->state == state)
			return w;
	return NULL;
}

/* Returns an idle reader, or a new one. Returns NULL if none is available now. *ret_never is
 * set to true if none will ever be available. */
static struct worker *reader_worker_get(struct reader *r, bool *ret_never)
{
	struct worker *w = reader_worker_in(r, WORKER_IDLE);
	int err;

	*ret_never = false;
	if (w || r->busy >= WORKERS_BUSY_MAX)
		return w;
	w = reader_worker_in(r, WORKER_NONE);
	if (!w) {
		*ret_never = !r->busy;
		return NULL;
	}
	err = reader_worker_start(r, w);
	if (!err)
		return w;
	log_debug("cannot start another reader of libraries: %s", strerror(-err));
	*ret_never = !r->busy;
	return NULL;
}

/* Returns true when a reader hangs on a file of this file system: another reader would hang, too.
 */
static bool reader_device_hung(const struct reader *r, uint64_t dev)
{
	uint64_t now = clock_mono_ns();

	for (const struct worker *w = r->workers; w < r->workers + WORKERS_MAX; w++)
		if (w->state == WORKER_KILLED && w->vma.dev == dev && now - w->since_ns > HUNG_NS)
			return true;
	return false;
}

int reader_new(struct reader **ret, const struct probe_table *probes, const char *cache_dir)
{
	struct reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->probes = probes;
	r->cache_dir = cache_dir;
	r->last = &r->first;
	err = reader_worker_start(r, &r->workers[0]);
	if (err) {
		free(r);
		return err;
	}
	*ret = r;
	return 0;
}

void reader_free(struct reader *r)
{
	struct queued *q;

	if (!r)
		return;
	for (struct worker *w = r->workers; w < r->workers + WORKERS_MAX; w++) {
		if (w->state == WORKER_IDLE || w->state == WORKER_BUSY) {
			bool idle = w->state == WORKER_IDLE;

			reader_worker_kill(w);
			waitpid(w->pid, NULL, idle ? 0 : WNOHANG);
		}
	}
	reader_workers_reap(r);
	while ((q = r->first)) {
		r->first = q->next;
		free(q);
	}
	free(r);
}

/* ---- requests -------------------------------------------------------------------------------- */

int reader_ask(struct reader *r, const struct reader_ask *ask)
{
	struct queued *q;

	if (r->queued >= QUEUE_MAX)
		return -EBUSY;
	q = malloc(sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->next = NULL;
	q->ask = *ask;
	*r->last = q;
	r->last = &q->next;
	r->queued++;
	return 0;
}

static struct queued *reader_queue_take(struct reader *r)
{
	struct queued *q = r->first;

	r->first = q->next;
	if (!r->first)
		r->last = &r->first;
	r->queued--;
	return q;
}

static bool reader_queue_fail(struct reader *r, int error, struct reader_answer *ret)
{
	struct queued *q = reader_queue_take(r);

	*ret = (struct reader_answer){
		.ticket = q->ask.ticket, .pid = q->ask.pid, .error = error, .fd = -1};
	free(q);
	return true;
}

/* Sends waiting requests to readers. Returns true and an error in *ret for a request that no reader
 * can take. */
static bool reader_queue_serve(struct reader *r, struct reader_answer *ret)
{
	struct worker *w;
	struct queued *q;
	bool never;

	while (r->first) {
		if (reader_device_hung(r, r->first->ask.vma.dev))
			return reader_queue_fail(r, -ETIMEDOUT, ret);
		w = reader_worker_get(r, &never);
		if (!w)
			return never && reader_queue_fail(r, -ETIMEDOUT, ret);
		q = reader_queue_take(r);
		w->state = WORKER_BUSY;
		w->since_ns = clock_mono_ns();
		w->ticket = q->ask.ticket;
		w->target = q->ask.pid;
		w->vma = q->ask.vma;
		r->busy++;
		/* Errors are ignored here: reader_reply_receive() notices that a reader is gone. */
		(void)!send(w->fd, &q->ask, sizeof(q->ask), MSG_NOSIGNAL | MSG_DONTWAIT);
		free(q);
	}
	return false;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Receives one message. Returns the number of bytes of its sites, -EAGAIN or -EIO. *ret_fd:
 * descriptor from the message, owned by the caller; -1: none. */
static ssize_t reader_reply_receive(struct reader *r, int fd, int *ret_fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {&r->in, sizeof(r->in)};
	struct msghdr msg = {.msg_iov = &part,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control.bytes)};
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c;

	*ret_fd = -1;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -EIO;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	if ((size_t)n < sizeof(r->in.reply) || msg.msg_flags & MSG_TRUNC ||
	    r->in.reply.count != ((size_t)n - sizeof(r->in.reply)) / sizeof(struct site))
		return -EIO;
	return n - (ssize_t)sizeof(r->in.reply);
}

/* Returns true when the file that the reader opened is the requested one. */
static bool reader_identity_holds(const struct worker *w, const struct bpf_program *vmas,
				  uint64_t map_start)
{
	struct gp_vma *list = NULL;
	int n = mapping_list(vmas, w->pid, &list);
	bool holds = false;

	for (int i = 0; i < n && !holds; i++)
		holds = list[i].start == map_start && mapping_same_file(&list[i], &w->vma);
	free(list);
	return holds;
}

static int reader_reply_use(struct reader *r, const struct worker *w,
			    const struct bpf_program *vmas, size_t bytes, struct reader_answer *ret)
{
	if (r->in.reply.error)
		return r->in.reply.error;
	if (ret->fd < 0)
		return -EIO;
	if (!reader_identity_holds(w, vmas, r->in.reply.map_start))
		return -ESTALE;
	ret->sites = malloc(bytes + 1);
	if (!ret->sites)
		return -ENOMEM;
	memcpy(ret->sites, r->in.sites, bytes);
	ret->sites_count = bytes / sizeof(struct site);
	return 0;
}

/* Returns true and an answer when the reader has answered, died, or used up its time. */
static bool reader_worker_check(struct reader *r, struct worker *w, const struct bpf_program *vmas,
				struct reader_answer *ret)
{
	ssize_t n;

	*ret = (struct reader_answer){.ticket = w->ticket, .pid = w->target};
	n = reader_reply_receive(r, w->fd, &ret->fd);
	if (n == -EAGAIN && clock_mono_ns() - w->since_ns < ANSWER_NS)
		return false;
	r->busy--;
	if (n < 0) {
		ret->error = n == -EAGAIN ? -ETIMEDOUT : -EIO;
		reader_worker_kill(w);
	} else {
		ret->error = reader_reply_use(r, w, vmas, (size_t)n, ret);
		ret->by_path = r->in.reply.by_path;
		w->state = WORKER_IDLE;
		if (r->in.reply.last || send(w->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
			reader_worker_kill(w);
	}
	if (ret->error && ret->fd >= 0) {
		close(ret->fd);
		ret->fd = -1;
	}
	return true;
}

int reader_next(struct reader *r, const struct bpf_program *vmas, struct reader_answer *ret)
{
	reader_workers_reap(r);
	for (struct worker *w = r->workers; w < r->workers + WORKERS_MAX; w++)
		if (w->state == WORKER_BUSY && reader_worker_check(r, w, vmas, ret))
			return 1;
	return reader_queue_serve(r, ret);
}

void reader_wait(struct reader *r, int timeout_ms)
{
	struct pollfd fds[WORKERS_MAX];
	nfds_t n = 0;

	/* If a request can be sent to a reader now, return at once: without a sent request no
	 * answer would end the wait. */
	if (r->first && (!r->busy || reader_worker_in(r, WORKER_IDLE)))
		return;
	for (const struct worker *w = r->workers; w < r->workers + WORKERS_MAX; w++)
		if (w->state == WORKER_BUSY)
			fds[n++] = (struct pollfd){.fd = w->fd, .events = POLLIN};
	poll(fds, n, timeout_ms);
}
