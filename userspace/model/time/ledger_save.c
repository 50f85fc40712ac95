/* SPDX-License-Identifier: Apache-2.0 */
/* ledger_save.c - fills a view of a ledger; saves and restores a ledger. */
#include <stdio.h>
#include <string.h>

#include "userspace/model/time/ledger_private.h"

/* ---- view ------------------------------------------------------------------------------------ */

/* Returns how much of the unsettled time is a hang. A hang is booked before the step that contains
 * it. */
static uint64_t ledger_hang(const struct ledger *l)
{
	uint64_t at_ns = l->settled_ns, sum_ns = 0;

	while (l->hung && at_ns < l->now_ns) {
		uint64_t next_ns = l->now_ns;
		uint32_t type;

		if (ledger_owner(l, at_ns, BUCKET_OTHER, &next_ns, &type) == BUCKET_HANG)
			sum_ns += next_ns - at_ns;
		at_ns = next_ns;
	}
	return sum_ns;
}

void ledger_view(const struct ledger *l, struct ledger_view *ret)
{
	uint64_t hang_ns = ledger_hang(l),
		 excluded_ns = exclusion_within(l->excluded, l->settled_ns, l->now_ns);

	*ret = (struct ledger_view){
		.start_ns = l->start_ns,
		.now_ns = l->now_ns,
		.unsettled_ns = l->now_ns - l->settled_ns - hang_ns - excluded_ns,
		.productive_gross_ns = l->final ? l->ns[BUCKET_GOODPUT] + l->disproved_ns : 0,
		.wasted_gross_ns = l->ns[BUCKET_WASTED],
		.steps = l->steps,
		.max_step = l->max_step,
		.late_ns = l->late_ns,
		.merged = l->coarse,
		.ended = l->ended,
	};
	memcpy(ret->ns, l->ns, sizeof(ret->ns));
	ret->ns[BUCKET_HANG] += hang_ns;
	ret->ns[BUCKET_EXCLUDED] += excluded_ns;
	ret->ns[BUCKET_OTHER] += ret->unsettled_ns;
	ret->ntypes = ledger_types(l, ret->types);
}

void ledger_view_idle(struct ledger_view *v, const struct excluded *a, uint64_t now_ns)
{
	uint64_t excluded_ns;

	if (now_ns <= v->now_ns)
		return;
	excluded_ns = exclusion_within(a, v->now_ns, now_ns);
	v->ns[BUCKET_EXCLUDED] += excluded_ns;
	v->ns[BUCKET_OTHER] += now_ns - v->now_ns - excluded_ns;
	v->unsettled_ns += now_ns - v->now_ns - excluded_ns;
	v->now_ns = now_ns;
}

uint64_t ledger_goodput(const struct ledger *l)
{
	return l->ns[BUCKET_GOODPUT];
}

const char *ledger_part(const struct ledger_view *l, const struct type_names *names, uint32_t i,
			char out[LEDGER_NAME_MAX], uint64_t *ret_ns)
{
	uint32_t type = i - BUCKETS_EXPORTED + 1;

	if (i < BUCKETS_EXPORTED) {
		*ret_ns = l->ns[i];
		for (uint32_t k = 1; i == BUCKET_CUSTOM && k < l->ntypes; k++)
			*ret_ns -= l->types[k].ns;
		return bucket_name[i];
	}
	if (type >= l->ntypes || l->types[type].name >= LEDGER_TYPES)
		return NULL;
	*ret_ns = l->types[type].ns;
	snprintf(out, LEDGER_NAME_MAX, "%s.%s", bucket_name[BUCKET_CUSTOM],
		 names->name[l->types[type].name]);
	return out;
}

uint32_t ledger_types(const struct ledger *l, struct ledger_type *ret)
{
	memcpy(ret, l->types, l->ntypes * sizeof(*ret));
	return l->ntypes;
}

bool ledger_check(const struct ledger *l)
{
	uint64_t sum_ns = 0, custom_ns = 0;

	for (int i = 0; i < BUCKET_COUNT; i++)
		sum_ns += l->ns[i];
	for (uint32_t i = 0; i < l->ntypes; i++)
		custom_ns += l->types[i].ns;
	return custom_ns == l->ns[BUCKET_CUSTOM] && sum_ns == l->settled_ns - l->start_ns &&
	       l->settled_ns <= l->now_ns;
}

/* ---- state ----------------------------------------------------------------------------------- */

static void ledger_pending_archive(struct archive *a, struct ledger *l)
{
	archive_count(a, &l->count, LEDGER_PENDING, sizeof(*l->pending));
	if (archive_reads(a) && l->count) {
		for (l->cap = LEDGER_PENDING_MIN; l->cap < l->count; l->cap *= 2)
			;
		l->pending = archive_alloc(a, l->cap, sizeof(*l->pending));
		l->count = l->pending ? l->count : 0;
	}
	for (uint32_t i = 0; i < l->count; i++) {
		struct interval *p = &l->pending[i];

		archive_fields(a, p, from_ns, to_ns);
		archive_below(a, &p->bucket, BUCKET_GOODPUT);
		archive_field(a, p->type);
		archive_require(a, p->bucket == BUCKET_CUSTOM ? p->type < l->ntypes : !p->type);
		archive_require(a, !i || p[-1].from_ns <= p->from_ns);
		archive_require(a, p->from_ns < p->to_ns && p->to_ns > l->settled_ns &&
					   p->to_ns <= l->now_ns);
	}
}

static void ledger_types_archive(struct archive *a, struct ledger *l)
{
	archive_below(a, &l->ntypes, LEDGER_TYPES + 1);
	for (uint32_t i = 0; i < l->ntypes; i++) {
		archive_fields(a, &l->types[i], name, ns);
		archive_require(a, (i == 0) == (l->types[i].name == LEDGER_REST));
	}
}

void ledger_archive(struct archive *a, struct ledger **at)
{
	struct ledger *l = *at = archive_object(a, *at, sizeof(*l));
	uint64_t early_ns = 0;

	if (!l)
		return;
	if (archive_reads(a))
		l->keep = LEDGER_PENDING;
	archive_fields(a, l, start_ns, settled_ns, now_ns, ns);
	ledger_types_archive(a, l);
	archive_fields(a, l, disproved_ns, late_ns, coarse, steps, max_step, run_steps, ideal_ns,
		       mad_ns, lead_ns, lead_end_ns);
	archive_below(a, &l->nearly, LEDGER_EARLY + 1);
	for (uint32_t i = 0; i < l->nearly; i++) {
		archive_fields(a, &l->early[i], from_ns, to_ns, ns);
		early_ns += l->early[i].ns;
		archive_require(a, l->early[i].ns <= l->ns[BUCKET_GOODPUT] &&
					   early_ns <= l->ns[BUCKET_GOODPUT]);
	}
	archive_fields(a, l, opening, attached, final, ended, hung, untrained);
	archive_require(a, l->start_ns <= l->settled_ns && ledger_check(l));
	ledger_pending_archive(a, l);
}
