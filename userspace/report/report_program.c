/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/report/report_program.h"

#include <stdio.h>
#include <string.h>

#include "userspace/base/json_text.h"
#include "userspace/report/report_loop.h"
#include "userspace/text/format.h"

#define COL_SECOND 30 /* COL_SECOND to COL_MFU: right edges of the columns */
#define COL_TOKENS 46
#define COL_FLOPS  62
#define COL_MFU	   76
#define NS_PER_S   1e9
/* smallest number of hours or amount of money shown; less is shown as "<0.0001" */
#define LEAST 0.0001

const char *report_si(char out[32], double v)
{
	static const char units[] = " kMGTPEZ";
	const char *unit = units;
	double limit = 1e4;

	if (!(v > 0)) {
		snprintf(out, 32, "unknown");
		return out;
	}
	while (v >= limit && unit[1]) {
		v /= 1e3;
		unit++;
		limit = 1e3;
	}
	if (*unit == ' ')
		snprintf(out, 32, "%.4g", v);
	else
		snprintf(out, 32, "%.*f %c", v < 10 ? 2 : v < 100 ? 1 : 0, v, *unit);
	return out;
}

const char *report_share(char out[REPORT_WORD], double share)
{
	if (share > 0 && share < 0.001)
		snprintf(out, REPORT_WORD, "<0.1 %%");
	else if (share > 0)
		snprintf(out, REPORT_WORD, "%.1f %%", 100 * share);
	else
		snprintf(out, REPORT_WORD, "unknown");
	return out;
}

const char *report_hours(char out[REPORT_WORD], double ns)
{
	double hours = ns / (3600 * NS_PER_S);

	if (hours > 0 && hours < LEAST)
		snprintf(out, REPORT_WORD, "<%.4f", LEAST);
	else
		snprintf(out, REPORT_WORD, "%.*f", hours < 100 ? 4 : 1, hours);
	return out;
}

const char *report_money(char out[REPORT_WORD], const struct program_config *cfg, double ns)
{
	double cost = program_cost(cfg, ns);

	if (cost > 0 && cost < LEAST)
		snprintf(out, REPORT_WORD, "<%s%.4f", cfg->currency, LEAST);
	else
		snprintf(out, REPORT_WORD, "%s%.*f", cfg->currency, cost < 1 ? 4 : 2, cost);
	return out;
}

double report_flops(const struct program_config *cfg, const struct program_view *p)
{
	return cfg->flops > 0 ? cfg->flops : p->flops;
}

const char *report_utilization_name(const struct program_view *p)
{
	return p->steps.hfu > 0 && p->operations.again_unknown > 0 ? "HFU" : "MFU";
}

double report_utilization(const struct program_view *p, const struct program_rate *r)
{
	return p->operations.again_unknown > 0 ? r->hfu : r->mfu;
}

static void program_rate_row(struct canvas *c, const char *name, const struct program_config *cfg,
			     const struct program_view *p, const struct program_rate *r)
{
	char text[REPORT_WORD];

	canvas_line(c, 0);
	canvas_put(c, STYLE_PLAIN, "    %s", name);
	if (cfg->samples > 0)
		canvas_right(c, COL_SECOND, STYLE_PLAIN, report_si(text, r->samples));
	if (cfg->tokens > 0)
		canvas_right(c, COL_TOKENS, STYLE_PLAIN, report_si(text, r->tokens));
	if (report_flops(cfg, p) > 0) {
		char si[32];

		snprintf(text, sizeof(text), "%s%s", p->source == PROGRAM_lower_bound ? ">=" : "",
			 report_si(si, r->flops));
		canvas_right(c, COL_FLOPS, STYLE_PLAIN, text);
		canvas_right(c, COL_MFU, report_utilization(p, r) > 1 ? STYLE_RED : STYLE_PLAIN,
			     report_share(text, report_utilization(p, r)));
	}
}

static void program_rates(struct canvas *c, const struct program_config *cfg,
			  const struct program_view *p)
{
	canvas_line(c, 0);
	canvas_put(c, STYLE_DIM, "  done a second");
	if (cfg->samples > 0)
		canvas_right(c, COL_SECOND, STYLE_DIM, "samples");
	if (cfg->tokens > 0)
		canvas_right(c, COL_TOKENS, STYLE_DIM, "tokens");
	if (report_flops(cfg, p) > 0) {
		canvas_right(c, COL_FLOPS, STYLE_DIM, "FLOP");
		canvas_right(c, COL_MFU, STYLE_DIM, report_utilization_name(p));
	}
	program_rate_row(c, "in steps", cfg, p, &p->steps);
	program_rate_row(c, "of observed", cfg, p, &p->elapsed);
}

const char *report_flops_words(char out[REPORT_FLOPS], const struct program_view *p)
{
	const char *more = !p->uncounted[0] ? ""
			   : !strcmp(p->uncounted, "accelerator")
				   ? "kernels of other libraries on the accelerator"
			   : !strcmp(p->uncounted, "ranks") ? "ranks that were not measured"
							    : p->uncounted;
	char si[32];

	snprintf(out, REPORT_FLOPS, "%s%sFLOP a step, measured in %u step%s%s%s%s",
		 p->source == PROGRAM_lower_bound ? "at least " : "", report_si(si, p->flops),
		 p->flops_steps, p->flops_steps == 1 ? "" : "s", *more ? "; not counted: " : "",
		 more, *more ? "; --flops sets the exact number" : "");
	return out;
}

/* Adds the share of a name; *before is the text before it, and becomes that before the next one. */
static void report_operations_share(struct buffer *out, const char **before, const char *name,
				    double share)
{
	char text[REPORT_WORD];

	if (!(share > 0))
		return;
	buffer_printf(out, "%s%s %s", *before, name, report_share(text, share));
	*before = ", ";
}

void report_operations_words(struct buffer *out, const struct program_view *p)
{
	double sum = operations_sum(&p->operations);
	const char *before = "";

	for (int k = 0; k < OPERATION_KIND_COUNT; k++)
		report_operations_share(out, &before, operation_kind_name[k],
					p->operations.kind[k] / sum);
	before = "; numbers: ";
	for (int t = 0; t < OPERATION_TYPE_COUNT; t++)
		report_operations_share(out, &before, operation_type_name[t],
					p->operations.type[t] / sum);
	before = "; ";
	report_operations_share(out, &before, "computed again in the backward pass",
				operations_again(&p->operations) / sum);
	if (operations_again(&p->operations) > 0)
		report_operations_share(out, &before, "HFU in steps", p->steps.hfu);
}

static void report_peak_type(struct buffer *out, const struct program_config *cfg,
			     enum operation_type type)
{
	enum operation_type used = program_peak_type(cfg, type);
	double peak = program_peak(cfg, type);
	char si[32];

	if (!(peak > 0))
		buffer_printf(out, "unknown in %s; set it with --peak-tflops",
			      operation_type_name[type]);
	else
		buffer_printf(out, "%sFLOP/s in %s", report_si(si, peak),
			      operation_type_name[used]);
	if (used != type)
		buffer_printf(out, " (assumed for %s)", operation_type_name[type]);
}

void report_peak_words(struct buffer *out, const struct program_config *cfg,
		       const struct program_view *p)
{
	const char *before = "";
	char si[32];

	if (!(cfg->peak_flops > 0)) {
		buffer_printf(out, "unknown; set it with --accelerator or --peak-tflops");
		return;
	}
	if (!program_peaks_differ(cfg) || !(operations_sum(&p->operations) > 0)) {
		buffer_printf(out, "%sFLOP/s each", report_si(si, cfg->peak_flops));
		return;
	}
	for (int t = 0; t < OPERATION_TYPE_COUNT; t++) {
		if (!(p->operations.type[t] > 0))
			continue;
		buffer_printf(out, "%s", before);
		report_peak_type(out, cfg, (enum operation_type)t);
		before = ", ";
	}
}

static void program_source_line(struct canvas *c, const struct program_view *p)
{
	struct buffer words = {0};
	char text[REPORT_FLOPS];

	report_field(c, "operations");
	canvas_put(c, STYLE_PLAIN, "%s", report_flops_words(text, p));
	report_operations_words(&words, p);
	report_field(c, "");
	canvas_put(c, STYLE_PLAIN, "%s", words.failed ? "" : words.data);
	buffer_free(&words);
}

static void program_accelerators_line(struct canvas *c, const struct program_config *cfg,
				      const struct program_view *p)
{
	struct buffer peak = {0};

	report_field(c, "accelerators");
	if (p->accelerators > 0)
		canvas_put(c, STYLE_PLAIN, "%.0f", p->accelerators);
	else
		canvas_put(
			c, STYLE_YELLOW,
			"unknown: no accelerator's runtime was called; set them with --accelerators");
	if (*cfg->accelerator)
		canvas_put(c, STYLE_PLAIN, " %s", cfg->accelerator);
	report_peak_words(&peak, cfg, p);
	canvas_put(c, cfg->peak_flops > 0 ? STYLE_PLAIN : STYLE_YELLOW, ", peak %s",
		   peak.failed ? "unknown" : peak.data);
	buffer_free(&peak);
}

/* Shows the known factors whose product is the goodput: scheduling, runtime and program. */
static void program_goodputs(struct canvas *c, const struct report_document *d)
{
	const struct program_view *p = &d->rates;
	const struct {
		const char *name;
		double share;
	} factors[] = {{"scheduling", d->scheduled_share},
		       {"runtime", p->runtime},
		       {"program", p->program}};
	bool any = false;
	char text[REPORT_WORD];

	for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++) {
		if (!(factors[i].share > 0))
			continue;
		if (!any)
			report_field(c, "goodput");
		canvas_put(c, STYLE_DIM, "%s%s", any ? " x " : "", factors[i].name);
		canvas_put(c, STYLE_PLAIN, " %s", report_share(text, factors[i].share));
		any = true;
	}
	if (p->program > 0)
		canvas_put(c, STYLE_DIM, "  (MFU of productive time)");
	if (report_utilization(p, &p->steps) <= 1)
		return;
	report_field(c, "");
	canvas_put(c, STYLE_RED,
		   "more than the peak: --flops, --peak-tflops or --accelerators is wrong");
}

void report_program(struct canvas *c, const struct report_document *d)
{
	const struct program_config *cfg = &d->program;

	if (!d->live || !(program_known(cfg) || d->rates.flops > 0))
		return;
	program_rates(c, cfg, &d->rates);
	if (!(report_flops(cfg, &d->rates) > 0))
		return;
	if (!(cfg->flops > 0))
		program_source_line(c, &d->rates);
	if (!(cfg->flops > 0) && !(d->rates.accelerators > 0))
		return; /* a job on CPUs: it has no accelerator that could be named */
	program_accelerators_line(c, cfg, &d->rates);
	program_goodputs(c, d);
}

/* ---- columns --------------------------------------------------------------------------------- */

bool report_cost_asked(const struct program_config *cfg)
{
	return cfg->accelerators || cfg->price > 0;
}

double report_accelerator_ns(const double *ns)
{
	double all = 0;

	for (int b = 0; b < BUCKETS_EXPORTED; b++)
		all += ns[b];
	return all;
}

const struct report_cost *report_cost_of(const struct report_document *d, struct report_cost *ret)
{
	*ret = (struct report_cost){
		.accelerator_ns = d->accelerator_ns,
		.running_ns = (double)d->ledger.unsettled_ns * d->accelerators,
		.config = &d->program,
	};
	return report_cost_asked(&d->program) && report_accelerator_ns(d->accelerator_ns) > 0
		       ? ret
		       : NULL;
}

const struct report_cost *report_cost_of_rank(const struct snapshot *s, const struct rank_view *r,
					      double *own_ns, struct report_cost *ret)
{
	for (int b = 0; b < BUCKETS_EXPORTED; b++)
		own_ns[b] = (double)r->ledger.ns[b] * r->accelerators;
	*ret = (struct report_cost){
		.accelerator_ns = own_ns,
		.running_ns = (double)r->ledger.unsettled_ns * r->accelerators,
		.config = &s->program,
	};
	return report_cost_asked(&s->program) && r->accelerators ? ret : NULL;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void report_program_real_or_null(struct buffer *out, const char *key, double v)
{
	if (v > 0)
		json_double(out, key, v);
	else
		json_null(out, key);
}

static void report_program_rate_json(struct buffer *out, const char *key,
				     const struct program_rate *r)
{
	json_open(out, key, '{');
	report_program_real_or_null(out, "samples_per_second", r->samples);
	report_program_real_or_null(out, "tokens_per_second", r->tokens);
	report_program_real_or_null(out, "flops_per_second", r->flops);
	report_program_real_or_null(out, "mfu", r->mfu);
	report_program_real_or_null(out, "hfu", r->hfu);
	json_close(out, '}');
}

/* Adds the measured operations of a step by kind of operator and by type of the operands, and which
 * peak is used for each type. */
static void report_operations_json(struct buffer *out, const struct program_config *cfg,
				   const struct program_view *p)
{
	const struct operations *o = &p->operations;

	if (!(operations_sum(o) > 0)) {
		json_null(out, "operations");
		return;
	}
	json_open(out, "operations", '{');
	if (o->again_unknown > 0)
		json_null(out, "computed_again");
	else
		json_double(out, "computed_again", operations_again(o));
	json_open(out, "kinds", '{');
	for (int k = 0; k < OPERATION_KIND_COUNT; k++)
		if (o->kind[k] > 0)
			json_double(out, operation_kind_name[k], o->kind[k]);
	json_close(out, '}');
	json_open(out, "types", '{');
	for (int t = 0; t < OPERATION_TYPE_COUNT; t++) {
		enum operation_type type = (enum operation_type)t;

		if (!(o->type[t] > 0))
			continue;
		json_open(out, operation_type_name[t], '{');
		json_double(out, "flops_per_step", o->type[t]);
		report_program_real_or_null(out, "peak_flops", program_peak(cfg, type));
		json_string(out, "peak_type", operation_type_name[program_peak_type(cfg, type)]);
		json_close(out, '}');
	}
	json_close(out, '}');
	json_close(out, '}');
}

static void report_program_cost_json(struct buffer *out, const struct program_config *cfg,
				     const double *ns)
{
	if (!(report_accelerator_ns(ns) > 0) || !(cfg->price > 0)) {
		json_null(out, "cost");
		return;
	}
	json_open(out, "cost", '{');
	json_known(out, "currency", cfg->currency);
	json_double(out, "accelerator_hour", cfg->price);
	json_double(out, "total", program_cost(cfg, report_accelerator_ns(ns)));
	json_open(out, "buckets", '{');
	for (int b = 0; b < BUCKETS_EXPORTED; b++)
		json_double(out, bucket_name[b], program_cost(cfg, ns[b]));
	json_close(out, '}');
	json_close(out, '}');
}

static void report_cost_json(struct buffer *out, const struct program_config *cfg,
			     const double *accelerator_ns)
{
	if (report_accelerator_ns(accelerator_ns) > 0) {
		json_open(out, "accelerator_seconds", '{');
		for (int b = 0; b < BUCKETS_EXPORTED; b++)
			json_double(out, bucket_name[b], accelerator_ns[b] / NS_PER_S);
		json_close(out, '}');
	} else {
		json_null(out, "accelerator_seconds");
	}
	report_program_cost_json(out, cfg, accelerator_ns);
}

void report_program_json(struct buffer *out, const struct report_document *d)
{
	const struct program_config *cfg = &d->program;
	const struct program_view *p = &d->rates;

	json_known(out, "perf_tag", cfg->perf_tag);
	json_known(out, "session_tag", cfg->session_tag);
	json_known(out, "accelerator", cfg->accelerator);
	report_program_real_or_null(out, "accelerators", p->accelerators);
	json_open(out, "program", '{');
	report_program_real_or_null(out, "flops_per_step", report_flops(cfg, p));
	json_known(out, "flops_source",
		   cfg->flops > 0 ? program_source_name[PROGRAM_configured]
		   : p->flops > 0 ? program_source_name[p->source]
				  : "");
	json_known(out, "flops_uncounted", p->uncounted);
	report_program_real_or_null(out, "flops_steps", p->flops_steps);
	report_operations_json(out, cfg, p);
	report_program_real_or_null(out, "samples_per_step", cfg->samples);
	report_program_real_or_null(out, "tokens_per_step", cfg->tokens);
	report_program_real_or_null(out, "peak_flops", cfg->peak_flops);
	report_program_rate_json(out, "in_steps", &p->steps);
	report_program_rate_json(out, "of_observed", &p->elapsed);
	json_close(out, '}');
	json_open(out, "goodput", '{');
	report_program_real_or_null(out, "scheduling", d->scheduled_share);
	report_program_real_or_null(out, "runtime", p->runtime);
	report_program_real_or_null(out, "program", p->program);
	json_close(out, '}');
	report_cost_json(out, cfg, d->accelerator_ns);
}
