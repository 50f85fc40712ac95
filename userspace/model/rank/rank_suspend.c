/* SPDX-License-Identifier: Apache-2.0 */
/* rank_suspend.c - suspensions: another process (cuda-checkpoint, CRIU) takes the device state
 * away, and the rank cannot run until the state is given back. Like the time between two runs, this
 * is not the fault of the job and is booked as INFRASTRUCTURE_RECOVERY. The silence during a
 * suspension is not a hang. */
#include "userspace/base/clock.h"
#include "userspace/model/rank/rank_private.h"

static void suspend_book(struct rank *r, uint64_t from_ns, uint64_t to_ns)
{
	if (to_ns <= from_ns || !r->member.ledger)
		return;
	ledger_advance(r->member.ledger, to_ns);
	if (ledger_interval(r->member.ledger, BUCKET_RECOVERY, from_ns, to_ns))
		r->error = -ENOMEM;
	rank_ledger_checked(r);
	rank_hang_unsure(r, to_ns);
}

static void suspend_begin(struct rank *r, uint64_t from_ns, uint64_t now_ns)
{
	if (!r->suspended_ns) {
		r->suspended_ns = r->suspended_booked_ns = from_ns;
		rank_event(r, now_ns, "suspended: another process took its device state away");
	}
	rank_suspend_tick(r, now_ns);
}

void rank_suspend_tick(struct rank *r, uint64_t now_ns)
{
	if (!r->suspended_ns || now_ns <= r->suspended_booked_ns)
		return;
	suspend_book(r, r->suspended_booked_ns, now_ns);
	r->suspended_booked_ns = now_ns;
}

/* Ends a suspension. A process resumes by two calls (restore, unlock): the first call ends the
 * suspension, and the second one is ignored. */
void rank_resume(struct rank *r, uint64_t from_ns, uint64_t now_ns)
{
	struct fact_range range = {
		.name = "suspended",
		.bucket = BUCKET_RECOVERY,
		.start_ns = r->suspended_ns,
		.end_ns = now_ns,
	};
	struct fact f = {.type = FACT_RANGE, .range = &range};
	char took[16];

	if (!r->suspended_ns) {
		suspend_book(r, from_ns, now_ns);
		return;
	}
	rank_suspend_tick(r, now_ns);
	r->suspended_ns = 0;
	rank_event(r, now_ns, "was suspended for %s",
		   clock_duration(took, sizeof(took), now_ns - range.start_ns));
	rank_fact(r, &f, now_ns);
	r->ledger_due = true;
}

int rank_suspended(struct rank *r, uint64_t from_ns, uint64_t now_ns, bool taken)
{
	if (!r->member.accelerated)
		return 0;
	r->error = 0;
	if (taken)
		suspend_begin(r, from_ns, now_ns);
	else
		rank_resume(r, from_ns, now_ns);
	return r->error;
}
