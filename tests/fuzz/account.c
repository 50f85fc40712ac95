/* SPDX-License-Identifier: Apache-2.0 */
/* Records of one job, as a log could tell them, through both semantics to what is shown: the closed
 * ledger closes, asking in between changes nothing, no output drives a terminal or is broken JSON.
 * The first byte is the query; each record is RECORD_BYTES more. */
#include <math.h>

#include "tests/fuzz/shown.h"
#include "userspace/ingest/goodput_names.h"
#include "userspace/account/log/job_log.h"
#include "userspace/report/account.h"
#include "userspace/text/canvas.h"

#define RECORD_BYTES 8
#define T0_US	     1735725600000000ll

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	return 0;
}

static bool scales_up(void *ctx, uint32_t name)
{
	(void)ctx;
	return name % 2;
}

/* kind, step (2), time (3: steps of 10 ms, or far away), name, duration */
static struct goodput_record record_of(const uint8_t b[RECORD_BYTES], uint32_t job,
				       const uint32_t types[4])
{
	int64_t time_us = T0_US + (b[3] | b[4] << 8 | b[5] << 16) * 10000ll;
	struct goodput_record r = {.kind = b[0] % GOODPUT_KINDS,
				   .number = b[1] | b[2] << 8,
				   .job = job,
				   .name = types[b[6] % 4],
				   .duration_us = b[7] * 100000ll,
				   .active = b[1],
				   .total = b[2],
				   .available = b[7],
				   .persistent = b[6] & 4};

	if (b[6] == 255)
		time_us = b[7] == 255 ? GOODPUT_TIME_MAX_US : b[7];
	if (b[6] == 254)
		r.number = (1ll << 53) - b[7];
	r.time_us = r.write_us = time_us;
	if (r.kind >= GOODPUT_SAVE && b[6] & 8)
		r.time_us = GOODPUT_UNKNOWN;
	if (r.kind >= GOODPUT_SAVE && b[6] & 16)
		r.duration_us = GOODPUT_UNKNOWN;
	return r;
}

static void shown_80_columns(const struct buffer *b)
{
	char *line, *rest;

	for (line = strtok_r(b->data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		REQUIRE(canvas_width(line) <= ACCOUNT_COLS);
}

static void part_closed(const struct goodput_part *p)
{
	double sum = p->productive_s;

	for (int i = 0; i < BADPUTS; i++) {
		REQUIRE(!(p->has_s & 1u << i) || p->badput_s[i] >= 0);
		if (p->has_s & 1u << i && i != BADPUT_LOAD_ASYNC)
			sum += p->badput_s[i];
	}
	REQUIRE(p->productive_s >= 0);
	REQUIRE(fabs(sum - p->total_s) <= 1e-5 + 1e-9 * p->total_s);
}

/* The JSON, which the caller frees. */
static struct buffer answer_shown(struct goodput_log *log, const struct goodput_query *q,
				  const struct goodput_names *names)
{
	struct buffer text = {0}, json = {0};
	struct goodput_answer a;
	struct account_view v = {.answer = &a, .query = q, .names = names};

	REQUIRE(!goodput_log_answer(log, &a));
	v.last_us = a.now_us;
	if (q->semantics == GOODPUT_CLOSED)
		part_closed(&a.cumulative);
	account_text(&text, &v, false, false);
	REQUIRE(fuzz_printable(text.data, text.len, true));
	shown_80_columns(&text);
	account_json(&json, &v);
	shown_json(&json);
	goodput_answer_free(&a);
	buffer_free(&text);
	return json;
}

static void answered(const uint8_t *data, size_t len, const struct goodput_query *q,
		     struct goodput_names *names)
{
	static const char *const type[4] = {"EVAL", "\033[2J", "\xff\"\\", "scale_up"};
	uint32_t job = goodput_names_put(names, "job\n", 4), types[4];
	struct goodput_log *once = goodput_log_new(q, scales_up, NULL),
			   *often = goodput_log_new(q, scales_up, NULL);
	struct buffer a, b;

	REQUIRE(once && often);
	for (int i = 0; i < 4; i++)
		types[i] = goodput_names_put(names, type[i], strlen(type[i]));
	for (size_t at = 0; at + RECORD_BYTES <= len; at += RECORD_BYTES) {
		struct goodput_record r = record_of(data + at, job, types);

		REQUIRE(!goodput_log_feed(once, &r));
		REQUIRE(!goodput_log_feed(often, &r));
		if (data[at + 5] % 8)
			continue;
		b = answer_shown(often, q, names);
		buffer_free(&b);
	}
	a = answer_shown(once, q, names);
	b = answer_shown(often, q, names);
	REQUIRE(a.len == b.len && !memcmp(a.data, b.data, a.len));
	buffer_free(&a);
	buffer_free(&b);
	goodput_log_free(once);
	goodput_log_free(often);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct goodput_span spans[] = {{T0_US + 5000000, T0_US + 60000000},
						    {T0_US, T0_US}};
	static const int64_t at_us[] = {T0_US + 10000000, T0_US - 1};
	struct goodput_names *names = goodput_names_new();
	struct goodput_query q = {.now_us = GOODPUT_UNKNOWN};

	REQUIRE(names);
	if (len > 1 && len < 1024 * RECORD_BYTES) {
		q.semantics = *data & 1 ? GOODPUT_LIBRARY : GOODPUT_CLOSED;
		q.elastic = *data & 2;
		q.ideal_us = *data & 4 ? 50000 : 0;
		q.now_us = *data & 8 ? T0_US + 100000000 : GOODPUT_UNKNOWN;
		q.windows = q.excludes = spans;
		q.at_us = at_us;
		q.window_count = *data & 16 ? 2 : 0;
		q.exclude_count = *data & 32 ? 2 : 0;
		q.at_count = *data & 64 ? 2 : 0;
		answered(data + 1, len - 1, &q, names);
	}
	goodput_names_free(names);
	return 0;
}
