/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/watch_ras.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/table.h"
#include "userspace/watch/ras_ask.h"

/* Time between two requests (ns): PACE_NS, or PACE_RANK_NS for each rank of the job if that is
 * more. Each request makes all ranks exchange messages. */
#define PACE_NS	     10000000000ull
#define PACE_RANK_NS 100000000ull
#define RANKS_MAX    100000u
/* A process whose service did not answer is asked again after this time (ns). */
#define PAUSE_NS 60000000000ull
/* A request is given up if it has no answer after this time (ns). */
#define LATE_NS	      (RAS_ANSWER_NS + 2000000000ull)
#define PROCESSES_MAX 4096

struct ras_process {
	uint32_t tick; /* last tick in which the process was silent */
	uint32_t world_size;
	uint64_t next_ns; /* earliest time (ns) of the next request about this process */
};

struct ras {
	int fd; /* -1: there is no helper process to send requests */
	pid_t server;
	struct table *processes; /* by pid */
	uint32_t tick;
	/* a request was sent and not answered yet; the next three members describe it */
	bool waiting;
	uint32_t id;	/* number of the request */
	uint32_t pid;	/* process that the request is about */
	uint64_t since; /* when the request was sent */
	uint64_t next_ns;
};

static int prepared = -1;
static pid_t prepared_pid;

void ras_prepare(const char *root)
{
	prepared = ras_server_start(root, &prepared_pid);
}

int ras_new(struct ras **ret, const char *root)
{
	struct ras *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->processes = table_new();
	if (!r->processes) {
		free(r);
		return -ENOMEM;
	}
	if (prepared < 0)
		ras_prepare(root);
	r->fd = prepared;
	r->server = prepared_pid;
	prepared = -1;
	if (r->fd < 0)
		log_warn(
			"NCCL's RAS service will not be asked about hangs: cannot start the process that asks it: %s",
			strerror(-r->fd));
	*ret = r;
	return 0;
}

/* Ends the helper process that sends the requests. */
static void ras_stop(struct ras *r)
{
	if (r->fd < 0)
		return;
	close(r->fd);
	r->fd = -1;
	r->waiting = false;
	kill(r->server, SIGKILL);
	waitpid(r->server, NULL, 0);
}

void ras_free(struct ras *r)
{
	if (!r)
		return;
	ras_stop(r);
	table_free(r->processes, free);
	free(r);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void ras_record(struct ras *r, struct journal *j, struct ras_answer *a)
{
	struct gp_ras *own = journal_record(j, GP_KIND_ras, r->pid, 0);

	if (!own)
		return;
	a->text[sizeof(a->text) - 1] = '\0';
	memcpy(own->text, a->text, sizeof(own->text));
}

static void ras_take(struct ras *r, struct journal *j, uint64_t now_ns, struct ras_answer *a)
{
	struct ras_process *p = table_get(r->processes, r->pid);

	r->waiting = false;
	if (a->result < 0) {
		log_debug("process %u: NCCL's RAS service cannot be asked: %s", r->pid,
			  strerror(-a->result));
		if (p)
			p->next_ns = now_ns + PAUSE_NS;
		/* Ask about another process at once: its job may have another service. */
		r->next_ns = a->result == -ETIMEDOUT ? r->next_ns : now_ns;
	} else if (a->result && p) { /* p: the process has still made no progress */
		ras_record(r, j, a);
	}
}

static void ras_receive(struct ras *r, struct journal *j, uint64_t now_ns)
{
	struct ras_answer a;
	ssize_t n;

	while ((n = recv(r->fd, &a, sizeof(a), MSG_DONTWAIT)) == sizeof(a))
		if (r->waiting && a.id == r->id)
			ras_take(r, j, now_ns, &a);
	if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
		log_warn(
			"the process gp-bpf-ras has ended: NCCL's RAS service is not asked about hangs any more");
		ras_stop(r);
	} else if (r->waiting && now_ns - r->since > LATE_NS) {
		a = (struct ras_answer){.result = -ETIMEDOUT};
		ras_take(r, j, now_ns, &a);
	}
}

/* ---- requests -------------------------------------------------------------------------------- */

static void ras_on_silent(void *ctx, uint32_t pid, uint32_t world_size)
{
	struct ras *r = ctx;
	struct ras_process *p = table_get(r->processes, pid);

	if (!p) {
		if (table_count(r->processes) >= PROCESSES_MAX)
			return;
		p = calloc(1, sizeof(*p));
		if (!p || table_put(r->processes, pid, p)) {
			free(p);
			return;
		}
	}
	p->tick = r->tick;
	p->world_size = world_size < RANKS_MAX ? world_size : RANKS_MAX;
}

/* Forgets the processes that have made progress. Returns the process whose next request has been
 * due for the longest time, and its pid; NULL: no request is due. */
static struct ras_process *ras_choose(struct ras *r, uint64_t now_ns, uint32_t *ret_pid)
{
	struct ras_process *p, *next = NULL;
	uint64_t pid;

	for (size_t at = 0; (p = table_next(r->processes, &at, &pid));) {
		if (p->tick != r->tick) {
			free(table_take(r->processes, pid));
			continue;
		}
		if (p->next_ns > now_ns || (next && next->next_ns <= p->next_ns))
			continue;
		next = p;
		*ret_pid = (uint32_t)pid;
	}
	return next;
}

static void ras_ask_next(struct ras *r, struct ras_process *p, uint32_t pid, uint64_t now_ns)
{
	struct ras_request q = {.id = ++r->id, .pid = pid};
	uint64_t pace_ns = p->world_size * PACE_RANK_NS;

	pace_ns = pace_ns < PACE_NS ? PACE_NS : pace_ns;
	r->next_ns = p->next_ns = now_ns + pace_ns;
	r->waiting = send(r->fd, &q, sizeof(q), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(q);
	r->pid = pid;
	r->since = now_ns;
}

void ras_tick(struct ras *r, struct journal *j, const struct output *out)
{
	uint64_t now_ns = clock_mono_ns();
	struct ras_process *p;
	uint32_t pid = 0;

	if (r->fd < 0)
		return;
	r->tick++;
	output_stalled(out, ras_on_silent, r);
	p = ras_choose(r, now_ns, &pid);
	ras_receive(r, j, now_ns);
	if (p && r->fd >= 0 && !r->waiting && now_ns >= r->next_ns && p->next_ns <= now_ns)
		ras_ask_next(r, p, pid, now_ns);
}
