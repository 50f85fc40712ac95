/* SPDX-License-Identifier: Apache-2.0 */
/* word_monitor.h - monitor NAME [KEY=VALUE...] [of N] [lost I]: an event of the job's own
 * monitoring, a record each microsecond. A value with a point is a double (nan and inf too), of
 * digits an integer, true and false are bools, all else is text. It had N entries, of which these
 * are the first; the record of entry I is lost. */
#ifndef TESTS_CASES_WORD_MONITOR_H
#define TESTS_CASES_WORD_MONITOR_H

#include "tests/cases/script.h"

static inline void monitor_value_of(struct gp_monitor *rec, const char *text)
{
	double real;
	char *end;

	if (!strcmp(text, "true") || !strcmp(text, "false")) {
		rec->type = GP_MONITOR_BOOL;
		rec->value = *text == 't';
		return;
	}
	rec->type = GP_MONITOR_INT;
	rec->value = (__u64)strtoll(text, &end, 10);
	if (*text && !*end)
		return;
	rec->type = GP_MONITOR_DOUBLE;
	real = strtod(text, &end);
	memcpy(&rec->value, &real, sizeof(real));
	if (*text && !*end)
		return;
	rec->type = GP_MONITOR_TEXT;
	rec->value = 0;
	snprintf(rec->text, sizeof(rec->text), "%s", text);
}

static inline void word_monitor(struct script *s, uint64_t at_ns, int argc, char **argv)
{
	uint32_t entries = 0, count = 0, lost = UINT32_MAX;

	for (int i = 2; i < argc; i++) {
		entries += !!strchr(argv[i], '=');
		if (i + 1 < argc && !strcmp(argv[i], "of"))
			count = (uint32_t)atoi(argv[i + 1]);
		if (i + 1 < argc && !strcmp(argv[i], "lost"))
			lost = (uint32_t)atoi(argv[i + 1]);
	}
	count = count ? count : entries;
	for (uint32_t i = 0, arg = 2; i < entries || !i; i++, arg++) {
		struct gp_monitor *rec;
		size_t len;

		while (entries && !strchr(argv[arg], '='))
			arg++;
		if (i == lost)
			continue;
		rec = script_add(s, GP_KIND_monitor, at_ns + 1000ull * i, 1000 * s->pid, P_MONITOR);
		rec->wall_ns = SCRIPT_REAL_NS + (int64_t)at_ns;
		rec->index = (__u16)i;
		rec->count = (__u16)count;
		snprintf(rec->event, sizeof(rec->event), "%s", argc > 1 ? argv[1] : "");
		if (!entries)
			continue;
		len = strcspn(argv[arg], "=");
		snprintf(rec->key, sizeof(rec->key), "%.*s", (int)len, argv[arg]);
		monitor_value_of(rec, argv[arg] + len + 1);
	}
}

#endif
