/* SPDX-License-Identifier: Apache-2.0 */
/* probe_names.c - a quick test whether a probe row is for a file name: most names are excluded by
 * their first letters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loader/probe/probe_match.h"
#include "loader/probe/probe_names.h"
#include "userspace/base/log.h"

struct probe_names {
	const struct probe_table *probes;
	struct gp_prefix prefix[GP_PREFIXES_MAX];
	size_t count;
};

void probe_prefix(const char *glob, struct gp_prefix *ret)
{
	size_t len = strcspn(glob, "*?[\\");

	*ret = (struct gp_prefix){0};
	if (len > GP_PREFIX_BYTES)
		len = GP_PREFIX_BYTES;
	memcpy(ret->text, glob, len);
	memset(ret->mask, 0xff, len);
}

static bool probe_names_prefix_matches(const struct gp_prefix *p, const uint64_t text[2])
{
	return (text[0] & p->mask[0]) == p->text[0] && (text[1] & p->mask[1]) == p->text[1];
}

static int probe_names_add_glob(struct probe_names *n, const char *glob)
{
	struct gp_prefix p;

	probe_prefix(glob, &p);
	if (strcspn(glob, "*?[\\") < PROBE_PREFIX_LEAST) {
		log_warn(
			"libraries: '%s': a wildcard is among the first %d letters, so gp-bpf node does not find processes by these libraries",
			glob, PROBE_PREFIX_LEAST);
		return 0;
	}
	for (size_t i = 0; i < n->count; i++)
		if (!memcmp(&n->prefix[i], &p, sizeof(p)))
			return 0;
	if (n->count == GP_PREFIXES_MAX)
		return -E2BIG;
	n->prefix[n->count++] = p;
	return 0;
}

int probe_names_new(struct probe_names **ret, const struct probe_table *t)
{
	struct probe_names *n = calloc(1, sizeof(*n));
	int err = 0;

	if (!n)
		return -ENOMEM;
	n->probes = t;
	for (size_t i = 0; !err && i < probe_table_count(t); i++) {
		const struct probe_row *row = probe_table_row(t, i);

		for (size_t k = 0; !err && !row->follow && row->libraries && row->libraries[k]; k++)
			err = probe_names_add_glob(n, row->libraries[k]);
	}
	if (err == -E2BIG) /* use the prefixes added so far */
		log_warn(
			"probe files: the names of their libraries have more than %d different prefixes; gp-bpf node does not notice processes that use only the remaining libraries",
			GP_PREFIXES_MAX);
	*ret = n;
	return 0;
}

void probe_names_free(struct probe_names *n)
{
	free(n);
}

bool probe_names_have(const struct probe_names *n, const char *name)
{
	size_t rows[GP_ROWS_MAX];
	uint64_t text[2] = {0};
	bool begins = false;

	memcpy(text, name, strnlen(name, sizeof(text)));
	for (size_t i = 0; i < n->count && !begins; i++)
		begins = probe_names_prefix_matches(&n->prefix[i], text);
	return begins && probe_rows_for(n->probes, name, rows);
}

size_t probe_names_prefixes(const struct probe_names *n, const struct gp_prefix **ret)
{
	*ret = n->prefix;
	return n->count;
}
