/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/device_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/number.h"
#include "userspace/ingest/event.h"

/* A record is invalid if its figures were read more than this time (ns) before the record was
 * written. */
#define AGE_MAX_NS 10000000000ull
/* Seconds with a known clock that are needed before and after the onset of a slowdown. */
#define SECONDS_MIN 2
/* A clock that is lower by less than this share has no effect that could be measured. */
#define FALL_MIN 0.05
/* Larger figures are impossible. */
#define MHZ_MAX	    100000u
#define CELSIUS_MAX 1000u
/* Limit of the time of steps in a second (ns), so that sums do not overflow. */
#define STEPS_MAX_NS (GP_TIME_END_NS / DEVICE_CLOCK_SECONDS)

/* Reasons that lower the clock of a busy device for a time. "settings" is not one of them, because
 * a lower clock that a user set is in effect all the time. */
#define REASONS_SLOWED (~(1u << GP_DEVICE_idle | 1u << GP_DEVICE_settings))
#define REASONS_ALL    ((1u << GP_DEVICE_REASON_COUNT) - 1)

const char *const device_reason_name[GP_DEVICE_REASON_COUNT] = {
#define X(id, name) [id] = #name,
	GP_DEVICE_REASONS(X)
#undef X
};

const char *const device_reason_text[GP_DEVICE_REASON_COUNT] = {
	[GP_DEVICE_idle] = "idle",
	[GP_DEVICE_settings] = "settings",
	[GP_DEVICE_power] = "power limit",
	[GP_DEVICE_thermal] = "thermal",
	[GP_DEVICE_hardware] = "hardware slowdown",
	[GP_DEVICE_power_brake] = "power brake",
	[GP_DEVICE_sync_boost] = "other devices of its group",
	[GP_DEVICE_current] = "current limit",
	[GP_DEVICE_other] = "other reason",
};

struct device_second {
	uint64_t at_ns, wait_ns, step_ns;
	uint32_t clock_mhz, celsius, reasons, busy;
	uint32_t errors; /* new ones */
	bool reasons_known, busy_known;
};

struct device_clock {
	struct device_view last;
	/* sums over the steps since the last record: waits for the device, duration */
	uint64_t wait_ns, step_ns;
	struct device_second second[DEVICE_CLOCK_SECONDS];
	uint64_t seconds; /* number of records of the present device so far */
};

struct device_clock *device_clock_new(void)
{
	return calloc(1, sizeof(struct device_clock));
}

void device_clock_free(struct device_clock *c)
{
	free(c);
}

/* ---- records --------------------------------------------------------------------------------- */

static void device_clock_describe(struct device_view *v, const struct gp_device *d)
{
	*v = (struct device_view){
		.known = true,
		.at_ns = d->at_ns,
		.clock_mhz = d->clock_mhz <= MHZ_MAX ? d->clock_mhz : 0,
		.clock_max_mhz = d->clock_max_mhz <= MHZ_MAX ? d->clock_max_mhz : 0,
		.power_mw = d->power_mw,
		.celsius = d->celsius <= CELSIUS_MAX ? d->celsius : 0,
		.reasons_known = d->flags & GP_DEVICE_REASON,
		.busy_known = d->flags & GP_DEVICE_BUSY && d->busy <= 100,
		.errors_known = d->flags & GP_DEVICE_ERRORS,
		.reasons = d->reasons & REASONS_ALL,
		.memory_used = smaller_of(d->memory_used, d->memory_total),
		.memory_total = d->memory_total,
	};
	v->busy = v->busy_known ? d->busy : 0;
	v->errors = v->errors_known ? d->errors : 0;
	event_copy(v->name, d->name);
}

uint64_t device_clock_take(struct device_clock *c, uint64_t ts_ns, const struct gp_device *d)
{
	struct device_view last = c->last, *v = &c->last;
	uint64_t errors = 0;

	if (d->at_ns > ts_ns || ts_ns - d->at_ns > AGE_MAX_NS || d->at_ns <= last.at_ns)
		return 0;
	device_clock_describe(v, d);
	if (!last.known || strcmp(last.name, v->name) != 0) {
		c->seconds = 0;
	} else {
		if (last.errors_known && v->errors_known)
			errors = more_than(v->errors, last.errors);
		v->new_errors = last.new_errors + errors;
	}
	c->second[c->seconds++ % DEVICE_CLOCK_SECONDS] = (struct device_second){
		.at_ns = v->at_ns,
		.wait_ns = c->wait_ns,
		.step_ns = c->step_ns,
		.clock_mhz = v->clock_mhz,
		.celsius = v->celsius,
		.reasons = v->reasons,
		.busy = v->busy,
		.errors = (uint32_t)smaller_of(errors, UINT32_MAX),
		.reasons_known = v->reasons_known,
		.busy_known = v->busy_known,
	};
	c->wait_ns = c->step_ns = 0;
	return errors;
}

void device_clock_step(struct device_clock *c, uint64_t wait_ns, uint64_t step_ns)
{
	if (step_ns > STEPS_MAX_NS - c->step_ns)
		return;
	c->wait_ns += smaller_of(wait_ns, step_ns);
	c->step_ns += step_ns;
}

void device_clock_view(const struct device_clock *c, struct device_view *ret)
{
	*ret = c->last;
}

/* ---- spans ----------------------------------------------------------------------------------- */

void device_clock_between(const struct device_clock *c, uint64_t from_ns, uint64_t to_ns,
			  struct device_sums *ret)
{
	uint64_t kept = smaller_of(c->seconds, DEVICE_CLOCK_SECONDS);
	uint32_t held[GP_DEVICE_REASON_COUNT] = {0};

	*ret = (struct device_sums){0};
	for (uint64_t i = 1; i <= kept; i++) {
		const struct device_second *s = &c->second[(c->seconds - i) % DEVICE_CLOCK_SECONDS];

		if (s->at_ns <= from_ns || s->at_ns > to_ns)
			continue;
		ret->wait_ns += s->wait_ns;
		ret->step_ns += s->step_ns;
		ret->errors += s->errors;
		if (s->reasons & 1u << GP_DEVICE_idle || !s->clock_mhz)
			continue;
		ret->seconds++;
		ret->mhz += s->clock_mhz;
		ret->slowed += s->reasons_known && s->reasons & REASONS_SLOWED;
		if (s->busy_known) {
			ret->busies++;
			ret->busy += s->busy;
		}
		if (s->celsius > ret->hottest)
			ret->hottest = s->celsius;
		for (int k = 0; k < GP_DEVICE_REASON_COUNT; k++)
			held[k] += s->reasons >> k & 1;
	}
	for (int k = 0; k < GP_DEVICE_REASON_COUNT; k++) {
		if (held[k] && held[k] * 4 >= ret->seconds)
			ret->reasons |= 1u << k;
	}
}

static double device_clock_wait(const struct device_sums *s, uint64_t step_ns)
{
	return s->step_ns ? (double)s->wait_ns / (double)s->step_ns * (double)step_ns : 0;
}

static double device_clock_busy(const struct device_sums *s, uint64_t step_ns)
{
	return s->busies ? (double)s->busy / 100 / s->busies * (double)step_ns : 0;
}

uint64_t device_clock_grown(const struct device_sums *before, uint64_t before_ns,
			    const struct device_sums *after, uint64_t after_ns)
{
	double grown = 0;

	if (before->step_ns && after->step_ns)
		grown = device_clock_wait(after, after_ns) - device_clock_wait(before, before_ns);
	else if (before->busies && after->busies)
		grown = device_clock_busy(after, after_ns) - device_clock_busy(before, before_ns);
	return grown > 0 ? (uint64_t)grown : 0;
}

uint64_t device_clock_explains(const struct device_sums *before, uint64_t before_ns,
			       const struct device_sums *after, uint64_t after_ns)
{
	double fell, waits, works;
	uint64_t saved_ns;

	if (before->seconds < SECONDS_MIN || after->seconds < SECONDS_MIN ||
	    after->slowed * 2 < after->seconds)
		return 0;
	fell = 1 - (double)after->mhz / after->seconds / ((double)before->mhz / before->seconds);
	if (fell < FALL_MIN)
		return 0;
	waits = device_clock_wait(after, after_ns);
	works = device_clock_busy(after, after_ns);
	saved_ns = (uint64_t)((waits > works ? waits : works) * fell);
	return smaller_of(saved_ns, device_clock_grown(before, before_ns, after, after_ns));
}

const char *device_clock_text(char *out, size_t len, const struct device_clock *c,
			      const struct device_sums *s)
{
	size_t at = (size_t)snprintf(out, len, "%s", c->last.name);
	const char *separator = " (";

	if (s->seconds && at < len)
		at += (size_t)snprintf(out + at, len - at, " runs at %.0f",
				       (double)s->mhz / s->seconds);
	if (s->seconds && c->last.clock_max_mhz && at < len)
		at += (size_t)snprintf(out + at, len - at, " of %u", c->last.clock_max_mhz);
	if (s->seconds && at < len)
		at += (size_t)snprintf(out + at, len - at, " MHz");
	for (int i = 0; i < GP_DEVICE_REASON_COUNT && at < len; i++) {
		if (!(s->reasons & REASONS_SLOWED & 1u << i))
			continue;
		at += (size_t)snprintf(out + at, len - at, "%s%s", separator,
				       device_reason_text[i]);
		separator = ", ";
	}
	if (*separator == ',' && at < len)
		at += (size_t)snprintf(out + at, len - at, ")");
	if (s->hottest && at < len)
		snprintf(out + at, len - at, ", %u °C", s->hottest);
	return out;
}

/* ---- state ----------------------------------------------------------------------------------- */

void device_clock_archive(struct archive *a, struct device_clock **at)
{
	struct device_clock *c = *at = archive_object(a, *at, sizeof(**at));
	uint32_t kept;

	if (!c)
		return;
	archive_struct(a, sizeof(*c));
	archive_fields(a, &c->last, known, at_ns, name, clock_mhz, clock_max_mhz, power_mw, celsius,
		       reasons_known, busy_known, errors_known, reasons, busy, memory_used,
		       memory_total, errors, new_errors);
	archive_fields(a, c, wait_ns, step_ns, seconds);
	archive_require(a, c->wait_ns <= c->step_ns && c->step_ns <= STEPS_MAX_NS);
	kept = (uint32_t)smaller_of(c->seconds, DEVICE_CLOCK_SECONDS);
	for (uint32_t i = 0; i < kept; i++) {
		struct device_second *s = &c->second[i];

		archive_fields(a, s, at_ns, wait_ns, step_ns, clock_mhz, celsius, reasons, busy,
			       errors, reasons_known, busy_known);
		archive_require(a, s->wait_ns <= s->step_ns && s->step_ns <= STEPS_MAX_NS &&
					   s->busy <= 100);
	}
}

void device_sums_archive(struct archive *a, struct device_sums *s)
{
	archive_fields(a, s, seconds, slowed, busies, mhz, busy, hottest, reasons, wait_ns, step_ns,
		       errors);
	archive_require(a, s->mhz >= s->seconds && s->busy <= s->busies * 100ull &&
				   s->wait_ns <= s->step_ns);
}
