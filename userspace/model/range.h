/* SPDX-License-Identifier: Apache-2.0 */
/* range.h - which named ranges of a job are time of which bucket, as the user says. Pure, bounded.
 *
 * A rule is "BUCKET MATCH". MATCH is a whole name, with * for any text and ? for any byte. BUCKET
 * is EVAL, a bucket that time is spent in (DATA_LOADING_SYNC, TRAINING_PREP, ...; not what is
 * concluded: GOODPUT, OTHER, HANG, UNOBSERVED, what disruptions cost), or
 * CUSTOM_BADPUT_EVENTS.TYPE: letters, digits and _, told in capitals.
 */
#ifndef MODEL_RANGE_H
#define MODEL_RANGE_H

#include <stdbool.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"
#include "userspace/model/ledger.h"

#define RANGES_MAX 32

struct range_rule {
	char match[GP_NAME_MAX];
	enum bucket bucket;
	uint32_t type; /* of BUCKET_CUSTOM: number of its name */
};

struct range_rules {
	struct range_rule rule[RANGES_MAX];
	uint32_t count;
	struct type_names types; /* numbers stay: ledgers know them */
};

/* 0; -EINVAL: no rule; -E2BIG: one too many, of rules or of types. A rule of the same MATCH gives
 * way. */
int range_rules_add(struct range_rules *rules, const char *text);
/* The first that matches, or NULL. */
const struct range_rule *range_rules_find(const struct range_rules *rules, const char *name);
bool range_matches(const char *match, const char *name);
void range_rules_archive(struct archive *a, struct range_rules *rules);

#endif
