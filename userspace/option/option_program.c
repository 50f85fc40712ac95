/* SPDX-License-Identifier: Apache-2.0 */
/* option_program.c - options that describe the work of a step, and the accelerators. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/base/utf8.h"
#include "userspace/model/time/accelerator_peak.h"
#include "userspace/model/job/job.h"
#include "userspace/model/time/program.h"
#include "userspace/option/option.h"

int option_real(const char *text, double *ret)
{
	static const char units[] = "kMGTPE";
	const char *unit;
	char *end;
	double v;

	if (!strchr("0123456789.", *text) || strpbrk(text, "xX"))
		return -EINVAL;
	errno = 0;
	v = strtod(text, &end);
	unit = *end ? strchr(units, *end == 'K' ? 'k' : *end) : NULL;
	if (errno || end == text || (*end && (!unit || end[1])))
		return -EINVAL;
	for (; unit && unit >= units; unit--)
		v *= 1000;
	if (!isfinite(v) || !(v > 0))
		return -EINVAL;
	*ret = v;
	return 0;
}

int option_price(const char *text, char currency[OPTION_CURRENCY_MAX], double *ret)
{
	size_t len = strcspn(text, "0123456789."), used = 0, n;
	uint32_t c;

	if (len >= OPTION_CURRENCY_MAX || option_real(text + len, ret))
		return -EINVAL;
	for (; used < len; used += n) {
		n = utf8_decode(text + used, len - used, &c);
		if (!n || utf8_columns(c) < 1 || c == '-' || c == '+')
			return -EINVAL;
	}
	memcpy(currency, text, len);
	currency[len] = '\0';
	return 0;
}

static void option_program_say_number(option_say_fn *say, void *ctx, const char *key, double v)
{
	char text[32];

	if (!(v > 0))
		return;
	snprintf(text, sizeof(text), "%.17g", v);
	say(ctx, key, text);
}

static void option_program_say_text(option_say_fn *say, void *ctx, const char *key,
				    const char *text)
{
	if (text && *text)
		say(ctx, key, text);
}

/* A peak that the user sets is the peak of all types. */
static void option_program_say_peaks(const struct options *o, const struct accelerator_peak *peak,
				     option_say_fn *say, void *ctx)
{
	char key[32];

	option_program_say_number(say, ctx, "peak_flops",
				  o->peak_tflops > 0 ? o->peak_tflops * 1e12
				  : peak	     ? accelerator_peak_flops(peak)
						     : 0);
	for (int t = 0; peak && !(o->peak_tflops > 0) && t < OPERATION_TYPE_COUNT; t++) {
		snprintf(key, sizeof(key), "peak_%s", operation_type_name[t]);
		option_program_say_number(say, ctx, key, peak->rate[t]);
	}
}

static bool option_program_tag_fits(const char *name, const char *tag)
{
	if (!tag || strlen(tag) < PROGRAM_TAG_MAX)
		return true;
	log_error("--%s: too long; at most %d bytes", name, PROGRAM_TAG_MAX - 1);
	return false;
}

/* Checks the characters of --job-uid, because the UID becomes part of the job's key. */
static bool option_program_uid_fits(const char *uid)
{
	size_t len = uid ? strlen(uid) : 1;

	if (!uid ||
	    (len && len < JOB_UID_MAX &&
	     strspn(uid, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-") ==
		     len))
		return true;
	log_error("--job-uid: expected 1 to %d letters, digits or . _ : -", JOB_UID_MAX - 1);
	return false;
}

int options_program(const struct options *o)
{
	char currency[OPTION_CURRENCY_MAX];
	double price;

	if (o->price && option_price(o->price, currency, &price)) {
		log_error("--price: '%s': expected a price above 0, like 2.50 or $2.50", o->price);
		return -EINVAL;
	}
	if (o->accelerator && !accelerator_peak_find(o->accelerator) && !(o->peak_tflops > 0)) {
		log_error("--accelerator: the peak of '%s' is unknown; set it with --peak-tflops",
			  o->accelerator);
		return -EINVAL;
	}
	return option_program_uid_fits(o->job_uid) &&
			       option_program_tag_fits("perf-tag", o->perf_tag) &&
			       option_program_tag_fits("session-tag", o->session_tag)
		       ? 0
		       : -EINVAL;
}

void options_program_say(const struct options *o, const char *model, option_say_fn *say, void *ctx)
{
	const char *name = o->accelerator ? o->accelerator : model;
	const struct accelerator_peak *peak = name ? accelerator_peak_find(name) : NULL;
	char currency[OPTION_CURRENCY_MAX];
	double price;

	option_program_say_number(say, ctx, "flops", o->flops);
	option_program_say_number(say, ctx, "samples", o->samples);
	option_program_say_number(say, ctx, "tokens", o->tokens);
	option_program_say_text(say, ctx, "accelerator", peak ? peak->name : name);
	option_program_say_peaks(o, peak, say, ctx);
	option_program_say_number(say, ctx, "accelerators", (double)o->accelerators);
	if (o->price && !option_price(o->price, currency, &price)) {
		option_program_say_number(say, ctx, "price", price);
		option_program_say_text(say, ctx, "currency", currency);
	}
	option_program_say_text(say, ctx, "perf_tag", o->perf_tag);
	option_program_say_text(say, ctx, "session_tag", o->session_tag);
}
