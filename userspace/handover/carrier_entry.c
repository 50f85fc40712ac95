/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/handover/carrier_entry.h"

#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"

#define IDLE_NS 10000000000ull /* after this time a job unknown to the model is dropped */
#define ROOM_NS 1000000000ull  /* between two searches for room */

struct entry *entries_find(struct entries *es, const char *job, const char *uid)
{
	for (uint32_t i = 0; i < es->count; i++)
		if (!strcmp(es->job[i].who.job, job) && !strcmp(es->job[i].who.uid, uid))
			return &es->job[i];
	return NULL;
}

bool entry_over(const struct carry *own)
{
	return own->state == JOB_ENDED || own->state == JOB_OVER;
}

/* Whether the entry can be dropped: the job is over and was stored, or the model does not know it
 * (own NULL). */
static bool entry_done(const struct entry *e, const struct carry *own, uint64_t now_ns)
{
	if (e->read || e->joined_ns)
		return false;
	if (!own)
		return now_ns - e->used_ns > IDLE_NS;
	return entry_over(own) && (e->refused || e->bad || e->left.until_ns == own->until_ns);
}

/* Returns the finished entry whose processes were reported longest ago; NULL: there is none. */
static struct entry *entries_room(struct entries *es, const struct output *out,
				  const struct entry *asked)
{
	bool done[CARRIER_JOBS];
	uint64_t now_ns = clock_mono_ns();
	struct entry *e, *oldest = NULL;
	struct carry own;
	int found;

	if (es->room_ns && now_ns - es->room_ns < ROOM_NS)
		return NULL;
	for (uint32_t i = 0; i < es->count; i++)
		done[i] = entry_done(&es->job[i], NULL, now_ns);
	for (uint32_t i = 0; (found = output_carry(out, i, &own)) >= 0; i++) {
		e = found == 1 ? entries_find(es, own.job, own.uid) : NULL;
		if (e)
			done[e - es->job] = entry_done(e, &own, now_ns);
	}
	for (uint32_t i = 0; i < es->count; i++) {
		e = &es->job[i];
		if (done[i] && e != asked && (!oldest || e->used_ns < oldest->used_ns))
			oldest = e;
	}
	es->room_ns = oldest ? 0 : now_ns;
	return oldest;
}

struct entry *entries_of(struct entries *es, const struct output *out, const struct entry *asked,
			 const char *job, const char *uid)
{
	struct entry *e = entries_find(es, job, uid);

	if (e)
		return e;
	e = es->count < CARRIER_JOBS ? &es->job[es->count++] : entries_room(es, out, asked);
	if (!e) {
		if (!es->full)
			log_warn(
				"--carry: more than %d jobs at a time: the history of job %s and others stays on this node",
				CARRIER_JOBS, job);
		es->full = true;
		return NULL;
	}
	memset(e, 0, sizeof(*e));
	e->used_ns = clock_mono_ns();
	log_escape(e->who.job, sizeof(e->who.job), job, strlen(job));
	log_escape(e->who.uid, sizeof(e->who.uid), uid, strlen(uid));
	return e;
}
