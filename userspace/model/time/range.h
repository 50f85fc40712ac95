/* SPDX-License-Identifier: Apache-2.0 */
/* range.h - the user's rules that book the time of named ranges of a job to a bucket. Pure,
 * bounded.
 *
 * A rule is "BUCKET MATCH". MATCH is a whole name, with * for any text and ? for any byte. BUCKET
 * is EVAL, another bucket in which time is spent (DATA_LOADING_SYNC, TRAINING_PREP, ...), or
 * CUSTOM_BADPUT_EVENTS.TYPE. TYPE consists of letters, digits and _, and is exported in capitals.
 * Buckets that gp-bpf derives itself are not allowed: GOODPUT, OTHER, HANG, UNOBSERVED, costs of
 * disruptions. */
#ifndef MODEL_RANGE_H
#define MODEL_RANGE_H

#include <stdbool.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"
#include "userspace/model/time/ledger.h"

#define RANGES_MAX 32

struct range_rule {
	char match[GP_NAME_MAX];
	enum bucket bucket;
	uint32_t type; /* number of the type, for BUCKET_CUSTOM */
};

struct range_rules {
	struct range_rule rule[RANGES_MAX];
	uint32_t count;
	/* names of the types in rules; the number of a name never changes, because ledgers contain
	 * it */
	struct type_names types;
};

/* Adds a rule; replaces one with the same MATCH. Returns 0, -EINVAL (invalid rule) or -E2BIG (too
 * many rules or types). */
int range_rules_add(struct range_rules *rules, const char *text);
/* Returns the first rule that matches, or NULL. */
const struct range_rule *range_rules_find(const struct range_rules *rules, const char *name);
bool range_matches(const char *match, const char *name);
void range_rules_archive(struct archive *a, struct range_rules *rules);

#endif
