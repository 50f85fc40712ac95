/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/examination.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/number.h"

#define LENGTH_MAX_NS 60000000000ull /* a record of a longer examination is invalid */
#define LISTED_SHARE  0.05 /* parts with a smaller share of the time are not mentioned in texts */

const char *const examination_wait_name[GP_WAIT_COUNT] = {
#define X(id, name) [id] = #name,
	GP_WAIT_TYPES(X)
#undef X
};

const char *const examination_wait_text[GP_WAIT_COUNT] = {
	[GP_WAIT_other] = "sleeps in other system calls",
	[GP_WAIT_lock] = "waits for a lock or another thread",
	[GP_WAIT_sleep] = "sleeps for a time",
	[GP_WAIT_events] = "polls descriptors or waits for events",
	[GP_WAIT_pipe] = "waits for a pipe",
	[GP_WAIT_socket] = "waits for a socket",
	[GP_WAIT_network] = "waits for a network socket",
	[GP_WAIT_file] = "waits for a file",
	[GP_WAIT_page] = "waits for a page of memory",
	[GP_WAIT_device] = "waits for a device",
	[GP_WAIT_child] = "waits for a child process",
	[GP_WAIT_stopped] = "is stopped",
};

/* ---- records --------------------------------------------------------------------------------- */

bool examination_begin(struct examination *e, const struct event *ev)
{
	const struct gp_examined *r = ev->examined;
	uint64_t left_ns = more_than(r->to_ns, r->from_ns);

	if (r->to_ns < r->from_ns || left_ns > LENGTH_MAX_NS || r->to_ns > ev->rec->ts_ns)
		return false;
	*e = (struct examination){
		.from_ns = r->from_ns,
		.to_ns = r->to_ns,
		.tid = ev->rec->tid,
		.error = r->error,
		.dear = r->flags & GP_EXAMINED_DEAR,
		.blocks = r->flags & GP_EXAMINED_BLOCKS,
		.cost_ns = r->cost_ns,
	};
	if (e->error)
		return true;
	e->runnable_ns = take_up_to(&left_ns, r->runnable_ns);
	for (int i = 0; i < GP_WAIT_COUNT; i++) {
		e->wait_ns[i] = take_up_to(&left_ns, r->wait_ns[i]);
		e->asleep_ns += e->wait_ns[i];
	}
	e->block_ns = smaller_of(r->block_ns, e->asleep_ns);
	for (size_t i = 0; i < sizeof(r->device) / sizeof(r->device[0]); i++) {
		const struct gp_examined_device *from = &r->device[i];
		struct examination_device *to = &e->devices[e->ndevices];

		if (!*from->name || !from->count || e->ndevices == EXAMINATION_DEVICES)
			continue;
		event_copy(to->name, from->name);
		to->ns = from->ns;
		to->worst_ns = from->worst_ns;
		to->count = from->count;
		to->slow = smaller_of(from->slow, from->count);
		e->ndevices++;
	}
	return true;
}

void examination_wait(struct examination *e, const struct event *ev)
{
	const struct gp_waited *r = ev->waited;
	struct examination_wait *w;
	uint32_t at = e->nwaits;

	if (ev->rec->tid != e->tid || e->error || r->wait >= GP_WAIT_COUNT ||
	    e->nwaits == EXAMINATION_WAITS)
		return;
	for (; at && e->waits[at - 1].ns < r->ns; at--)
		e->waits[at] = e->waits[at - 1];
	w = &e->waits[at];
	*w = (struct examination_wait){
		.ns = smaller_of(r->ns, e->wait_ns[r->wait]),
		.count = r->count,
		.slow = r->slow < r->count ? r->slow : r->count,
		.wait = (enum gp_wait)r->wait,
	};
	w->worst_ns = smaller_of(r->worst_ns, w->ns);
	event_copy(w->name, r->name);
	e->nwaits++;
}

void examination_instead(struct examination *e, const struct event *ev, const char *job, bool own)
{
	const struct gp_instead *r = ev->instead;
	struct examination_instead *p;
	uint32_t at = e->ninstead;

	if (ev->rec->tid != e->tid || e->error || e->ninstead == EXAMINATION_INSTEAD)
		return;
	for (; at && e->instead[at - 1].ns < r->ns; at--)
		e->instead[at] = e->instead[at - 1];
	p = &e->instead[at];
	*p = (struct examination_instead){
		.ns = smaller_of(r->ns, e->runnable_ns),
		.pid = r->other,
		.watched = job,
		.own = job && own,
	};
	event_copy(p->comm, r->comm);
	event_copy(p->group, r->group);
	snprintf(p->job, sizeof(p->job), "%s", job ? job : "");
	e->ninstead++;
}

/* ---- causes ---------------------------------------------------------------------------------- */

/* Moves time (ns) from "unknown" to a cause until the cause has at least `least`. */
static void examination_raise(struct time_causes *l, enum time_cause c, double least)
{
	if (least > (double)l->ns[c])
		l->ns[c] += take_up_to(&l->ns[TIME_CAUSE_unknown],
				       (uint64_t)(least - (double)l->ns[c]));
}

static uint64_t examination_disk_ns(const struct examination *e)
{
	return larger_of(e->wait_ns[GP_WAIT_file], e->block_ns);
}

void examination_refine(const struct examination *e, struct time_causes *l,
			const struct resource_sums *before, uint64_t before_ns,
			const struct resource_sums *after, uint64_t after_ns)
{
	double slept, sleeps;

	if (!l->lost_ns || !e->asleep_ns || !before->covered_ns || !after->covered_ns)
		return;
	/* sleep of the thread in each step */
	slept = (double)before->asleep_ns / (double)before->covered_ns * (double)before_ns;
	sleeps = (double)after->asleep_ns / (double)after->covered_ns * (double)after_ns;
	sleeps /= (double)e->asleep_ns;
	examination_raise(l, TIME_CAUSE_network,
			  sleeps * (double)e->wait_ns[GP_WAIT_network] - slept);
	examination_raise(l, TIME_CAUSE_disk, sleeps * (double)examination_disk_ns(e) - slept);
}

void examination_add_waits(const struct examination *e, struct time_causes *l,
			   const struct resource_sums *before, uint64_t before_ns,
			   const struct resource_sums *after, uint64_t after_ns, uint64_t grown_ns)
{
	const struct {
		enum time_cause cause;
		uint64_t ns;
	} waits[] = {
		{TIME_CAUSE_lock, e->wait_ns[GP_WAIT_lock]},
		{TIME_CAUSE_pipe, e->wait_ns[GP_WAIT_pipe] + e->wait_ns[GP_WAIT_socket]},
		{TIME_CAUSE_child, e->wait_ns[GP_WAIT_child]},
	};
	uint64_t loader_ns = l->ns[TIME_CAUSE_loader_cpu] + l->ns[TIME_CAUSE_loader_io];
	uint64_t waited_ns = more_than(e->asleep_ns, e->wait_ns[GP_WAIT_sleep]);
	double slept, sleeps, least;

	if (!l->lost_ns || !e->asleep_ns || !before->covered_ns || !after->covered_ns)
		return;
	slept = (double)before->asleep_ns / (double)before->covered_ns * (double)before_ns;
	sleeps = (double)after->asleep_ns / (double)after->covered_ns * (double)after_ns;
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		least = sleeps * (double)waits[i].ns / (double)e->asleep_ns - slept -
			(double)loader_ns;
		if (waited_ns)
			least = fmax(least,
				     (double)grown_ns * (double)waits[i].ns / (double)waited_ns);
		examination_raise(l, waits[i].cause, least);
	}
}

/* ---- texts ----------------------------------------------------------------------------------- */

static const char *examination_instead_text(char *out, size_t len,
					    const struct examination_instead *p)
{
	if (!p->pid)
		snprintf(out, len, "no process, the CPU was idle or a quota used up");
	else if (p->own)
		snprintf(out, len, "%s of the same job", p->comm);
	else if (p->watched)
		snprintf(out, len, "%s of %s%s", p->comm, *p->job ? "job " : "another job", p->job);
	else
		snprintf(out, len, "%s, not part of a job", p->comm);
	return out;
}

/* Returns the longest wait that has a name and one of the given types (a bit set), or NULL. */
static const struct examination_wait *examination_longest(const struct examination *e,
							  unsigned types)
{
	for (uint32_t i = 0; i < e->nwaits; i++) {
		if (types & 1u << e->waits[i].wait && *e->waits[i].name)
			return &e->waits[i];
	}
	return NULL;
}

/* Writes the process, address or path that accounts for most of the time of cause c to out, or "".
 * Returns its share of the time of c in the examination. */
static double examination_name(char *out, size_t len, const struct examination *e,
			       enum time_cause c)
{
	const struct examination_instead *p = &e->instead[0];
	const struct examination_wait *w = NULL;
	uint64_t all_ns = 0;

	*out = '\0';
	if (c == TIME_CAUSE_cpu_contention && e->ninstead && e->runnable_ns && p->pid) {
		examination_instead_text(out, len, p);
		return (double)p->ns / (double)e->runnable_ns;
	}
	if (c == TIME_CAUSE_network) {
		w = examination_longest(e, 1u << GP_WAIT_network);
		all_ns = e->wait_ns[GP_WAIT_network];
	} else if (c == TIME_CAUSE_disk) {
		w = examination_longest(e, 1u << GP_WAIT_file);
		all_ns = examination_disk_ns(e);
	}
	if (!w || !all_ns)
		return 0;
	snprintf(out, len, "%s", w->name);
	return (double)w->ns / (double)all_ns;
}

const char *examination_detail(char *out, size_t len, const struct examination *e,
			       enum time_cause c)
{
	char name[128];
	double share = examination_name(name, sizeof(name), e, c);

	*out = '\0';
	if (*name)
		snprintf(out, len, "%.0f %% of it %s", 100 * share, name);
	return out;
}

const char *examination_causes_text(char *out, size_t len, const struct time_causes *l,
				    const struct examination *e)
{
	char detail[TIME_CAUSE_COUNT][160] = {{0}};
	const char *details[TIME_CAUSE_COUNT];

	for (int i = 0; i < TIME_CAUSE_COUNT; i++) {
		enum time_cause c = (enum time_cause)i;
		char name[128] = "";
		double share = e ? examination_name(name, sizeof(name), e, c) : 0;

		if (*name)
			snprintf(detail[i], sizeof(detail[i]), " (%s: %.0f %%)", name,
				 100 * share * time_cause_share(l, c));
		details[i] = detail[i];
	}
	return time_causes_text_with(out, len, l, details);
}

/* Appends a part of the examined time if it is large enough to be listed. */
static size_t examination_add(char *out, size_t len, size_t at, const struct examination *e,
			      uint64_t ns, const char *what, const char *detail)
{
	double share = (double)ns / (double)(e->to_ns - e->from_ns);

	if (share < LISTED_SHARE || at >= len)
		return at;
	return at + (size_t)snprintf(out + at, len - at, "%s %.0f %% %s%s%s%s",
				     out[at - 1] == ':' ? "" : ",", 100 * share, what,
				     *detail ? " (" : "", detail, *detail ? ")" : "");
}

double examination_blocked(char *out, size_t len, const struct examination *e, bool own,
			   enum gp_wait *ret_wait)
{
	static const enum gp_wait outside[] = {GP_WAIT_network, GP_WAIT_file,  GP_WAIT_page,
					       GP_WAIT_pipe,	GP_WAIT_child, GP_WAIT_sleep,
					       GP_WAIT_lock,	GP_WAIT_events};
	size_t count = sizeof(outside) / sizeof(*outside) - (own ? 0 : 2);
	const struct examination_wait *w;
	enum gp_wait best = outside[0];

	*out = '\0';
	for (size_t i = 1; i < count; i++)
		best = e->wait_ns[outside[i]] > e->wait_ns[best] ? outside[i] : best;
	*ret_wait = best;
	if (e->error || e->to_ns <= e->from_ns || !e->wait_ns[best])
		return 0;
	w = examination_longest(e, 1u << best);
	snprintf(out, len, "%s%s%s%s", examination_wait_text[best], w ? " (" : "", w ? w->name : "",
		 w ? ")" : "");
	return (double)e->wait_ns[best] / (double)(e->to_ns - e->from_ns);
}

const char *examination_text(char *out, size_t len, const struct examination *e)
{
	uint64_t length_ns = e->to_ns - e->from_ns, used_ns = e->runnable_ns + e->asleep_ns;
	const struct examination_wait *w;
	char who[128] = "";
	size_t at;

	if (e->error || !length_ns) {
		snprintf(out, len, "not examined: %s", strerror(e->error < 0 ? -e->error : 0));
		return out;
	}
	at = (size_t)snprintf(out, len, "examined for %.1f s:", (double)length_ns / 1e9);
	at = examination_add(out, len, at, e, more_than(length_ns, used_ns), "runs", "");
	if (e->ninstead)
		examination_instead_text(who, sizeof(who), &e->instead[0]);
	at = examination_add(out, len, at, e, e->runnable_ns, "waits for a CPU", who);
	for (int i = 0; i < GP_WAIT_COUNT; i++) {
		w = examination_longest(e, 1u << i);
		at = examination_add(out, len, at, e, e->wait_ns[i], examination_wait_text[i],
				     w ? w->name : "");
	}
	return out;
}

/* ---- state ----------------------------------------------------------------------------------- */

void examination_archive(struct archive *a, struct examination **at)
{
	struct examination *e = *at = archive_object(a, *at, sizeof(**at));

	if (!e)
		return;
	archive_struct(a, sizeof(*e));
	archive_fields(a, e, from_ns, to_ns, tid, error, dear, blocks, runnable_ns, wait_ns,
		       asleep_ns, block_ns, cost_ns);
	archive_require(a, e->to_ns >= e->from_ns);
	archive_below(a, &e->nwaits, EXAMINATION_WAITS + 1);
	archive_below(a, &e->ninstead, EXAMINATION_INSTEAD + 1);
	archive_below(a, &e->ndevices, EXAMINATION_DEVICES + 1);
	for (uint32_t i = 0; i < e->nwaits; i++) {
		archive_fields(a, &e->waits[i], ns, worst_ns, count, slow, name);
		archive_below(a, &e->waits[i].wait, GP_WAIT_COUNT);
	}
	for (uint32_t i = 0; i < e->ninstead; i++)
		archive_fields(a, &e->instead[i], ns, pid, watched, own, comm, group, job);
	for (uint32_t i = 0; i < e->ndevices; i++)
		archive_fields(a, &e->devices[i], name, ns, worst_ns, count, slow);
}
