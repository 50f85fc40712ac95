/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/lines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/hash.h"
#include "userspace/base/number.h"
#include "userspace/ingest/event.h"

#define SAMPLES_MIN 20 /* with fewer samples in a span, nothing is concluded */
/* lines_tagged() names a line with TAGGED_MIN samples, if at least TAGGED_SURE of them are there.
 */
#define TAGGED_MIN  5
#define TAGGED_SURE 0.6
#define SURE	    3.5 /* least growth of a share, in standard errors */
/* factor by which the time of a step at a line must have grown */
#define GROWN_MIN   2
#define LATE_NS	    10000000000ull /* a sample that is older (ns) when it arrives is invalid */
#define SPAN_US_MAX 100000000u
#define US	    1000ull
#define EVEN_NS	    100000000ull /* weight of each sample (ns) if all samples count equally */

struct lines_sample {
	uint64_t at_ns;
	uint32_t span_us;
	uint8_t line; /* index in lines.name; LINES_KEPT: none */
	uint8_t use;  /* enum lines_use */
	uint8_t tag;  /* of lines_tag(); 0: none */
	bool own;     /* the innermost call was that of the user's own code */
};

struct lines_name {
	uint64_t line, function; /* hashes; line 0: unused */
	char text[LINES_TEXT_MAX];
};

struct lines {
	struct lines_sample sample[LINES_SAMPLES];
	uint64_t samples; /* ever */
	struct lines_name name[LINES_KEPT];
	struct lines_last last;
	uint64_t last_function; /* hash of the user's function that was sampled last */
};

struct lines *lines_new(void)
{
	return calloc(1, sizeof(struct lines));
}

void lines_free(struct lines *l)
{
	free(l);
}

uint64_t lines_count(const struct lines *l)
{
	return l->samples;
}

const struct lines_last *lines_last(const struct lines *l)
{
	return &l->last;
}

/* ---- samples --------------------------------------------------------------------------------- */

static uint64_t lines_hash(const char *file, const char *function, uint32_t line)
{
	uint64_t hash = hash_bytes(HASH_START, file, strlen(file) + 1);

	hash = hash_bytes(hash, function, strlen(function));
	hash = hash_word(hash, line);
	return hash ? hash : 1;
}

static enum lines_use lines_use(const struct gp_line *s, bool saves)
{
	enum lines_use own = s->flags & GP_LINE_CALLED ? LINES_OWN : LINES_OUTSIDE;

	if (s->flags & GP_LINE_GIL && s->flags & GP_LINE_COLLECT)
		return LINES_COLLECT;
	if (s->state == GP_LINE_WAITS && s->flags & GP_LINE_LOCKED && !(s->flags & GP_LINE_GIL))
		return saves ? LINES_SAVED : LINES_LOCKED;
	if (s->flags & GP_LINE_INPUT)
		return LINES_INPUT;
	if (s->state == GP_LINE_WAITS)
		return LINES_WAITS;
	if (!s->line || s->flags & GP_LINE_PACKAGE)
		return LINES_NOT_OWN;
	if (s->state == GP_LINE_RUNS && s->flags & GP_LINE_GIL)
		return own;
	if (s->state == GP_LINE_SLEEPS && s->flags & GP_LINE_OWN)
		return own;
	return LINES_NOT_OWN;
}

/* Removes from a function's name the functions in which it is defined. */
static const char *lines_short(const char *function)
{
	static const char within[] = "<locals>.";
	const char *at;

	while ((at = strstr(function, within)))
		function = at + strlen(within);
	return function;
}

static uint32_t lines_kept(const struct lines *l)
{
	return (uint32_t)smaller_of(l->samples, LINES_SAMPLES);
}

/* Returns true if the comparison of spans needs the line of a sample in this use. */
static bool lines_needed(enum lines_use use)
{
	return use == LINES_OWN || use == LINES_OUTSIDE || use == LINES_WAITS ||
	       use == LINES_LOCKED || use == LINES_SAVED;
}

/* Returns the index of a line in l->name. A new line replaces one without samples. If there is
 * none, a line that is needed replaces one whose samples do not need it, and for any other line
 * LINES_KEPT is returned. */
static uint8_t lines_index(struct lines *l, uint64_t hash, bool needed)
{
	uint32_t used = 0, kept = 0;
	uint8_t free = 0;

	_Static_assert(LINES_KEPT <= 32, "used has a bit for each line");
	for (uint8_t i = 0; i < LINES_KEPT; i++) {
		if (l->name[i].line == hash)
			return i;
	}
	for (uint32_t i = 0; i < lines_kept(l); i++) {
		const struct lines_sample *s = &l->sample[i];

		if (s->line == LINES_KEPT)
			continue;
		used |= 1u << s->line;
		kept |= lines_needed((enum lines_use)s->use) ? 1u << s->line : 0;
	}
	used = needed && !~used ? kept : used;
	while (free < LINES_KEPT && used & 1u << free)
		free++;
	if (free == LINES_KEPT)
		return LINES_KEPT;
	for (uint32_t i = 0; i < lines_kept(l); i++)
		l->sample[i].line = l->sample[i].line == free ? LINES_KEPT : l->sample[i].line;
	l->name[free] = (struct lines_name){.line = hash};
	return free;
}

/* Writes "train.py:31 in step()"; code at the top level of a module has no function. */
static void lines_text(char *out, size_t len, const char *file, const char *function, uint32_t line)
{
	if (*function && *function != '<')
		snprintf(out, len, "%s:%u in %s()", file, line, function);
	else
		snprintf(out, len, "%s:%u", file, line);
}

static void lines_set_last(struct lines *l, const struct gp_line *s, const char *file,
			   const char *function)
{
	/* The hash excludes the line number: in a loop that waits, the line changes, but the
	 * function does not. */
	uint64_t hash = lines_hash(file, function, 0);
	struct lines_last *last = &l->last;
	char inner[sizeof(s->inner_function)];
	bool own = s->flags & GP_LINE_OWN;

	if (s->at_ns < last->at_ns)
		return;
	if (hash != l->last_function || !last->at_ns)
		last->since_ns = s->at_ns;
	l->last_function = hash;
	last->at_ns = s->at_ns;
	last->waits = s->state == GP_LINE_WAITS && !own;
	event_copy(inner, s->inner_function);
	if (!s->line)
		snprintf(last->text, sizeof(last->text), "%s", inner);
	else if (!own)
		snprintf(last->text, sizeof(last->text), "%s at %s:%u", inner, file, s->line);
	else if (*function && *function != '<')
		snprintf(last->text, sizeof(last->text), "%s at %s:%u", function, file, s->line);
	else
		snprintf(last->text, sizeof(last->text), "%s:%u", file, s->line);
}

/* Returns the index of a line in l->name, which gets a text if the line is new. LINES_KEPT: there
 * is no room. */
static uint8_t lines_named(struct lines *l, const char *file, const char *function, uint32_t line,
			   bool needed)
{
	uint8_t i = lines_index(l, lines_hash(file, function, line), needed);
	struct lines_name *name = &l->name[i];

	if (i == LINES_KEPT || *name->text)
		return i;
	name->function = lines_hash(file, function, 0);
	lines_text(name->text, sizeof(name->text), file, lines_short(function), line);
	return i;
}

void lines_add(struct lines *l, uint64_t now_ns, const struct gp_line *s, bool saves)
{
	struct lines_sample *to;
	char file[sizeof(s->file)], function[sizeof(s->function)];
	enum lines_use use = lines_use(s, saves);
	uint8_t line = LINES_KEPT;

	if (s->at_ns > now_ns || now_ns - s->at_ns > LATE_NS || !s->span_us ||
	    s->span_us > SPAN_US_MAX)
		return;
	event_copy(file, s->file);
	event_copy(function, s->function);
	lines_set_last(l, s, file, lines_short(function));
	if (use == LINES_LOCKED || use == LINES_SAVED) {
		event_copy(file, s->holder_file);
		event_copy(function, s->holder_function);
		if (s->holder_line)
			line = lines_named(l, file, function, s->holder_line, true);
	} else if (s->line) {
		line = lines_named(l, file, function, s->line, lines_needed(use));
	}
	to = &l->sample[l->samples++ % LINES_SAMPLES];
	*to = (struct lines_sample){.at_ns = s->at_ns,
				    .span_us = s->span_us,
				    .line = line,
				    .use = (uint8_t)use,
				    .own = s->flags & GP_LINE_OWN};
}

static void lines_sum_add(const struct lines *l, const struct lines_sample *s, uint64_t ns,
			  struct lines_sums *ret)
{
	const struct lines_name *name = &l->name[s->line];
	struct lines_sum *to = ret->of;

	while (to < ret->of + ret->count && to->line != name->line)
		to++;
	if (to == ret->of + ret->count) {
		*to = (struct lines_sum){.line = name->line, .function = name->function};
		ret->count++;
	}
	to->ns += ns;
	to->outside_ns += s->use == LINES_OUTSIDE ? ns : 0;
}

void lines_between(const struct lines *l, uint64_t from_ns, uint64_t to_ns, bool evenly,
		   struct lines_sums *ret)
{
	*ret = (struct lines_sums){0};
	for (uint32_t i = 0; i < lines_kept(l); i++) {
		const struct lines_sample *s = &l->sample[i];
		uint64_t ns = evenly ? EVEN_NS : s->span_us * US;

		if (s->at_ns < from_ns || s->at_ns >= to_ns)
			continue;
		ret->n++;
		ret->ns += ns;
		ret->squares += (double)ns * (double)ns;
		ret->collect_ns += s->use == LINES_COLLECT ? ns : 0;
		ret->input_ns += s->use == LINES_INPUT ? ns : 0;
		ret->locked_ns += s->use == LINES_LOCKED ? ns : 0;
		ret->saved_ns += s->use == LINES_SAVED ? ns : 0;
		ret->waits_ns += s->use == LINES_WAITS ? ns : 0;
		if (s->line < LINES_KEPT && (s->use == LINES_OWN || s->use == LINES_OUTSIDE))
			lines_sum_add(l, s, ns, ret);
	}
}

/* ---- comparison ------------------------------------------------------------------------------ */

struct lines_spans { /* two spans, and the length of a step in each */
	const struct lines_sums *before, *after;
	double before_ns, after_ns;
	/* standard error of the difference of two shares, without its factor sqrt(p (1 - p)) */
	double error;
	double n1, n2;
};

/* Returns by how much longer each step became (ns) through code that took a_ns of the first span
 * and b_ns of the second; 0 if this is not certain. */
static double lines_grown(const struct lines_spans *c, uint64_t a_ns, uint64_t b_ns)
{
	double a = (double)a_ns / (double)c->before->ns, b = (double)b_ns / (double)c->after->ns;
	double p = (a * c->n1 + b * c->n2 + 1) / (c->n1 + c->n2 + 2);
	double grown = b * c->after_ns - a * c->before_ns;

	if (b - a < SURE * c->error * sqrt(p * (1 - p)) ||
	    b * c->after_ns < GROWN_MIN * a * c->before_ns)
		return 0;
	return grown > 0 ? grown : 0;
}

static uint64_t lines_ns_of_line(const struct lines_sums *s, uint64_t line)
{
	for (uint32_t i = 0; i < s->count; i++) {
		if (s->of[i].line == line)
			return s->of[i].ns;
	}
	return 0;
}

static uint64_t lines_ns_of_function(const struct lines_sums *s, uint64_t function)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < s->count; i++)
		ns += s->of[i].function == function ? s->of[i].ns : 0;
	return ns;
}

static const char *lines_name_of(const struct lines *l, uint64_t line)
{
	for (int i = 0; i < LINES_KEPT; i++) {
		if (l->name[i].line == line)
			return l->name[i].text;
	}
	return "";
}

/* Returns by how much longer each step became (ns) through the function of line i. Compares the
 * time of the whole function; if its growth is not certain, adds up the lines whose growth is. */
static double lines_function_grown(const struct lines_spans *c, uint32_t i)
{
	uint64_t function = c->after->of[i].function;
	double grown = lines_grown(c, lines_ns_of_function(c->before, function),
				   lines_ns_of_function(c->after, function));

	for (uint32_t k = i; grown <= 0 && k < c->after->count; k++) {
		const struct lines_sum *s = &c->after->of[k];

		if (s->function == function)
			grown += lines_grown(c, lines_ns_of_line(c->before, s->line), s->ns);
	}
	return grown;
}

static bool lines_first_of_function(const struct lines_sums *s, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++) {
		if (s->of[k].function == s->of[i].function)
			return false;
	}
	return true;
}

/* Returns the line of the function whose time in each step has grown most. */
static const char *lines_most_grown(const struct lines *l, const struct lines_spans *c,
				    uint64_t function)
{
	const char *ret = "";
	double most = 0;

	for (uint32_t i = 0; i < c->after->count; i++) {
		const struct lines_sum *s = &c->after->of[i];
		double a = (double)lines_ns_of_line(c->before, s->line) / (double)c->before->ns;
		double grown = (double)s->ns / (double)c->after->ns * c->after_ns -
			       a * c->before_ns;

		if (s->function != function || grown <= most)
			continue;
		most = grown;
		ret = lines_name_of(l, s->line);
	}
	return ret;
}

/* Returns the effective sample size: how many samples of equal weight have the same error. */
static double lines_effective(const struct lines_sums *s)
{
	return s->squares > 0 ? (double)s->ns * (double)s->ns / s->squares : 0;
}

void lines_slower(const struct lines *l, const struct lines_sums *before, uint64_t before_ns,
		  const struct lines_sums *after, uint64_t after_ns, struct lines_slower *ret)
{
	struct lines_spans c = {.before = before,
				.after = after,
				.before_ns = (double)before_ns,
				.after_ns = (double)after_ns,
				.n1 = lines_effective(before),
				.n2 = lines_effective(after)};
	double most = 0, own = 0;

	*ret = (struct lines_slower){0};
	if (before->n < SAMPLES_MIN || after->n < SAMPLES_MIN || !before->ns || !after->ns)
		return;
	c.error = sqrt(1 / c.n1 + 1 / c.n2);
	ret->collect_ns = (uint64_t)lines_grown(&c, before->collect_ns, after->collect_ns);
	ret->locked_ns = (uint64_t)lines_grown(&c, before->locked_ns, after->locked_ns);
	ret->saved_ns = (uint64_t)lines_grown(&c, before->saved_ns, after->saved_ns);
	ret->waits_ns = (uint64_t)lines_grown(&c, before->waits_ns, after->waits_ns);
	for (uint32_t i = 0; i < after->count; i++) {
		double grown = lines_first_of_function(after, i) ? lines_function_grown(&c, i) : 0;

		own += grown;
		if (grown <= most)
			continue;
		most = grown;
		snprintf(ret->line, sizeof(ret->line), "%s",
			 lines_most_grown(l, &c, after->of[i].function));
	}
	ret->own_ns = *ret->line ? (uint64_t)own : 0;
}

void lines_top(const struct lines *l, const struct lines_sums *s, struct lines_top *ret)
{
	uint64_t below = UINT64_MAX;
	uint32_t from = 0;

	memset(ret, 0, LINES_TOP * sizeof(*ret));
	if (s->n < SAMPLES_MIN || !s->ns)
		return;
	for (int n = 0; n < LINES_TOP; n++) {
		const struct lines_sum *best = NULL;

		/* Find the line with the most time among those not listed yet: they follow the last
		 * listed one in order of time, then of index. */
		for (uint32_t i = 0; i < s->count; i++) {
			const struct lines_sum *k = &s->of[i];

			if (k->outside_ns &&
			    (k->outside_ns < below || (k->outside_ns == below && i >= from)) &&
			    (!best || k->outside_ns > best->outside_ns))
				best = k;
		}
		if (!best)
			return;
		below = best->outside_ns;
		from = (uint32_t)(best - s->of) + 1;
		snprintf(ret[n].line, sizeof(ret[n].line), "%s", lines_name_of(l, best->line));
		ret[n].share = (double)best->outside_ns / (double)s->ns;
	}
}

void lines_most(const struct lines *l, enum lines_use use, uint64_t from_ns, uint64_t to_ns,
		struct lines_top *ret)
{
	uint32_t n = 0, count[LINES_KEPT + 1] = {0}, own[LINES_KEPT + 1] = {0};
	uint8_t best = 0;

	*ret = (struct lines_top){0};
	for (uint32_t i = 0; i < lines_kept(l); i++) {
		const struct lines_sample *s = &l->sample[i];

		if (s->use != use || s->at_ns < from_ns || s->at_ns >= to_ns)
			continue;
		n++;
		count[s->line]++;
		own[s->line] += s->own;
	}
	for (uint8_t i = 1; i < LINES_KEPT; i++)
		best = count[i] > count[best] ? i : best;
	if (n < SAMPLES_MIN || !count[best])
		return;
	snprintf(ret->line, sizeof(ret->line), "%s", l->name[best].text);
	ret->share = (double)count[best] / n;
	ret->own = 2 * own[best] > count[best];
}

void lines_where(const struct lines *l, uint64_t from_ns, uint64_t to_ns,
		 struct lines_top ret[LINES_TOP])
{
	uint64_t all_us = 0, us[LINES_KEPT] = {0};
	uint32_t n = 0;

	memset(ret, 0, LINES_TOP * sizeof(*ret));
	for (uint32_t i = 0; i < lines_kept(l); i++) {
		const struct lines_sample *s = &l->sample[i];

		if (s->at_ns < from_ns || s->at_ns >= to_ns)
			continue;
		n++;
		all_us += s->span_us;
		if (s->line < LINES_KEPT && s->use != LINES_LOCKED && s->use != LINES_SAVED)
			us[s->line] += s->span_us;
	}
	for (int k = 0; n >= SAMPLES_MIN && k < LINES_TOP; k++) {
		uint8_t best = 0;

		for (uint8_t i = 1; i < LINES_KEPT; i++)
			best = us[i] > us[best] ? i : best;
		if (!us[best])
			return;
		snprintf(ret[k].line, sizeof(ret[k].line), "%s", l->name[best].text);
		ret[k].share = (double)us[best] / (double)all_us;
		us[best] = 0;
	}
}

/* ---- tags ------------------------------------------------------------------------------------ */

void lines_tag(struct lines *l, uint64_t from_ns, uint64_t to_ns, uint8_t tag)
{
	for (uint32_t i = 0; i < lines_kept(l); i++) {
		struct lines_sample *s = &l->sample[i];

		if (s->at_ns >= from_ns && s->at_ns < to_ns)
			s->tag = tag;
	}
}

void lines_tagged(const struct lines *l, uint8_t tag, struct lines_tagged *ret)
{
	uint64_t all_us = 0, us[LINES_KEPT + 1] = {0}, use_us[LINES_USE_COUNT] = {0};
	uint8_t best = 0;

	*ret = (struct lines_tagged){0};
	for (uint32_t i = 0; i < lines_kept(l); i++) {
		const struct lines_sample *s = &l->sample[i];

		if (s->tag != tag)
			continue;
		ret->n++;
		all_us += s->span_us;
		use_us[s->use] += s->span_us;
		/* with these uses, the line is that of another thread */
		if (s->use != LINES_LOCKED && s->use != LINES_SAVED)
			us[s->line] += s->span_us;
	}
	if (ret->n < TAGGED_MIN)
		return;
	for (int i = 0; i < LINES_USE_COUNT && ret->n >= SAMPLES_MIN; i++)
		ret->share[i] = (double)use_us[i] / (double)all_us;
	for (uint8_t i = 1; i < LINES_KEPT; i++)
		best = us[i] > us[best] ? i : best;
	if (!us[best])
		return;
	snprintf(ret->most.line, sizeof(ret->most.line), "%s", l->name[best].text);
	ret->most.share = (double)us[best] / (double)all_us;
	/* with few samples, the share has a large error */
	if (ret->n < SAMPLES_MIN && ret->most.share < TAGGED_SURE)
		ret->most = (struct lines_top){0};
}

/* ---- state ----------------------------------------------------------------------------------- */

void lines_archive(struct archive *a, struct lines **at)
{
	struct lines *l = *at = archive_object(a, *at, sizeof(**at));

	if (!l)
		return;
	archive_struct(a, sizeof(*l));
	archive_field(a, l->samples);
	for (uint32_t i = 0; i < lines_kept(l); i++) {
		struct lines_sample *s = &l->sample[i];

		archive_fields(a, s, at_ns, span_us, tag, own);
		archive_below(a, &s->line, LINES_KEPT + 1);
		archive_below(a, &s->use, LINES_USE_COUNT);
		archive_require(a, s->span_us <= SPAN_US_MAX);
	}
	for (int i = 0; i < LINES_KEPT; i++)
		archive_fields(a, &l->name[i], line, function, text);
	archive_fields(a, &l->last, text, waits, since_ns, at_ns);
	archive_field(a, l->last_function);
}

void lines_sums_archive(struct archive *a, struct lines_sums *s)
{
	archive_fields(a, s, n, ns, collect_ns, input_ns, locked_ns, saved_ns, waits_ns, squares);
	archive_below(a, &s->count, LINES_KEPT + 1);
	for (uint32_t i = 0; i < s->count; i++)
		archive_fields(a, &s->of[i], line, function, ns, outside_ns);
}
