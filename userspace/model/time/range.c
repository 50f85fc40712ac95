/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/range.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char custom[] = "CUSTOM_BADPUT_EVENTS.";

/* On a mismatch, the text that the last * matches is extended by one byte, and the comparison
 * continues after that text. The time is at most proportional to the product of both lengths. */
bool range_matches(const char *match, const char *name)
{
	const char *star = NULL, *from = NULL;

	while (*name) {
		if (*match == '*') {
			star = match++;
			from = name;
		} else if (*match == '?' || *match == *name) {
			match++;
			name++;
		} else if (star) {
			match = star + 1;
			name = ++from;
		} else {
			return false;
		}
	}
	return !match[strspn(match, "*")];
}

static bool range_bucket_spent(enum bucket b)
{
	return bucket_use[b] & BUCKET_USE_RANGE;
}

static int range_bucket_find(const char *word, enum bucket *ret)
{
	for (int b = 0; b < BUCKET_COUNT; b++) {
		if (range_bucket_spent((enum bucket)b) && !strcmp(word, bucket_name[b])) {
			*ret = (enum bucket)b;
			return 0;
		}
	}
	return -EINVAL;
}

static int range_type_number(struct type_names *types, const char *name, uint32_t *ret)
{
	if (!*name || strlen(name) >= LEDGER_TYPE_MAX ||
	    name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")])
		return -EINVAL;
	for (uint32_t i = 1; i < LEDGER_TYPES; i++) {
		if (!*types->name[i])
			snprintf(types->name[i], LEDGER_TYPE_MAX, "%s", name);
		if (!strcmp(types->name[i], name)) {
			*ret = i;
			return 0;
		}
	}
	return -E2BIG;
}

/* Converts ASCII letters to capitals, independent of the locale. */
static void range_uppercase(char *text)
{
	for (; *text; text++)
		*text = (char)(*text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text);
}

static int range_rule_parse(struct type_names *types, const char *text, struct range_rule *ret)
{
	size_t len = strcspn(text, " ");
	char word[96];

	if (!len || len >= sizeof(word) || !text[len] || !text[len + 1] ||
	    strlen(text + len + 1) >= sizeof(ret->match))
		return -EINVAL;
	snprintf(word, sizeof(word), "%.*s", (int)len, text);
	snprintf(ret->match, sizeof(ret->match), "%s", text + len + 1);
	range_uppercase(word);
	ret->type = 0;
	ret->bucket = BUCKET_EVAL;
	if (!strcmp(word, "EVAL") || !range_bucket_find(word, &ret->bucket))
		return 0;
	ret->bucket = BUCKET_CUSTOM;
	return strncmp(word, custom, sizeof(custom) - 1) != 0
		       ? -EINVAL
		       : range_type_number(types, word + sizeof(custom) - 1, &ret->type);
}

int range_rules_add(struct range_rules *rules, const char *text)
{
	struct range_rule rule;
	uint32_t i = 0;
	int err = range_rule_parse(&rules->types, text, &rule);

	if (err)
		return err;
	while (i < rules->count && strcmp(rules->rule[i].match, rule.match) != 0)
		i++;
	if (i == RANGES_MAX)
		return -E2BIG;
	rules->rule[i] = rule;
	rules->count += i == rules->count;
	return 0;
}

const struct range_rule *range_rules_find(const struct range_rules *rules, const char *name)
{
	for (uint32_t i = 0; i < rules->count; i++) {
		if (range_matches(rules->rule[i].match, name))
			return &rules->rule[i];
	}
	return NULL;
}

void range_rules_archive(struct archive *a, struct range_rules *rules)
{
	archive_below(a, &rules->count, RANGES_MAX + 1);
	for (uint32_t i = 0; i < rules->count; i++) {
		archive_field(a, rules->rule[i].match);
		archive_below(a, &rules->rule[i].bucket, BUCKET_GOODPUT);
		archive_below(a, &rules->rule[i].type, LEDGER_TYPES);
	}
	for (uint32_t i = 1; i < LEDGER_TYPES; i++)
		archive_field(a, rules->types.name[i]);
}
