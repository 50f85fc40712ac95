/* SPDX-License-Identifier: Apache-2.0 */
/* save_test - state saved anywhere and loaded elsewhere goes on as if nothing had happened: for
 * every case of tests/cases and for streams made here, what is told and what is known at the end is
 * the same to the byte. Damaged state is refused; state made up by somebody who knows the checksum
 * does no harm. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include <cmocka.h>

#include "tests/unit/save_streams.h"
#include "userspace/export/file/json_line.h"
#include "userspace/export/prometheus/prometheus_text.h"
#include "userspace/ingest/stream.h"
#include "userspace/model/model.h"
#include "userspace/report/report.h"
#include "userspace/view/view.h"

#define CASES_MAX 400
#define HEAD	  24 /* of an archive: magic 8, length 8, format 4, checksum 4 */

struct world { /* what a gp-bpf keeps, and what it said so far */
	struct stream *stream;
	struct model *model;
	struct buffer said;
	bool deaf;
};

static void on_fact(void *ctx, const struct fact *f)
{
	struct world *w = ctx;

	if (!w->deaf)
		json_line(&w->said, f, NULL);
}

static void on_event(void *ctx, const struct event *ev)
{
	struct world *w = ctx;

	assert_int_equal(model_feed(w->model, ev), 0);
}

static void world_open(struct world *w)
{
	*w = (struct world){0};
	w->stream = stream_new(on_event, w);
	w->model = model_new(on_fact, w);
	assert_non_null(w->stream);
	assert_non_null(w->model);
}

static void world_close(struct world *w)
{
	stream_free(w->stream);
	model_free(w->model);
	buffer_free(&w->said);
}

static void world_feed(struct world *w, const struct tape *t, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		assert_int_equal(
			stream_feed(w->stream, t->bytes.data + t->at[i], t->at[i + 1] - t->at[i]),
			0);
}

/* ---- state ----------------------------------------------------------------------------------- */

struct saved {
	struct buffer stream, model;
};

static void world_save(const struct world *w, struct saved *s)
{
	*s = (struct saved){0};
	assert_int_equal(stream_save(w->stream, &s->stream), 0);
	assert_int_equal(model_save(w->model, &s->model), 0);
}

static void saved_free(struct saved *s)
{
	buffer_free(&s->stream);
	buffer_free(&s->model);
}

static void assert_same(const struct buffer *a, const struct buffer *b, const char *what)
{
	size_t at = 0;

	while (at < a->len && at < b->len && a->data[at] == b->data[at])
		at++;
	if (at < a->len || at < b->len)
		fail_msg("%s differs at byte %zu of %zu and %zu:\n%.200s\n%.200s", what, at, a->len,
			 b->len, a->data ? a->data + (at > 100 ? at - 100 : 0) : "",
			 b->data ? b->data + (at > 100 ? at - 100 : 0) : "");
}

/* Dies and is born again. What it said stays said. */
static void world_reborn(struct world *w)
{
	struct saved s, again;

	world_save(w, &s);
	stream_free(w->stream);
	model_free(w->model);
	assert_int_equal(stream_load(&w->stream, on_event, w, s.stream.data, s.stream.len), 0);
	assert_int_equal(model_load(&w->model, on_fact, w, s.model.data, s.model.len), 0);
	world_save(w, &again);
	assert_same(&s.stream, &again.stream, "the stream, saved again,");
	assert_same(&s.model, &again.model, "the model, saved again,");
	saved_free(&s);
	saved_free(&again);
}

/* Everything that is shown of a snapshot. */
static void world_shown(struct world *w, struct buffer *out)
{
	struct snapshot *s = model_snapshot(w->model);

	assert_non_null(s);
	report_json(out, s);
	report_text(out, s, 0, false);
	prometheus_text(out, s, PROMETHEUS_OPENMETRICS); /* with when counts began */
	live_frame(out, s, 120, 60, false, "");
	for (uint32_t i = 0; i < s->nranks; i++) {
		for (uint32_t k = 0; k < s->ranks[i].nevents; k++)
			buffer_printf(out, "%llu %s\n",
				      (unsigned long long)s->ranks[i].events[k].mono_ns,
				      s->ranks[i].events[k].text);
	}
	buffer_printf(out, "%llu %llu %llu %llu %llu\n", (unsigned long long)s->number,
		      (unsigned long long)s->events, (unsigned long long)s->unfollowed,
		      (unsigned long long)s->forgotten, (unsigned long long)s->dropped);
	assert_int_equal(s->ledger_violations, 0);
	snapshot_unref(s);
}

struct ending {
	struct buffer said, shown;
	struct saved state;
};

static void world_end(struct world *w, struct ending *e)
{
	*e = (struct ending){0};
	stream_finish(w->stream);
	world_save(w, &e->state);
	world_shown(w, &e->shown);
	e->said = w->said;
	w->said = (struct buffer){0};
	world_close(w);
}

static void ending_free(struct ending *e)
{
	saved_free(&e->state);
	buffer_free(&e->said);
	buffer_free(&e->shown);
}

static void assert_ending(struct world *w, const struct ending *want)
{
	struct ending e;

	world_end(w, &e);
	assert_same(&want->said, &e.said, "what was told");
	assert_same(&want->shown, &e.shown, "what is known");
	assert_same(&want->state.stream, &e.state.stream, "the stream at the end");
	assert_same(&want->state.model, &e.state.model, "the model at the end");
	ending_free(&e);
}

/* ---- cuts ------------------------------------------------------------------------------------ */

#define CUTS   6   /* one at a time */
#define REBORN 100 /* one after another, about */

static void cut_everywhere(const struct tape *t)
{
	size_t stride = t->count / REBORN + 1;
	struct ending want;
	struct world w;

	world_open(&w);
	world_feed(&w, t, 0, t->count);
	world_end(&w, &want);
	for (size_t i = 0; i <= CUTS; i++) {
		world_open(&w);
		world_feed(&w, t, 0, t->count * i / CUTS);
		world_reborn(&w);
		world_feed(&w, t, t->count * i / CUTS, t->count);
		assert_ending(&w, &want);
	}
	world_open(&w);
	for (size_t i = 0; i < t->count; i += stride) {
		world_feed(&w, t, i, i + stride < t->count ? i + stride : t->count);
		world_reborn(&w);
	}
	assert_ending(&w, &want);
	ending_free(&want);
}

static void test_case(void **state)
{
	struct tape t = {0};

	tape_case(&t, *state);
	cut_everywhere(&t);
	tape_free(&t);
}

static void test_streams(void **state)
{
	(void)state;
	for (size_t i = 0; i < STREAMS; i++) {
		struct tape t = {0};

		tape_stream(&t, i);
		cut_everywhere(&t);
		tape_free(&t);
	}
}

/* A number is given once, in order, whether or not anybody listened. */
static void test_numbers(void **state)
{
	struct tape t = {0};
	struct world w;
	unsigned long long number, want = 0;

	(void)state;
	tape_stream(&t, 0);
	world_open(&w);
	world_feed(&w, &t, 0, t.count / 2);
	world_reborn(&w);
	world_feed(&w, &t, t.count / 2, t.count);
	stream_finish(w.stream);
	for (const char *at = w.said.data; *at; at = strchr(at, '\n') + 1) {
		assert_int_equal(sscanf(strchr(at, ','), ",\"seq\":%llu,", &number), 1);
		assert_int_equal(number, ++want);
	}
	assert_true(want > 100);
	world_close(&w);
	tape_free(&t);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* The checksum and length of somebody who wants the content to be believed. */
static void reseal(struct buffer *b)
{
	uint64_t len = b->len - HEAD;
	uint32_t crc;

	for (int i = 0; i < 8; i++)
		b->data[8 + i] = (char)(len >> 8 * i);
	crc = (uint32_t)crc32(crc32(0, (Bytef *)b->data, HEAD - 4), (Bytef *)b->data + HEAD,
			      (uInt)len);
	for (int i = 0; i < 4; i++)
		b->data[HEAD - 4 + i] = (char)(crc >> 8 * i);
}

/* In memory of just its size, so that a read beyond the end shows. Returns whether it was
 * loaded. */
static bool world_try(struct world *w, const struct saved *s)
{
	char *stream = malloc(s->stream.len), *model = malloc(s->model.len);
	int err;

	*w = (struct world){.deaf = true};
	memcpy(stream, s->stream.data, s->stream.len);
	memcpy(model, s->model.data, s->model.len);
	err = stream_load(&w->stream, on_event, w, stream, s->stream.len);
	assert_true(!err || err == -EBADMSG || err == -EPROTO);
	if (!err)
		err = model_load(&w->model, on_fact, w, model, s->model.len);
	assert_true(!err || err == -EBADMSG || err == -EPROTO);
	free(stream);
	free(model);
	if (err)
		world_close(w);
	return !err;
}

static void test_truncated(void **state)
{
	struct tape t = {0};
	struct saved s;
	struct world w, loaded;
	size_t whole;

	(void)state;
	tape_stream(&t, 0);
	world_open(&w);
	world_feed(&w, &t, 0, t.count / 8);
	world_save(&w, &s);
	for (struct buffer *b = &s.model;; b = &s.stream) {
		for (whole = b->len; b->len;) {
			b->len--;
			assert_false(world_try(&loaded, &s));
			if (b->len <= HEAD || (b->len % 31 && b->len < whole - 300))
				continue;
			reseal(b);
			assert_false(world_try(&loaded, &s));
		}
		if (b == &s.stream)
			break;
		saved_free(&s);
		world_save(&w, &s);
	}
	saved_free(&s);
	world_close(&w);
	tape_free(&t);
}

/* What was believed is fed and looked at: it may know nonsense, it may not break. */
static void world_exercise(struct world *w, const struct tape *t, size_t from)
{
	struct snapshot *s;
	struct saved again;
	size_t to = from + 400 < t->count ? from + 400 : t->count;

	world_feed(w, t, from, to);
	stream_finish(w->stream);
	s = model_snapshot(w->model);
	assert_non_null(s);
	snapshot_unref(s);
	world_save(w, &again);
	saved_free(&again);
}

static void flip(struct buffer *b, uint32_t *seed)
{
	size_t bit;

	*seed = *seed * 1664525u + 1013904223u;
	bit = HEAD * 8 + (*seed >> 4) % (8 * (b->len - HEAD));
	b->data[bit / 8] = (char)(b->data[bit / 8] ^ 1 << bit % 8);
}

static void test_flipped(void **state)
{
	uint32_t seed = 1, believed = 0;

	(void)state;
	for (size_t i = 0; i < STREAMS; i++) {
		struct tape t = {0};
		struct world w, loaded;
		struct saved s;

		tape_stream(&t, i);
		world_open(&w);
		world_feed(&w, &t, 0, t.count / 2);
		for (int k = 0; k < 40; k++) {
			world_save(&w, &s);
			flip(k % 8 ? &s.model : &s.stream, &seed);
			assert_false(world_try(&loaded, &s));
			for (int more = 0; more < k % 3; more++)
				flip(k % 8 ? &s.model : &s.stream, &seed);
			reseal(&s.model);
			reseal(&s.stream);
			if (world_try(&loaded, &s)) {
				world_exercise(&loaded, &t, t.count / 2);
				world_close(&loaded);
				believed++;
			}
			saved_free(&s);
		}
		world_close(&w);
		tape_free(&t);
	}
	assert_true(believed > 0);
}

/* ---- main ------------------------------------------------------------------------------------ */

static int is_case(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return dot && !strcmp(dot, ".case");
}

int main(void)
{
	static struct CMUnitTest tests[CASES_MAX + 4] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_flipped),
	};
	static char paths[CASES_MAX][300];
	struct dirent **names = NULL;
	int n = scandir("tests/cases", &names, is_case, alphasort), failed;

	if (n <= 0 || n > CASES_MAX) {
		fprintf(stderr, "no cases in tests/cases (run this from the top of the tree)\n");
		return 1;
	}
	for (int i = 0; i < n; i++) {
		snprintf(paths[i], sizeof(paths[i]), "tests/cases/%s", names[i]->d_name);
		tests[4 + i] = (struct CMUnitTest){
			.name = paths[i], .test_func = test_case, .initial_state = paths[i]};
		free(names[i]);
	}
	free(names);
	failed = _cmocka_run_group_tests("save", tests, (size_t)n + 4, NULL, NULL);
	return failed != 0;
}
