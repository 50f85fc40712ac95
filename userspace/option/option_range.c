/* SPDX-License-Identifier: Apache-2.0 */
/* option_range.c - the option --range MATCH=BUCKET: counts time within named ranges of a job in a
 * bucket that the user chooses. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/model/time/range.h"
#include "userspace/option/option.h"

/* Writes an item MATCH=BUCKET as "BUCKET MATCH", the form that the model reads; "" if there is no
 * '='. MATCH may contain '=' and ends at the last one. */
static const char *range_text(const char *item, char out[OPTION_RANGE_MAX])
{
	const char *eq = strrchr(item, '=');

	*out = '\0';
	if (eq && strlen(item) < OPTION_RANGE_MAX)
		snprintf(out, OPTION_RANGE_MAX, "%s %.*s", eq + 1, (int)(eq - item), item);
	return out;
}

int options_ranges(const struct options *o)
{
	struct range_rules rules = {0};
	char text[OPTION_RANGE_MAX];

	for (int i = 0; i < o->ranges.count; i++) {
		const char *item = o->ranges.item[i];
		int err = range_rules_add(&rules, range_text(item, text));

		if (err == -E2BIG)
			log_error("--range: more than %d ranges, or more than %d custom types",
				  RANGES_MAX, LEDGER_TYPES - 1);
		else if (err)
			log_error(
				"--range: '%s': expected MATCH=BUCKET, with a bucket like EVAL, DATA_LOADING_SYNC or CUSTOM_BADPUT_EVENTS.TYPE",
				item);
		if (err)
			return -EINVAL;
	}
	return 0;
}

void options_ranges_say(const struct options *o, option_say_fn *say, void *ctx)
{
	char text[OPTION_RANGE_MAX];

	if (!o->ranges.count && !o->durable)
		return;
	/* The number of items is passed first. The model then drops the items that an earlier
	 * gp-bpf process had passed. */
	snprintf(text, sizeof(text), "%d", o->ranges.count);
	say(ctx, "ranges", text);
	for (int i = 0; i < o->ranges.count; i++)
		say(ctx, "range", range_text(o->ranges.item[i], text));
}

int options_range_file(struct option_range_file *f, const char *key, const char *value, char *ret,
		       size_t len)
{
	char *at = !strcmp(key, "match") ? f->match : f->bucket;

	if (*at || !*value || strlen(value) >= sizeof(f->match))
		return -EINVAL;
	snprintf(at, sizeof(f->match), "%s", value);
	if (!*f->match || !*f->bucket)
		return 0;
	snprintf(ret, len, "%s=%s", f->match, f->bucket);
	*f->match = *f->bucket = '\0';
	return 1;
}
