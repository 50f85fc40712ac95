/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/store/sums.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/store/varint.h"

void sum_names_init(struct sum_names *n)
{
	memset(n, 0, sizeof(*n));
	for (int b = 0; b < BUCKET_COUNT; b++)
		snprintf(n->name[n->count++], SUMS_NAME_MAX, "%s", bucket_name[b]);
}

void sum_names_reserve(struct sum_names *n)
{
	n->count = SUMS_TYPE(LEDGER_TYPES);
}

void sum_name_of_type(char out[SUMS_NAME_MAX], const char *type)
{
	snprintf(out, SUMS_NAME_MAX, "%s.%.*s", bucket_name[BUCKET_CUSTOM], LEDGER_TYPE_MAX - 1,
		 type);
}

void sum_names_type(struct sum_names *n, uint32_t type, const char *name)
{
	uint32_t slot = SUMS_TYPE(type);
	char full[SUMS_NAME_MAX];

	if (!type || type >= LEDGER_TYPES || *n->name[slot])
		return;
	sum_name_of_type(full, name);
	for (uint32_t i = SUMS_TYPE(LEDGER_TYPES); i < n->count; i++) {
		if (strcmp(n->name[i], full) != 0)
			continue;
		n->id[slot] = n->id[i];
		n->id[i] = 0;
		*n->name[i] = '\0';
	}
	memcpy(n->name[slot], full, sizeof(full));
}

int sum_names_add(struct sum_names *n, const char *name, int64_t id)
{
	uint32_t i = 0;

	if (!*name) /* "" marks a free slot, so an empty name is replaced */
		name = "?";
	while (i < n->count && strcmp(n->name[i], name) != 0)
		i++;
	if (i == SUMS_SLOTS)
		return -ENOSPC;
	if (i == n->count)
		snprintf(n->name[n->count++], SUMS_NAME_MAX, "%s", name);
	n->id[i] = id;
	return 0;
}

void sums_of_ledger(struct sums *ret, const struct ledger_view *v)
{
	memset(ret, 0, sizeof(*ret));
	for (int b = 0; b < BUCKET_COUNT; b++)
		ret->ns[b] = (int64_t)v->ns[b];
	for (uint32_t i = 0; i < v->ntypes; i++) {
		const struct ledger_type *t = &v->types[i];

		if (t->name == LEDGER_REST || t->name >= LEDGER_TYPES)
			continue;
		ret->ns[SUMS_TYPE(t->name)] += (int64_t)t->ns;
		ret->ns[BUCKET_CUSTOM] -= (int64_t)t->ns;
	}
}

/* Adds the times in `more` to those in `into`. Values from a file may be arbitrary, so they are
 * added as unsigned numbers: an overflow wraps instead of being undefined. */
void sums_add(struct sums *into, const struct sums *more)
{
	for (int i = 0; i < SUMS_SLOTS; i++)
		into->ns[i] = (int64_t)((uint64_t)into->ns[i] + (uint64_t)more->ns[i]);
}

void sums_take(struct sums *from, const struct sums *less)
{
	for (int i = 0; i < SUMS_SLOTS; i++)
		from->ns[i] = (int64_t)((uint64_t)from->ns[i] - (uint64_t)less->ns[i]);
}

int64_t sums_total(const struct sums *s)
{
	uint64_t sum = 0;

	for (int i = 0; i < SUMS_SLOTS; i++)
		sum += (uint64_t)s->ns[i];
	return (int64_t)sum;
}

static void sums_pair_write(struct buffer *out, int64_t id, int64_t ns)
{
	if (!ns)
		return;
	varint_write(out, (uint64_t)id);
	varint_write(out, zigzag(ns));
}

void sums_write(const struct sums *s, const struct sum_names *n, struct buffer *out)
{
	uint64_t custom_ns = (uint64_t)s->ns[BUCKET_CUSTOM];

	for (uint32_t i = BUCKET_COUNT; i < SUMS_SLOTS; i++)
		if (i >= n->count || !n->id[i])
			custom_ns += (uint64_t)s->ns[i];
	for (uint32_t i = 0; i < n->count; i++)
		if (i == BUCKET_CUSTOM)
			sums_pair_write(out, n->id[i], (int64_t)custom_ns);
		else if (n->id[i])
			sums_pair_write(out, n->id[i], s->ns[i]);
}

static uint32_t sums_slot_of(const struct sum_names *n, int64_t id)
{
	uint32_t i = 0;

	while (i < n->count && n->id[i] != id)
		i++;
	return i;
}

int sums_read(struct sums *ret, const struct sum_names *n, const void *data, size_t len)
{
	struct varint_reader r = varint_reader_of(data, len);
	struct sums s = {0};

	while (r.at != r.end) {
		uint64_t id = varint_read(&r);
		int64_t ns = unzigzag(varint_read(&r));
		uint32_t slot = id && id <= INT64_MAX ? sums_slot_of(n, (int64_t)id) : SUMS_SLOTS;

		if (r.failed || !id || id > INT64_MAX)
			return -EBADMSG;
		if (slot == n->count && n->count < SUMS_SLOTS)
			return -ENOENT;
		slot = slot < SUMS_SLOTS ? slot : BUCKET_OTHER;
		s.ns[slot] = (int64_t)((uint64_t)s.ns[slot] + (uint64_t)ns);
	}
	*ret = s;
	return 0;
}
