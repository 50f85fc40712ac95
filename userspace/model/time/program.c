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

/* Fills *ret with the rates of n steps that took `ns`. */
static void program_rate_set(struct program_rate *ret, const struct program_config *c, double flops,
			     double n, uint64_t ns, double peak_flops)
{
	double per_s = ns ? n / ((double)ns / NS_PER_S) : 0;

	ret->samples = c->samples * per_s;
	ret->tokens = c->tokens * per_s;
	ret->flops = flops * per_s;
	ret->mfu = peak_flops > 0 ? ret->flops / peak_flops : 0;
}

void program_view(const struct program_config *c, const struct program_seen *s,
		  struct program_view *ret)
{
	double peak_flops = c->peak_flops * s->accelerators;
	double counts = s->made > s->lost ? fmax(0, (double)(s->made - s->lost) - s->excluded) : 0;
	struct program_rate productive;

	*ret = (struct program_view){
		.accelerators = s->accelerators,
		.flops = c->flops > 0 ? c->flops : s->flops,
		.source = c->flops > 0	    ? PROGRAM_configured
			  : !(s->flops > 0) ? PROGRAM_none
			  : s->uncounted    ? PROGRAM_lower_bound
					    : PROGRAM_measured,
		.flops_steps = c->flops > 0 ? 0 : s->flops_steps,
	};
	program_rate_set(&ret->steps, c, ret->flops, s->timed_steps, s->timed_ns, peak_flops);
	program_rate_set(&ret->elapsed, c, ret->flops, counts, s->observed_ns, peak_flops);
	program_rate_set(&productive, c, ret->flops, counts, s->goodput_ns, peak_flops);
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
