/* SPDX-License-Identifier: Apache-2.0 */
/* rank_failure.c - decides whether the end of a process was a failure, and what caused the
 * failure. */
#include "userspace/model/rank/rank_private.h"

#include <signal.h>
#include <sys/wait.h>

#include "userspace/base/number.h"

static enum disruption_cause rank_failure_cause_of(const struct rank *r, int sig)
{
	if (!sig)
		return CAUSE_exit;
	if (r->oom && sig == SIGKILL)
		return CAUSE_oom;
	switch (sig) {
	case SIGKILL:
	case SIGTERM:
	case SIGHUP:
	case SIGQUIT:
	case SIGUSR1:
	case SIGUSR2:
		return CAUSE_killed;
	/* Other signals come from the kernel or abort() when the process itself fails, unless
	 * another process sent them. */
	default:
		return r->killed.signal == (uint32_t)sig && r->killed.sender &&
				       r->killed.sender != r->member.pid
			       ? CAUSE_killed
			       : CAUSE_crashed;
	}
}

static bool rank_failure_clean_end(int status)
{
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGINT;
	/* exit status 128 + SIGINT: shells and Python report an interrupt in this way */
	return !WEXITSTATUS(status) || WEXITSTATUS(status) == 128 + SIGINT;
}

/* Returns true if the process ended because of SIGINT. The step in progress may end after the
 * signal. If another step has begun after it, the process did not stop because of the signal. */
static bool rank_failure_was_interrupted(const struct rank *r, uint64_t now_ns)
{
	const struct rank_done *before = r->nloops ? rank_done(r->loops[0], 1) : NULL;

	if (!r->interrupted_ns || now_ns - r->interrupted_ns > JOB_GRACE_NS || r->oom)
		return false;
	if (r->fault.at_ns && !r->fault.weak && r->fault.at_ns < r->interrupted_ns)
		return false;
	return !before || before->from_ns <= r->interrupted_ns;
}

bool rank_ended_clean(const struct rank *r, uint64_t now_ns)
{
	return rank_failure_clean_end(r->status) || rank_failure_was_interrupted(r, now_ns);
}

/* Returns true if Ray started the process. Ray ends its workers with exit status 1 even after
 * success. */
static bool rank_managed(const struct rank *r)
{
	return !strncmp(r->member.process.comm, "ray::", 5) ||
	       !strncmp(r->member.process.command, "ray::", 5) ||
	       strstr(r->member.process.command, "/ray/_private/workers/default_worker.py");
}

/* Returns true if another process sent a signal to end this process, and the process ended some
 * time later. This is usually a preemption. */
static bool rank_failure_asked_to_end(const struct rank *r, uint64_t now_ns)
{
	return r->killed.sender && r->killed.sender != r->member.pid &&
	       now_ns - r->killed_ns <= JOB_GRACE_NS &&
	       (r->killed.signal == SIGTERM || r->killed.signal == SIGUSR1 ||
		r->killed.signal == SIGUSR2);
}

/* Sets the cause of the failure to an event of the pod or node (eviction, preemption...), which
 * explains more than the signal or exit status that follows from it. Returns false if there was no
 * such event. */
static bool rank_failure_notice_cause(const struct rank *r, uint64_t now_ns, struct job_cause *why)
{
	uint64_t since_ns = more_than(now_ns, JOB_GRACE_NS);
	unsigned what = notices_find(&r->member.env->notices,
				     r->member.place ? r->member.place->pod_uid : "", since_ns,
				     now_ns);

	return what && job_cause_noticed(why, what);
}

void rank_failed(struct rank *r, uint64_t now_ns, bool replaced)
{
	int sig = !replaced && WIFSIGNALED(r->status) ? WTERMSIG(r->status) : 0;
	bool sent = sig && r->killed.signal == (uint32_t)sig;
	bool clean = !replaced && rank_ended_clean(r, now_ns), noticed;
	struct job_cause why = {
		.exit_code = sig || replaced ? -1 : WEXITSTATUS(r->status),
		.signal = sig,
		.sender = sent ? r->killed.sender : 0,
	};

	why.managed = !sig && !replaced && !clean && why.exit_code == 1 && rank_managed(r);
	why.cause = replaced ? CAUSE_exec : clean ? CAUSE_asked : rank_failure_cause_of(r, sig);
	rank_fault_cause(r, now_ns, &why);
	if (sent)
		event_copy(why.sender_comm, r->killed.comm);
	noticed = rank_failure_notice_cause(r, now_ns, &why);
	if (clean)
		job_disrupted(&r->member, now_ns,
			      noticed || rank_failure_asked_to_end(r, now_ns) ? &why : NULL, true);
	else
		r->disruptions += job_disrupted(&r->member, now_ns, &why,
						why.managed && why.cause == CAUSE_exit);
}
