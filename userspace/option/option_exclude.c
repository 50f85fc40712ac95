/* SPDX-License-Identifier: Apache-2.0 */
/* option_exclude.c - the option --exclude FROM,TO,WHY: time spans that reports exclude. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/model/time/exclusion.h"
#include "userspace/option/option.h"

#define NS_PER_US 1000

int option_exclude(const char *item, int64_t now_ns, int64_t *ret_from_ns, int64_t *ret_to_ns,
		   const char **ret_why)
{
	const char *to = strchr(item, ','), *why = to ? strchr(to + 1, ',') : NULL;
	char from_text[48], to_text[48];

	if (!why || !why[1] || (size_t)(to - item) >= sizeof(from_text) ||
	    (size_t)(why - to - 1) >= sizeof(to_text))
		return -EINVAL;
	snprintf(from_text, sizeof(from_text), "%.*s", (int)(to - item), item);
	snprintf(to_text, sizeof(to_text), "%.*s", (int)(why - to - 1), to + 1);
	if (option_instant(from_text, now_ns, ret_from_ns) ||
	    option_instant(to_text, now_ns, ret_to_ns) || *ret_to_ns <= *ret_from_ns ||
	    *ret_from_ns < 0)
		return -EINVAL;
	*ret_why = why + 1;
	return 0;
}

/* Returns an item FROM,TO,WHY with the times as seconds since the epoch, with six decimals. The
 * caller frees it. */
static char *option_exclude_absolute(int64_t from_ns, int64_t to_ns, const char *why)
{
	long long from_us = from_ns / NS_PER_US, to_us = to_ns / NS_PER_US;
	char text[OPTION_EXCLUDE_MAX];

	snprintf(text, sizeof(text), "%lld.%06lld,%lld.%06lld,%s", from_us / 1000000,
		 from_us % 1000000, to_us / 1000000, to_us % 1000000, why);
	return strdup(text);
}

/* Checks the values of --exclude, and replaces times that are relative to now ("2h") by absolute
 * ones. */
int options_excludes(struct options *o)
{
	int64_t now_ns = clock_real_ns(), from_ns, to_ns;
	const char *why;
	char *text;

	if (o->excludes.count > EXCLUSIONS_MAX) {
		log_error("--exclude: too many times; at most %d can be excluded", EXCLUSIONS_MAX);
		return -EINVAL;
	}
	for (int i = 0; i < o->excludes.count; i++) {
		char **item = &o->excludes.item[i];

		if (option_exclude(*item, now_ns, &from_ns, &to_ns, &why)) {
			log_error(
				"--exclude: '%s': expected FROM,TO,WHY with FROM before TO, both like "
				"2026-11-21T12:00:00Z, epoch seconds, 2h (ago) or now",
				*item);
			return -EINVAL;
		}
		text = option_exclude_absolute(from_ns, to_ns, why);
		if (!text)
			return -ENOMEM;
		free(*item);
		*item = text;
	}
	return 0;
}

void options_excludes_say(const struct options *o, option_say_fn *say, void *ctx)
{
	int64_t from_ns, to_ns;
	const char *why;
	char text[64];

	if (!o->excludes.count && !o->durable)
		return;
	/* The number of items is passed first. The model then drops the items that an earlier
	 * gp-bpf process had passed. */
	snprintf(text, sizeof(text), "%d", o->excludes.count);
	say(ctx, "excludes", text);
	for (int i = 0; i < o->excludes.count; i++) {
		if (option_exclude(o->excludes.item[i], 0, &from_ns, &to_ns, &why))
			continue;
		snprintf(text, sizeof(text), "%lld %lld", (long long)from_ns, (long long)to_ns);
		say(ctx, "exclude", text);
	}
}

static int option_exclude_part_take(char *at, size_t cap, const char *value)
{
	if (*at || !*value || strlen(value) >= cap)
		return -EINVAL;
	memcpy(at, value, strlen(value) + 1);
	return 0;
}

int options_exclude_file(struct option_exclude_file *f, const char *key, const char *value,
			 char *ret, size_t len)
{
	int64_t from_ns, to_ns;
	const char *why;
	int err = !strcmp(key, "from") ? option_exclude_part_take(f->from, sizeof(f->from), value)
		  : !strcmp(key, "to") ? option_exclude_part_take(f->to, sizeof(f->to), value)
				       : option_exclude_part_take(f->why, sizeof(f->why), value);

	if (err || !*f->from || !*f->to || !*f->why)
		return err;
	snprintf(ret, len, "%s,%s,%s", f->from, f->to, f->why);
	memset(f, 0, sizeof(*f));
	return option_exclude(ret, clock_real_ns(), &from_ns, &to_ns, &why) ? -EINVAL : 1;
}
