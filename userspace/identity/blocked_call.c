/* SPDX-License-Identifier: Apache-2.0 */
/* blocked_call.c - finds out why threads of silent processes are blocked. */
#include "userspace/identity/blocked_call_private.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/proc_file.h"

/* Number of slots for CPU times of processes. If two processes have the same slot, the later one
 * replaces the earlier one. */
#define REMEMBERED 256
/* Limit of the time for one process; facts that are not read within it stay unknown. */
#define SCAN_MAX_NS  20000000ull
#define BUSY_PERCENT 25 /* a thread is busy if it uses this percentage of a core */
/* A thread that waits for another thread counts as busy if its process uses this percentage of a
 * core. */
#define BUSY_OTHERS 50
#define REMEMBER_NS 10000000000ull

struct ran { /* CPU time that a thread and its process have used, in clock ticks */
	uint64_t at_ns, thread, process;
	pid_t pid, tid;
};

struct blocked_calls {
	struct blocked_words words;
	struct ran ran[REMEMBERED];
};

struct blocked_calls *blocked_calls_new(const struct blocked_words *words)
{
	struct blocked_calls *s = calloc(1, sizeof(*s));

	if (s)
		s->words = *words;
	return s;
}

void blocked_calls_free(struct blocked_calls *s)
{
	free(s);
}

/* ---- does it run? ---------------------------------------------------------------------------- */

static uint64_t blocked_call_process_ticks(const struct blocked_scan *l)
{
	struct proc_stat stat;

	return proc_stat(l->root, l->pid, &stat) ? 0 : stat.ticks;
}

static bool blocked_call_over(uint64_t ticks, uint64_t ns, unsigned percent)
{
	uint64_t tick_ns = 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);

	return ns && ticks * tick_ns >= ns / 100 * percent;
}

/* Compares the CPU times of the thread and its process with those of the last scan. A thread that
 * sleeps now may have run a moment ago, or may wait for another thread that runs. */
static void blocked_call_scan_running(struct blocked_calls *s, struct blocked_scan *l,
				      uint64_t now_ns)
{
	struct ran *last = &s->ran[(unsigned)l->pid % REMEMBERED];
	struct ran now = {now_ns, l->thread_ticks, blocked_call_process_ticks(l), l->pid, l->tid};
	bool same = last->pid == now.pid && last->tid == now.tid &&
		    now_ns - last->at_ns < REMEMBER_NS && now.thread >= last->thread &&
		    now.process >= last->process;
	uint64_t ns = same ? now_ns - last->at_ns : 0;

	if (ns && l->out->why != GP_WHY_stopped) {
		if (blocked_call_over(now.thread - last->thread, ns, BUSY_PERCENT))
			blocked_scan_explain(l, GP_WHY_busy, "runs");
		else if (l->out->why == GP_WHY_lock &&
			 blocked_call_over(now.process - last->process, ns, BUSY_OTHERS))
			blocked_scan_explain(l, GP_WHY_busy,
					     "waits for another thread, which runs");
	}
	*last = now;
}

/* ---- scan ------------------------------------------------------------------------------------ */

pid_t blocked_calls_scan(struct blocked_calls *s, const char *root, pid_t pid, pid_t tid,
			 uint64_t now_ns, struct gp_blocked *ret)
{
	struct gp_blocked b = {.source = GP_BLOCKED_SCAN, .syscall = -1};
	struct blocked_scan l = {
		.root = root, .words = &s->words, .pid = pid, .tid = tid, .out = &b};
	int err;

	l.deadline_ns = clock_mono_ns() + SCAN_MAX_NS;
	err = blocked_scan_stat(&l);
	if (err == -ESRCH && tid != pid) {
		l.tid = pid;
		err = blocked_scan_stat(&l);
	}
	if (err)
		return err;
	blocked_scan_state(&l);
	blocked_call_scan_running(s, &l, now_ns);
	blocked_scan_near(&l);
	*ret = b;
	return l.tid;
}
