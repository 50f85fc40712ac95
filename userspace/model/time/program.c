/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/program.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S    1e9
#define NS_PER_HOUR 3600e9

#define X(name) #name,
const char *const program_source_name[] = {PROGRAM_SOURCES(X)};
#undef X

static const struct {
	const char *key;
	size_t at;
} numbers[] = {
	{"flops", offsetof(struct program_config, flops)},
	{"samples", offsetof(struct program_config, samples)},
	{"tokens", offsetof(struct program_config, tokens)},
	{"peak_flops", offsetof(struct program_config, peak_flops)},
#define X(name) {"peak_" #name, offsetof(struct program_config, peaks[OPERATION_TYPE_##name])},
	OPERATION_TYPES(X)
#undef X
		{"price", offsetof(struct program_config, price)},
};
static const struct {
	const char *key;
	size_t at, len;
} texts[] = {
	{"currency", offsetof(struct program_config, currency),
	 sizeof(((struct program_config *)0)->currency)},
	{"accelerator", offsetof(struct program_config, accelerator),
	 sizeof(((struct program_config *)0)->accelerator)},
	{"perf_tag", offsetof(struct program_config, perf_tag), PROGRAM_TAG_MAX},
	{"session_tag", offsetof(struct program_config, session_tag), PROGRAM_TAG_MAX},
};

static double *program_number_at(struct program_config *c, size_t at)
{
	void *p = (char *)c + at;

	return p;
}

bool program_config_set(struct program_config *c, const char *key, const char *value)
{
	unsigned long n;
	double v;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (strcmp(key, numbers[i].key) != 0)
			continue;
		v = strtod(value, NULL);
		if (numbers[i].at == offsetof(struct program_config, peak_flops))
			memset(c->peaks, 0, sizeof(c->peaks));
		if (isfinite(v) && v > 0)
			*program_number_at(c, numbers[i].at) = v;
		return true;
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (strcmp(key, texts[i].key) != 0)
			continue;
		snprintf((char *)c + texts[i].at, texts[i].len, "%s", value);
		return true;
	}
	if (strcmp(key, "accelerators") != 0)
		return false;
	n = strtoul(value, NULL, 10);
	if (n && n <= PROGRAM_ACCELERATORS)
		c->accelerators = (uint32_t)n;
	return true;
}

void program_config_archive(struct archive *a, struct program_config *c)
{
	archive_struct(a, sizeof(*c));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		double *v = program_number_at(c, numbers[i].at);

		archive_field(a, *v);
		archive_require(a, isfinite(*v) && *v >= 0);
	}
	archive_fields(a, c, currency, accelerators);
	archive_require(a, c->accelerators <= PROGRAM_ACCELERATORS);
	archive_fields(a, c, accelerator, perf_tag, session_tag);
}

uint32_t program_accelerators(const struct program_config *c, bool seen)
{
	return c->accelerators ? c->accelerators : seen;
}

enum operation_type program_peak_type(const struct program_config *c, enum operation_type type)
{
	return type == OPERATION_TYPE_fp32 && c->peaks[OPERATION_TYPE_tf32] > 0
		       ? OPERATION_TYPE_tf32
		       : type;
}

bool program_peaks_differ(const struct program_config *c)
{
	bool any = false;

	for (int t = 0; t < OPERATION_TYPE_COUNT; t++)
		any |= c->peaks[t] > 0;
	return any;
}

double program_peak(const struct program_config *c, enum operation_type type)
{
	return program_peaks_differ(c) ? c->peaks[program_peak_type(c, type)] : c->peak_flops;
}

struct program_ideal { /* time (s) that a step needs at the peak; 0: unknown */
	double model_s, hardware_s;
};

static struct program_ideal program_ideal(const struct program_config *c,
					  const struct program_seen *s)
{
	double n = s->accelerators, ideal_s = 0, again_s = 0;

	if (!(n > 0))
		return (struct program_ideal){0};
	if (c->flops > 0)
		return (struct program_ideal){c->peak_flops > 0 ? c->flops / c->peak_flops / n : 0,
					      0};
	for (int t = 0; t < OPERATION_TYPE_COUNT; t++) {
		double peak = program_peak(c, (enum operation_type)t);

		if (s->operations.type[t] > 0 && !(peak > 0))
			return (struct program_ideal){0};
		if (s->operations.type[t] > 0) {
			ideal_s += s->operations.type[t] / peak / n;
			again_s += s->operations.again[t] / peak / n;
		}
	}
	return (struct program_ideal){
		s->operations.again_unknown > 0 ? 0 : fmax(0, ideal_s - again_s), ideal_s};
}

/* Fills *ret with the rates of n steps that took `ns`. */
static void program_rate_set(struct program_rate *ret, const struct program_config *c, double flops,
			     double n, uint64_t ns, const struct program_ideal *ideal)
{
	double per_s = ns ? n / ((double)ns / NS_PER_S) : 0;

	ret->samples = c->samples * per_s;
	ret->tokens = c->tokens * per_s;
	ret->flops = flops * per_s;
	ret->mfu = ideal->model_s * per_s;
	ret->hfu = ideal->hardware_s * per_s;
}

void program_view(const struct program_config *c, const struct program_seen *s,
		  struct program_view *ret)
{
	struct program_ideal ideal = program_ideal(c, s);
	double measured = operations_sum(&s->operations);
	double counts = s->made > s->lost ? fmax(0, (double)(s->made - s->lost) - s->excluded) : 0;
	struct program_rate productive;

	*ret = (struct program_view){
		.accelerators = s->accelerators,
		.flops = c->flops > 0 ? c->flops : measured,
		.source = c->flops > 0	    ? PROGRAM_configured
			  : !(measured > 0) ? PROGRAM_none
			  : s->uncounted    ? PROGRAM_lower_bound
					    : PROGRAM_measured,
		.flops_steps = c->flops > 0 ? 0 : s->flops_steps,
	};
	if (!(c->flops > 0))
		ret->operations = s->operations;
	program_rate_set(&ret->steps, c, ret->flops, s->timed_steps, s->timed_ns, &ideal);
	program_rate_set(&ret->elapsed, c, ret->flops, counts, s->observed_ns, &ideal);
	program_rate_set(&productive, c, ret->flops, counts, s->goodput_ns, &ideal);
	ret->program = productive.mfu;
	if (s->observed_ns)
		ret->runtime = (double)s->goodput_ns / (double)s->observed_ns;
}

bool program_known(const struct program_config *c)
{
	return c->flops > 0 || c->samples > 0 || c->tokens > 0;
}

double program_cost(const struct program_config *c, double accelerator_ns)
{
	return c->price * (accelerator_ns / NS_PER_HOUR);
}
