/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/signal/monitor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/grow.h"

const char *const monitor_aggregation_name[MONITOR_AGGREGATIONS] = {
	[MONITOR_VALUE] = "value", [MONITOR_MEAN] = "mean", [MONITOR_COUNT] = "count",
	[MONITOR_SUM] = "sum",	   [MONITOR_MAX] = "max",   [MONITOR_MIN] = "min",
};

static const char stat_event[] = "torch.monitor.Stat";

struct monitor *monitor_new(void)
{
	return calloc(1, sizeof(struct monitor));
}

void monitor_free(struct monitor *m)
{
	if (!m)
		return;
	free(m->open);
	free(m->values);
	free(m);
}

/* ---- figures --------------------------------------------------------------------------------- */

static struct monitor_value *monitor_value_find(struct monitor *m, const char *name, size_t len,
						enum monitor_aggregation aggregation, int *err)
{
	struct monitor_value *v;

	for (uint32_t i = 0; i < m->nvalues; i++) {
		v = &m->values[i];
		if (v->aggregation == aggregation && !strncmp(v->name, name, len) && !v->name[len])
			return v;
	}
	if (m->nvalues == MONITOR_VALUES)
		return NULL;
	v = grow_add(m->values, m->nvalues, m->values_cap, MONITOR_VALUES);
	if (!v) {
		*err = -ENOMEM;
		return NULL;
	}
	*v = (struct monitor_value){.aggregation = aggregation};
	memcpy(v->name, name, len);
	return v;
}

static int monitor_value_keep(struct monitor *m, const struct monitor_entry *e, uint64_t at_ns)
{
	const char *dot = strrchr(e->key, '.');
	struct monitor_value *v = NULL;
	int err = 0;

	for (int i = 0; dot && !v && i < MONITOR_AGGREGATIONS; i++)
		if (!strcmp(dot + 1, monitor_aggregation_name[i]))
			v = monitor_value_find(m, e->key, (size_t)(dot - e->key),
					       (enum monitor_aggregation)i, &err);
	if (!v) {
		m->unkept++;
		return err;
	}
	v->value = e->type == GP_MONITOR_DOUBLE ? monitor_double(e->value)
						: (double)(int64_t)e->value;
	v->at_ns = at_ns;
	return 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

static int monitor_event_over(struct monitor *m, struct monitor_event *ev,
			      struct monitor_event *ret)
{
	bool stat = !strcmp(ev->name, stat_event);
	int err = 0, first = 0;

	ev->truncated |= ev->nentries < ev->count;
	m->events++;
	m->truncated += ev->truncated;
	for (uint32_t i = 0; stat && i < ev->nentries; i++) {
		if (ev->entry[i].type != GP_MONITOR_TEXT)
			err = monitor_value_keep(m, &ev->entry[i], ev->end_ns);
		first = first ? first : err;
	}
	*ret = *ev;
	m->nopen--;
	memmove(ev, ev + 1, (size_t)(&m->open[m->nopen] - ev) * sizeof(*ev));
	return first;
}

static struct monitor_event *monitor_event_of(const struct monitor *m, uint32_t tid)
{
	for (uint32_t i = 0; i < m->nopen; i++)
		if (m->open[i].tid == tid)
			return &m->open[i];
	return NULL;
}

static struct monitor_event *monitor_event_begin(struct monitor *m, const struct event *ev)
{
	const struct gp_monitor *rec = ev->monitor;
	struct monitor_event *e = grow_add(m->open, m->nopen, m->open_cap, MONITOR_OPEN);

	if (!e)
		return NULL;
	*e = (struct monitor_event){
		.tid = ev->rec->tid,
		.begin_ns = ev->rec->ts_ns,
		.wall_ns = rec->wall_ns,
		.count = rec->count,
		.truncated = strnlen(rec->event, sizeof(rec->event)) >= sizeof(rec->event) - 1,
	};
	event_copy(e->name, rec->event);
	return e;
}

static bool monitor_event_goes_on(const struct monitor_event *e, const struct gp_monitor *rec)
{
	return rec->index == e->next && rec->count == e->count && rec->wall_ns == e->wall_ns;
}

static void monitor_entry_add(struct monitor_event *e, const struct gp_monitor *rec)
{
	struct monitor_entry *entry = &e->entry[e->nentries];

	/* A text that fills its field has probably been cut. */
	e->truncated |= strnlen(rec->key, sizeof(rec->key)) >= sizeof(rec->key) - 1;
	*entry = (struct monitor_entry){.type = rec->type};
	event_copy(entry->key, rec->key);
	if (rec->type == GP_MONITOR_TEXT) {
		e->truncated |= strnlen(rec->text, sizeof(rec->text)) >= sizeof(rec->text) - 1;
		event_copy(entry->text, rec->text);
	} else {
		entry->value = rec->value;
	}
	for (uint32_t i = 0; i < e->nentries; i++) {
		if (!strcmp(e->entry[i].key, entry->key)) {
			e->truncated = true; /* these keys differ only in the part that was cut */
			return;
		}
	}
	e->nentries++;
}

int monitor_feed(struct monitor *m, const struct event *ev, struct monitor_events *ret)
{
	const struct gp_monitor *rec = ev->monitor;
	struct monitor_event *e = monitor_event_of(m, ev->rec->tid);
	int err = 0;

	ret->count = 0;
	if (rec->index >= GP_MONITOR_MAX || rec->type > GP_MONITOR_BOOL)
		return 0;
	if (e && !monitor_event_goes_on(e, rec)) {
		err = monitor_event_over(m, e, &ret->event[ret->count++]);
		e = NULL;
	}
	if (!e && m->nopen == MONITOR_OPEN)
		err = monitor_event_over(m, &m->open[0], &ret->event[ret->count++]);
	if (!e)
		e = monitor_event_begin(m, ev);
	if (!e)
		return -ENOMEM;
	e->end_ns = ev->rec->ts_ns;
	e->next = rec->index + 1u;
	if (rec->type != GP_MONITOR_NONE)
		monitor_entry_add(e, rec);
	if (rec->type == GP_MONITOR_NONE || e->next == GP_MONITOR_MAX || e->next >= e->count) {
		int last = monitor_event_over(m, e, &ret->event[ret->count++]);

		err = err ? err : last;
	}
	return err;
}

bool monitor_next(struct monitor *m, uint64_t before_ns, struct monitor_event *ret)
{
	for (uint32_t i = 0; i < m->nopen; i++) {
		if (m->open[i].begin_ns >= before_ns)
			continue;
		monitor_event_over(m, &m->open[i], ret);
		return true;
	}
	if (!m->nopen)
		m->open = grow_free(m->open, &m->open_cap);
	return false;
}

/* ---- state ----------------------------------------------------------------------------------- */

static void monitor_event_archive(struct archive *a, struct monitor_event *e)
{
	archive_fields(a, e, tid, begin_ns, end_ns, wall_ns, count);
	archive_below(a, &e->next, GP_MONITOR_MAX);
	archive_fields(a, e, truncated, name);
	archive_below(a, &e->nentries, GP_MONITOR_MAX);
	/* Each record adds at most one entry: more entries than records cannot be right, and would
	 * leave no room for the next entry. */
	archive_require(a, e->nentries <= e->next);
	for (uint32_t i = 0; i < e->nentries; i++) {
		archive_below(a, &e->entry[i].type, GP_MONITOR_BOOL + 1);
		archive_require(a, e->entry[i].type != GP_MONITOR_NONE);
		archive_fields(a, &e->entry[i], value, key, text);
	}
}

static void monitor_value_archive(struct archive *a, struct monitor_value *v)
{
	uint64_t bits;

	memcpy(&bits, &v->value, sizeof(bits));
	archive_field(a, bits); /* saved as bits, because NaN is a valid value */
	memcpy(&v->value, &bits, sizeof(bits));
	archive_field(a, v->name);
	archive_below(a, &v->aggregation, MONITOR_AGGREGATIONS);
	archive_field(a, v->at_ns);
}

void monitor_archive(struct archive *a, struct monitor **at)
{
	struct monitor *m = *at = archive_object(a, *at, sizeof(*m));

	if (!m)
		return;
	archive_count(a, &m->nopen, MONITOR_OPEN, sizeof(*m->open));
	archive_count(a, &m->nvalues, MONITOR_VALUES, sizeof(*m->values));
	if (archive_reads(a)) {
		m->open = m->nopen ? archive_alloc(a, m->nopen, sizeof(*m->open)) : NULL;
		m->values = m->nvalues ? archive_alloc(a, m->nvalues, sizeof(*m->values)) : NULL;
		m->open_cap = m->nopen = m->open ? m->nopen : 0;
		m->values_cap = m->nvalues = m->values ? m->nvalues : 0;
	}
	for (uint32_t i = 0; i < m->nopen; i++)
		monitor_event_archive(a, &m->open[i]);
	for (uint32_t i = 0; i < m->nvalues; i++)
		monitor_value_archive(a, &m->values[i]);
	archive_fields(a, m, events, truncated, unkept);
}
