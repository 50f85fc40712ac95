/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/ingest/goodput_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "userspace/base/hash.h"
#include "userspace/base/table.h"

struct name {
	struct name *same_hash;
	uint32_t number;
	uint32_t len;
	char text[];
};

struct goodput_names {
	struct table *by_hash;
	struct name **by_number; /* by number, from 1 */
	uint32_t count, cap;
	/* The name that was found last: most records have the same job as the previous record. */
	const struct name *last;
	uint64_t seed, refused;
};

/* Returns a random seed for hashes, so that the names in a log cannot be chosen to have equal
 * hashes. */
static uint64_t names_seed(void)
{
	const char *random = (const char *)getauxval(AT_RANDOM);
	uint64_t seed = 0;

	if (random)
		memcpy(&seed, random + 8, sizeof(seed));
	return seed;
}

struct goodput_names *goodput_names_new(void)
{
	struct goodput_names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->seed = names_seed();
	n->by_hash = table_new();
	if (!n->by_hash) {
		free(n);
		return NULL;
	}
	return n;
}

void goodput_names_free(struct goodput_names *n)
{
	if (!n)
		return;
	for (uint32_t i = 0; i < n->count; i++)
		free(n->by_number[i]);
	free(n->by_number);
	table_free(n->by_hash, NULL);
	free(n);
}

static bool name_is(const struct name *name, const char *text, size_t len)
{
	return name->len == len && !memcmp(name->text, text, len);
}

static int names_grow(struct goodput_names *n)
{
	uint32_t cap = n->cap ? 2 * n->cap : 16;
	struct name **grown;

	if (n->count < n->cap)
		return 0;
	grown = realloc(n->by_number, cap * sizeof(*grown));
	if (!grown)
		return -1;
	n->by_number = grown;
	n->cap = cap;
	return 0;
}

/* Adds a name. Returns NULL if there are too many names, or no memory. */
static struct name *goodput_names_insert(struct goodput_names *n, uint64_t hash,
					 struct name *same_hash, const char *text, size_t len)
{
	struct name *name;

	if (n->count == GOODPUT_NAMES_MAX || names_grow(n))
		return NULL;
	name = malloc(sizeof(*name) + len + 1);
	if (!name)
		return NULL;
	name->same_hash = same_hash;
	name->number = n->count + 1;
	name->len = (uint32_t)len;
	memcpy(name->text, text, len);
	name->text[len] = '\0';
	if (table_put(n->by_hash, hash, name)) {
		free(name);
		return NULL;
	}
	n->by_number[n->count++] = name;
	return name;
}

uint32_t goodput_names_put(struct goodput_names *n, const char *text, size_t len)
{
	struct name *first, *name;
	uint64_t hash;

	len = strnlen(text, len < GOODPUT_NAME_MAX - 1 ? len : GOODPUT_NAME_MAX - 1);
	if (n->last && name_is(n->last, text, len))
		return n->last->number;
	hash = hash_bytes(HASH_START ^ n->seed, text, len);
	first = table_get(n->by_hash, hash);
	for (name = first; name && !name_is(name, text, len); name = name->same_hash)
		;
	if (!name)
		name = goodput_names_insert(n, hash, first, text, len);
	if (!name) {
		n->refused++;
		return GOODPUT_NAMES_MORE;
	}
	n->last = name;
	return name->number;
}

const char *goodput_name(const struct goodput_names *n, uint32_t number)
{
	return number && number <= n->count ? n->by_number[number - 1]->text : "(more names)";
}

uint64_t goodput_names_refused(const struct goodput_names *n)
{
	return n->refused;
}
