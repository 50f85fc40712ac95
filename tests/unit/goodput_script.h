/* SPDX-License-Identifier: Apache-2.0 */
/* Small logs as text, for tests of what a log means. Words end with ';', times are seconds from T0:
 *   start T  end T  init A B  prep A B  load A B  step N T  steps N M T EACH (N to M, T the
 * first's) save T LENGTH  restore T LENGTH  custom X A B  begin X A  finish X B  wait X A B  reinit
 * A B slices T ACTIVE TOTAL AVAILABLE  lost X A: init, prep, load without an end  raw NUMBER
 * MICROSECONDS: a step X: a name of one capital letter; waits for U are scale-ups. */
#ifndef TESTS_UNIT_GOODPUT_SCRIPT_H
#define TESTS_UNIT_GOODPUT_SCRIPT_H

#include <stdio.h>
#include <string.h>

#include "userspace/account/log/job_log.h"

#define T0_US 1735725600000000ll

#define assert_seconds(a, b) script_seconds((a), (b), __FILE__, __LINE__)

static inline void script_seconds(double a, double b, const char *file, int line)
{
	double off = a > b ? a - b : b - a;

	if (off > 1e-6)
		print_error("%f is not %f\n", a, b);
	_assert_true(off <= 1e-6, "seconds", file, line);
}

typedef int script_fn(void *ctx, const struct goodput_record *r);

static inline bool script_scale_up(void *ctx, uint32_t name)
{
	(void)ctx;
	return name == 'U' - '@';
}

static inline int64_t script_us(double s)
{
	return T0_US + (int64_t)(s * 1e6 + (s < 0 ? -0.5 : 0.5));
}

static inline struct goodput_record script_record(uint8_t kind, double at)
{
	int64_t us = script_us(at);

	return (struct goodput_record){.write_us = us,
				       .time_us = us,
				       .number = GOODPUT_UNKNOWN,
				       .duration_us = GOODPUT_UNKNOWN,
				       .job = 1,
				       .kind = kind};
}

static inline int script_word(const char *word, script_fn *fn, void *ctx)
{
	static const struct {
		const char *name;
		uint8_t kind;
	} pairs[] = {{"init", GOODPUT_INIT_START},     {"prep", GOODPUT_PREP_START},
		     {"load", GOODPUT_LOAD_START},     {"reinit", GOODPUT_ELASTIC_REINIT_START},
		     {"custom", GOODPUT_CUSTOM_START}, {"wait", GOODPUT_ELASTIC_WAIT_START},
		     {"begin", GOODPUT_CUSTOM_START},  {"finish", GOODPUT_CUSTOM_END}};
	struct goodput_record r;
	double v[4] = {0};
	char name[16], x = '@';
	int n, err = 0, used = 0;

	if (sscanf(word, " %15s%n", name, &used) != 1)
		return 0;
	if (sscanf(word + used, " %c", &x) == 1 && x >= 'A' && x <= 'Z')
		used = (int)(strchr(word + used, x) - word) + 1;
	else
		x = '@';
	n = sscanf(word + used, "%lf%lf%lf%lf", &v[0], &v[1], &v[2], &v[3]);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (strcmp(name, pairs[i].name) != 0)
			continue;
		r = script_record(pairs[i].kind, v[0]);
		r.name = (uint32_t)(x - '@');
		err = fn(ctx, &r);
		r = script_record(pairs[i].kind + 1, v[1]);
		r.name = (uint32_t)(x - '@');
		return err || n < 2 ? err : fn(ctx, &r);
	}
	if (!strcmp(name, "steps")) {
		for (double k = v[0]; k <= v[1] && !err; k++) {
			r = script_record(GOODPUT_STEP, v[2] + (k - v[0]) * v[3]);
			r.number = (int64_t)k;
			err = fn(ctx, &r);
		}
		return err;
	}
	if (!strcmp(name, "lost")) {
		r = script_record(x == 'I'   ? GOODPUT_INIT_START
				  : x == 'P' ? GOODPUT_PREP_START
					     : GOODPUT_LOAD_START,
				  v[0]);
	} else if (!strcmp(name, "step") || !strcmp(name, "raw")) {
		r = script_record(GOODPUT_STEP, v[1]);
		r.number = (int64_t)v[0];
		if (name[0] == 'r')
			r.time_us = r.write_us = (int64_t)v[1];
	} else if (!strcmp(name, "save") || !strcmp(name, "restore")) {
		r = script_record(name[0] == 's' ? GOODPUT_SAVE : GOODPUT_RESTORE, v[0]);
		if (n > 1)
			r.duration_us = (int64_t)(v[1] * 1e6);
	} else if (!strcmp(name, "slices")) {
		r = script_record(GOODPUT_SLICES, v[0]);
		r.active = (uint32_t)v[1];
		r.total = (uint32_t)v[2];
		r.available = (uint32_t)v[3];
	} else {
		r = script_record(!strcmp(name, "start") ? GOODPUT_JOB_START : GOODPUT_JOB_END,
				  v[0]);
	}
	return fn(ctx, &r);
}

static inline int script_tell(const char *script, script_fn *fn, void *ctx)
{
	char word[128];
	int err = 0;

	while (*script && !err) {
		size_t len = strcspn(script, ";");

		snprintf(word, sizeof(word), "%.*s", (int)len, script);
		err = script_word(word, fn, ctx);
		script += len + (script[len] == ';');
	}
	return err;
}

#endif
