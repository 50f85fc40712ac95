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

int sum_names_add(struct sum_names *n, const char *name, int64_t id)
{
	uint32_t i = 0;

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
}

/* What comes out of a file may be anything: it wraps, and is not undefined. */
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

void sums_write(const struct sums *s, const struct sum_names *n, struct buffer *out)
{
	for (uint32_t i = 0; i < n->count; i++) {
		if (!s->ns[i])
			continue;
		varint_write(out, (uint64_t)n->id[i]);
		varint_write(out, zigzag(s->ns[i]));
	}
}

static uint32_t slot_of(const struct sum_names *n, int64_t id)
{
	uint32_t i = 0;

	while (i < n->count && n->id[i] != id)
		i++;
	return i;
}

int sums_read(struct sums *ret, const struct sum_names *n, const void *data, size_t len)
{
	struct varint_reader r = {data, (const unsigned char *)data + len, false};
	struct sums s = {0};

	while (r.at != r.end) {
		uint64_t id = varint_read(&r);
		int64_t ns = unzigzag(varint_read(&r));
		uint32_t slot = id && id <= INT64_MAX ? slot_of(n, (int64_t)id) : SUMS_SLOTS;

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
