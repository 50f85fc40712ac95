/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/command/account_query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/epoch.h"
#include "userspace/base/log.h"
#include "userspace/ingest/goodput_record.h"

static int query_time(const char *option, const char *text, size_t len, int64_t *ret_us)
{
	if (!epoch_parse(text, len, ret_us) && *ret_us <= GOODPUT_TIME_MAX_US)
		return 0;
	log_error(
		"--%s: '%.*s' is not a time: expected epoch seconds, or like 2025-01-01T10:00:00Z",
		option, (int)len, text);
	return -EINVAL;
}

static int query_span(const char *option, const char *text, struct goodput_span *ret)
{
	const char *comma = strchr(text, ',');
	int err;

	if (!comma) {
		log_error("--%s: '%s': expected two times: FROM,TO", option, text);
		return -EINVAL;
	}
	err = query_time(option, text, (size_t)(comma - text), &ret->from_us);
	if (!err)
		err = query_time(option, comma + 1, strlen(comma + 1), &ret->to_us);
	if (err || ret->from_us <= ret->to_us)
		return err;
	log_error("--%s: '%s' ends before it begins", option, text);
	return -EINVAL;
}

/* Parses the FROM,TO items of an option to an array, which account_query_free() frees. Returns 0;
 * -EINVAL after logging one line; -ENOMEM. */
static int query_spans(const char *option, const struct option_list *list,
		       const struct goodput_span **ret, size_t *ret_count)
{
	struct goodput_span *spans;
	int err = 0;

	if (!list->count)
		return 0;
	spans = calloc((size_t)list->count, sizeof(*spans));
	if (!spans)
		return -ENOMEM;
	for (int i = 0; !err && i < list->count; i++)
		err = query_span(option, list->item[i], &spans[i]);
	*ret = spans;
	*ret_count = (size_t)list->count;
	return err;
}

static int query_instants(const struct option_list *list, struct goodput_query *q)
{
	int64_t *at;
	int err = 0;

	if (!list->count)
		return 0;
	at = calloc((size_t)list->count, sizeof(*at));
	if (!at)
		return -ENOMEM;
	for (int i = 0; !err && i < list->count; i++)
		err = query_time("at", list->item[i], strlen(list->item[i]), &at[i]);
	q->at_us = at;
	q->at_count = (size_t)list->count;
	return err;
}

static int query_now(const char *text, int64_t *ret_us, bool *ret_clock)
{
	*ret_us = GOODPUT_UNKNOWN;
	*ret_clock = text && !strcmp(text, "now");
	if (!text || *ret_clock)
		return 0;
	return query_time("now", text, strlen(text), ret_us);
}

int account_query_read(struct goodput_query *ret, const struct options *o, bool *ret_clock)
{
	struct goodput_query q = {0};
	bool library = o->semantics && !strcmp(o->semantics, "library"), clock = false;
	int err = query_now(o->now, &q.now_us, &clock);

	q.elastic = o->calculator && !strcmp(o->calculator, "elastic");
	if (!err)
		err = query_spans("window", &o->spans, &q.windows, &q.window_count);
	if (!err)
		err = query_spans("exclude", &o->excludes, &q.excludes, &q.exclude_count);
	if (!err)
		err = query_instants(&o->ats, &q);
	if (!err && o->ideal_ns && o->ideal_ns < 1000) {
		log_error("--ideal: less than 1us: give a longer step time");
		err = -EINVAL;
	}
	if (err) {
		account_query_free(&q);
		return err;
	}
	q.semantics = library ? GOODPUT_LIBRARY : GOODPUT_CLOSED;
	q.ideal_us = (o->ideal_ns + 500) / 1000;
	*ret = q;
	*ret_clock = clock;
	return 0;
}

void account_query_free(struct goodput_query *q)
{
	free((void *)q->windows);
	free((void *)q->excludes);
	free((void *)q->at_us);
	*q = (struct goodput_query){0};
}
