/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/gcm/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/grow.h"
#include "userspace/base/hash.h"
#include "userspace/base/utf8.h"

#define RESOURCES_MAX 4096
#define NO_PLACE      UINT32_MAX

void series_set_init(struct series_set *s)
{
	*s = (struct series_set){0};
	buffer_add(&s->text, "", 1);
}

void series_set_free(struct series_set *s)
{
	for (uint32_t i = 0; i < s->ndistributions; i++)
		free((void *)s->distribution[i].bounds);
	free(s->distribution);
	free(s->resource);
	free(s->item);
	buffer_free(&s->text);
	*s = (struct series_set){0};
}

const char *series_text(const struct series_set *s, uint32_t at)
{
	return at < s->text.len ? s->text.data + at : "";
}

/* Stores a text, cut and repaired so that the service accepts it. *ret: its offset. Returns false
 * when there is no memory. */
static bool series_text_add(struct series_set *s, const char *text, uint32_t *ret)
{
	size_t len = strlen(text), from = s->text.len, n;
	uint32_t c;

	*ret = 0;
	for (size_t i = 0; i < len; i += n ? n : 1) {
		n = utf8_decode(text + i, len - i, &c);
		if (s->text.len - from + (n ? n : 3) > SERIES_LABEL_MAX)
			break;
		buffer_add(&s->text, n ? text + i : "\357\277\275", n ? n : 3);
	}
	buffer_add(&s->text, "", 1);
	if (s->text.failed || from > UINT32_MAX)
		return false;
	*ret = len ? (uint32_t)from : 0;
	return true;
}

static bool series_resource_is(const struct series_set *s, const struct series_resource *r,
			       const char *type, const char *const *names,
			       const char *const *values)
{
	int i;

	if (strcmp(r->type, type))
		return false;
	for (i = 0; i < SERIES_LABELS && names[i]; i++) {
		if (!r->name[i] || strcmp(r->name[i], names[i]) ||
		    strcmp(series_text(s, r->value[i]), values[i]))
			return false;
	}
	return i == SERIES_LABELS || !r->name[i];
}

uint32_t series_resource(struct series_set *s, const char *type, const char *const *names,
			 const char *const *values)
{
	struct series_resource r = {.type = type}, *items;

	for (uint32_t i = s->nresources; i--;) {
		if (series_resource_is(s, &s->resource[i], type, names, values))
			return i;
	}
	if (s->nresources == RESOURCES_MAX)
		return NO_PLACE;
	items = grow_items(s->resource, &s->cap_resources, s->nresources + 1, RESOURCES_MAX,
			   sizeof(*items));
	if (!items)
		return NO_PLACE;
	s->resource = items;
	for (int i = 0; i < SERIES_LABELS && names[i]; i++) {
		r.name[i] = names[i];
		if (!series_text_add(s, values[i], &r.value[i]))
			return NO_PLACE;
	}
	items[s->nresources] = r;
	return s->nresources++;
}

struct series *series_put(struct series_set *s, const struct series_row *row, uint32_t resource,
			  int64_t end_ns)
{
	struct series *items = NULL;

	if (s->count < SERIES_SET_MAX && resource < s->nresources)
		items = grow_items(s->item, &s->cap, s->count + 1, SERIES_SET_MAX, sizeof(*items));
	if (!items) {
		s->unkept++;
		return NULL;
	}
	s->item = items;
	items[s->count] = (struct series){.row = row, .resource = resource, .end_ns = end_ns};
	return &items[s->count++];
}

/* Returns the offset of value in the previous series' labels, to store equal values once; 0: not
 * found. */
static uint32_t series_text_before(const struct series_set *s, const char *value)
{
	const struct series *before;

	if (s->count < 2)
		return 0;
	before = &s->item[s->count - 2];
	for (int i = 0; i < SERIES_LABELS; i++) {
		if (before->label[i] && !strcmp(series_text(s, before->label[i]), value))
			return before->label[i];
	}
	return 0;
}

void series_label(struct series_set *s, const char *name, const char *value)
{
	struct series *p;

	if (!s->count)
		return;
	p = &s->item[s->count - 1];
	for (int i = 0; i < SERIES_LABELS && p->row->label[i].name; i++) {
		if (strcmp(p->row->label[i].name, name))
			continue;
		p->label[i] = *value ? series_text_before(s, value) : 0;
		if (!p->label[i] && !series_text_add(s, value, &p->label[i]))
			p->resource = NO_PLACE;
		return;
	}
	p->resource = NO_PLACE;
}

void series_distribution(struct series_set *s, const struct series_distribution *d)
{
	size_t bounds = d->nbounds * sizeof(*d->bounds),
	       buckets = (d->nbounds + 1ul) * sizeof(*d->buckets);
	struct series_distribution *items;
	struct series *p;
	char *room;

	if (!s->count)
		return;
	p = &s->item[s->count - 1];
	p->value.distribution = NO_PLACE;
	items = grow_items(s->distribution, &s->cap_distributions, s->ndistributions + 1,
			   SERIES_SET_MAX, sizeof(*items));
	if (!items)
		return;
	s->distribution = items;
	room = d->nbounds < SERIES_BUCKETS ? malloc(bounds + buckets) : NULL;
	if (!room)
		return;
	memcpy(room, d->bounds, bounds);
	memcpy(room + bounds, d->buckets, buckets);
	items[s->ndistributions] = *d;
	items[s->ndistributions].bounds = (const double *)(void *)room;
	items[s->ndistributions].buckets = (const uint64_t *)(void *)(room + bounds);
	p->value.distribution = s->ndistributions++;
}

void series_type(struct buffer *out, const struct series_row *row, const char *own_prefix)
{
	buffer_printf(out, "%s%s", row->library ? SERIES_LIB_PREFIX : own_prefix, row->name);
}

/* Adds a text to a hash with its NUL, so that "ab", "c" and "a", "bc" differ. */
static uint64_t series_key_text(uint64_t hash, const char *text)
{
	return hash_bytes(hash, text, strlen(text) + 1);
}

uint64_t series_key(const struct series_set *s, const struct series *p, const char *own_prefix)
{
	const char *prefix = p->row->library ? SERIES_LIB_PREFIX : own_prefix;
	uint64_t hash = hash_bytes(HASH_START, prefix, strlen(prefix));

	hash = series_key_text(hash, p->row->name);
	for (int i = 0; i < SERIES_LABELS && p->row->label[i].name; i++) {
		if (!p->label[i])
			continue;
		hash = series_key_text(hash, p->row->label[i].name);
		hash = series_key_text(hash, series_text(s, p->label[i]));
	}
	if (p->resource >= s->nresources)
		return hash;
	hash = series_key_text(hash, s->resource[p->resource].type);
	for (int i = 0; i < SERIES_LABELS && s->resource[p->resource].name[i]; i++) {
		hash = series_key_text(hash, s->resource[p->resource].name[i]);
		hash = series_key_text(hash, series_text(s, s->resource[p->resource].value[i]));
	}
	return hash;
}

static bool series_distribution_fits(const struct series_distribution *d)
{
	uint64_t sum = 0;

	if (!isfinite(d->mean) || d->nbounds >= SERIES_BUCKETS || !d->nbounds ||
	    d->count > INT64_MAX)
		return false;
	if (!d->count && d->mean != 0)
		return false;
	for (uint32_t i = 0; i < d->nbounds; i++) {
		if (!isfinite(d->bounds[i]) || (i && d->bounds[i] <= d->bounds[i - 1]))
			return false;
	}
	for (uint32_t i = 0; i <= d->nbounds; i++) {
		if (__builtin_add_overflow(sum, d->buckets[i], &sum))
			return false;
	}
	return sum == d->count;
}

static bool series_value_fits(const struct series_set *s, const struct series *p)
{
	bool cumulative = p->row->kind == SERIES_CUMULATIVE;

	switch (p->row->value) {
	case SERIES_INT64:
		return !cumulative || p->value.i64 >= 0;
	case SERIES_DOUBLE:
		return isfinite(p->value.real) && (!cumulative || p->value.real >= 0);
	case SERIES_BOOL:
		return !cumulative;
	case SERIES_DISTRIBUTION:
		return p->value.distribution < s->ndistributions &&
		       series_distribution_fits(&s->distribution[p->value.distribution]);
	}
	return false;
}

bool series_fit(const struct series_set *s, const struct series *p)
{
	if (s->text.failed || p->resource >= s->nresources || p->end_ns <= 0)
		return false;
	if (p->row->kind == SERIES_GAUGE ? p->start_ns != 0
					 : p->start_ns <= 0 || p->start_ns >= p->end_ns)
		return false;
	return series_value_fits(s, p);
}
