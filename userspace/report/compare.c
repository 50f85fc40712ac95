/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/report/compare.h"

#include <math.h>
#include <stdio.h>

#include "userspace/base/epoch.h"
#include "userspace/base/json_text.h"
#include "userspace/base/plural.h"
#include "userspace/report/document.h"
#include "userspace/text/format.h"

#define SHOWN 8

static const char *const verdict_word[] = {
	[COMPARE_SAME] = "same",
	[COMPARE_SLOWER] = "slower",
	[COMPARE_FASTER] = "faster",
};

static void compare_run_line(struct buffer *out, const char *what, const struct store_compared *c)
{
	char when[EPOCH_TEXT_MAX], step[WORD_MAX];

	buffer_printf(out, "    %-6s %-36s run %-4u %-19s  ", what, c->job, c->attempt,
		      epoch_text(when, c->start_ns / 1000, 0));
	if (c->is.minutes)
		buffer_printf(out, "%s a step\n", text_duration(step, (uint64_t)exp(c->is.mean)));
	else
		buffer_printf(out, "%u minute%s: too short\n", c->minutes, plural(c->minutes));
}

static double compare_percent(double ratio)
{
	return 100 * (ratio - 1);
}

/* Returns the reason why the comparison has no result. */
static const char *compare_lacking(const struct store_comparison *c)
{
	return c->own.is.minutes ? "no other run is long enough" : "this run is too short";
}

void compare_sentence(char *out, size_t len, const struct store_comparison *c)
{
	const struct compare_answer *a = &c->answer;
	const char *what = c->tagged ? "runs of perf tag" : "runs of job";

	if (!c->known)
		snprintf(out, len, "not compared with %s %s: %s (%d minutes with steps are needed)",
			 what, c->against, compare_lacking(c), COMPARE_LEAST);
	else if (a->verdict == COMPARE_SAME)
		snprintf(
			out, len,
			"no significant difference from %s %s: step time between %+.1f %% and %+.1f %%, p = %.2g",
			what, c->against, compare_percent(a->low), compare_percent(a->high), a->p);
	else
		snprintf(
			out, len,
			"%s than %s %s: step time %+.1f %%, between %+.1f %% and %+.1f %%, p = %.2g",
			verdict_word[a->verdict], what, c->against, compare_percent(a->ratio),
			compare_percent(a->low), compare_percent(a->high), a->p);
}

static void compare_answer_text(struct buffer *out, const struct compare_answer *a)
{
	buffer_printf(
		out, "    confidence of the interval: %.0f %%; this run is compared with %s\n",
		100 * COMPARE_LEVEL,
		a->peers == 1
			? "one other run:\n    usual differences between two runs, such as other nodes, count as a difference here"
			: "the spread of the others");
}

void compare_text(struct buffer *out, const struct store_comparison *c)
{
	uint32_t n = c->npeers + c->short_peers;
	char sentence[DOCUMENT_CAVEAT_MAX];

	compare_sentence(sentence, sizeof(sentence), c);
	buffer_printf(out, "  step time beside %s %s\n",
		      c->tagged ? "runs of perf tag" : "runs of job", c->against);
	compare_run_line(out, "this", &c->own);
	for (uint32_t i = 0; i < n && i < SHOWN; i++)
		compare_run_line(out, i ? "" : "peers", &c->peers[i]);
	if (n > SHOWN)
		buffer_printf(out, "           and %u more\n", n - SHOWN);
	if (c->short_peers)
		buffer_printf(out, "    %u of %u too short to be compared\n", c->short_peers, n);
	buffer_printf(out, "    %s\n", sentence);
	if (c->known)
		compare_answer_text(out, &c->answer);
}

static void compare_run_json(struct buffer *out, const char *key, const struct store_compared *c)
{
	json_open(out, key, '{');
	json_known(out, "job", c->job);
	json_uint(out, "run", c->attempt);
	json_time(out, "start", c->start_ns);
	json_uint(out, "minutes", c->minutes);
	json_nonzero(out, "step_ns", c->is.minutes ? (uint64_t)exp(c->is.mean) : 0);
	json_close(out, '}');
}

void compare_json(struct buffer *out, const char *key, const struct store_comparison *c)
{
	const struct compare_answer *a = &c->answer;

	json_open(out, key, '{');
	json_string(out, "against", c->against);
	json_bool(out, "tag", c->tagged);
	compare_run_json(out, "this", &c->own);
	json_open(out, "peers", '[');
	for (uint32_t i = 0; i < c->npeers + c->short_peers; i++)
		compare_run_json(out, NULL, &c->peers[i]);
	json_close(out, ']');
	json_uint(out, "compared", c->known ? a->peers : 0);
	json_string(out, "verdict", c->known ? verdict_word[a->verdict] : NULL);
	if (c->known) {
		json_double(out, "ratio", a->ratio);
		json_double(out, "ratio_low", a->low);
		json_double(out, "ratio_high", a->high);
		json_double(out, "p", a->p);
	} else {
		json_null(out, "ratio");
		json_null(out, "ratio_low");
		json_null(out, "ratio_high");
		json_null(out, "p");
	}
	json_real(out, "level", COMPARE_LEVEL);
	json_close(out, '}');
}
