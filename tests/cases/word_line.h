/* SPDX-License-Identifier: Apache-2.0 */
/* word_line.h - words of a .case file for samples of Python lines. */
#ifndef TESTS_CASES_WORD_LINE_H
#define TESTS_CASES_WORD_LINE_H

#include "tests/cases/device.h"

/* line D FILE LINE FUNCTION HOW SHARE: ten times a second for D, SHARE percent of the samples are
 * at that line, the others in no code of the user's own. HOW: runs, sleeps, or the function of a
 * package in which the thread waits. */
static inline void word_line(struct script *s, const struct move *m)
{
	uint64_t share = move_number(m, 6, 100), sum = 50;
	const char *how = m->argc > 5 ? m->argv[5] : "runs";
	bool runs = !strcmp(how, "runs"), own = runs || !strcmp(how, "sleeps");

	for (uint64_t ns = 0; ns < move_length(m); ns += 100000000) {
		struct gp_line *l = script_add(s, GP_KIND_line, m->at_ns + ns, script_pid(s), -1);

		l->at_ns = ((struct gp_rec *)l - 1)->ts_ns;
		l->span_us = 100000;
		l->state = GP_LINE_WAITS;
		snprintf(l->inner_function, sizeof(l->inner_function), "wait");
		sum += share;
		if (sum < 100 || m->argc < 5)
			continue;
		sum -= 100;
		l->state = runs ? GP_LINE_RUNS : own ? GP_LINE_SLEEPS : GP_LINE_WAITS;
		l->flags = own ? GP_LINE_OWN : GP_LINE_PACKAGE;
		l->flags |= runs ? GP_LINE_GIL : 0;
		l->line = (uint32_t)move_number(m, 3, 0);
		snprintf(l->file, sizeof(l->file), "%s", m->argv[2]);
		snprintf(l->function, sizeof(l->function), "%s", m->argv[4]);
		snprintf(l->inner_function, sizeof(l->inner_function), "%s",
			 own ? m->argv[4] : how);
	}
}

#endif
