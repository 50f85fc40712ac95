/* SPDX-License-Identifier: Apache-2.0 */
/* rank_device.c - the accelerator that a rank uses: the time lost because of its lower clock, and
 * because of its errors. */
#include "userspace/model/rank/rank_private.h"

#include "userspace/base/number.h"

/* An error may be the cause of a slowdown if it occurs at most this long (ns) before or after the
 * onset. */
#define ERROR_NS 5000000000ull
/* The device is described as a cause if it explains at least this share of a slowdown. */
#define LISTED_SHARE 0.05

int rank_device(struct rank *r, const struct event *ev)
{
	uint64_t errors;
	struct device_view v;

	if (!r->device)
		r->device = device_clock_new();
	if (!r->device)
		return -ENOMEM;
	errors = device_clock_take(r->device, ev->rec->ts_ns, ev->device);
	if (!errors)
		return 0;
	device_clock_view(r->device, &v);
	rank_fault_device(r, &v, errors, ev->rec->ts_ns);
	return 0;
}

void rank_device_step(struct rank *r, const struct fact_step *fs)
{
	if (r->device && fs->device_known)
		device_clock_step(r->device,
				  fs->phase_ns[PHASE_SYNC] + fs->phase_ns[PHASE_TRANSFER],
				  fs->step.end_ns - fs->step.start_ns);
}

void rank_device_usual(const struct rank *r, uint64_t onset_ns, struct device_sums *ret)
{
	*ret = (struct device_sums){0};
	if (r->device)
		device_clock_between(r->device, more_than(onset_ns, RANK_USUAL_NS),
				     more_than(onset_ns, RANK_ONSET_NS), ret);
}

static void rank_device_since(const struct rank *r, const struct change_view *v, uint64_t now_ns,
			      struct device_sums *ret)
{
	device_clock_between(r->device, v->onset_ns, v->end_ns ? v->end_ns : now_ns, ret);
}

/* Returns the number of uncorrected errors from ERROR_NS before to ERROR_NS after the onset of the
 * slowdown. */
static uint64_t rank_device_errors(const struct rank *r, const struct change_view *v)
{
	struct device_sums s;

	device_clock_between(r->device, more_than(v->onset_ns, ERROR_NS), v->onset_ns + ERROR_NS,
			     &s);
	return s.errors;
}

void rank_device_causes(const struct rank *r, struct rank_slow *slow, const struct change_view *v,
			uint64_t now_ns)
{
	uint64_t grown_ns, throttled_ns;
	struct device_sums since;

	if (!r->device || !slow->causes.lost_ns)
		return;
	rank_device_since(r, v, now_ns, &since);
	grown_ns = device_clock_grown(&slow->usual_device, v->before_ns, &since, v->after_ns);
	throttled_ns = device_clock_explains(&slow->usual_device, v->before_ns, &since,
					     v->after_ns);
	time_cause_add(&slow->causes, TIME_CAUSE_device_throttled,
		       take_up_to(&grown_ns, throttled_ns));
	if (rank_device_errors(r, v))
		time_cause_add(&slow->causes, TIME_CAUSE_device_error, grown_ns);
}

void rank_device_evidence(const struct rank *r, const struct rank_slow *slow,
			  const struct change_view *v, uint64_t now_ns, char *out, size_t len)
{
	size_t at = strlen(out);
	struct device_sums since;
	char text[200];

	if (!r->device)
		return;
	if (time_cause_share(&slow->causes, TIME_CAUSE_device_throttled) >= LISTED_SHARE) {
		rank_device_since(r, v, now_ns, &since);
		at += (size_t)snprintf(out + at, len - at, "; %s",
				       device_clock_text(text, sizeof(text), r->device, &since));
	}
	if (time_cause_share(&slow->causes, TIME_CAUSE_device_error) >= LISTED_SHARE && at < len) {
		struct device_view d;

		device_clock_view(r->device, &d);
		snprintf(out + at, len - at, "; %s: new uncorrected memory errors (ECC): %llu",
			 d.name, (unsigned long long)rank_device_errors(r, v));
	}
}

void rank_device_view(const struct rank *r, struct device_view *ret)
{
	if (r->device)
		device_clock_view(r->device, ret);
}
