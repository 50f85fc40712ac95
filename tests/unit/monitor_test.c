/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a job's own monitoring, from records to what is told, kept and shown. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/cases/words.h"
#include "userspace/export/file/json_line.h"
#include "userspace/export/prometheus/prometheus_text.h"
#include "userspace/model/model.h"

#define EVENTS 128

struct world {
	struct model *model;
	struct script s;
	struct monitor_event told[EVENTS];
	uint32_t ntold, ranks; /* facts */
	struct buffer lines;   /* of monitor events, as JSON */
};

static void see(void *ctx, const struct fact *f)
{
	struct world *w = ctx;

	w->ranks += f->type == FACT_RANK;
	if (f->type != FACT_MONITOR)
		return;
	assert_true(w->ntold < EVENTS);
	w->told[w->ntold++] = *f->monitor;
	json_line(&w->lines, f, NULL);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->s.records = calloc(SCRIPT_EVENTS, sizeof(struct record));
	assert_non_null(w->s.records);
	w->model = model_new(see, w);
	assert_non_null(w->model);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	assert_int_equal(model_ledger_violations(w->model), 0);
	model_free(w->model);
	buffer_free(&w->lines);
	free(w->s.records);
	free(w);
	return 0;
}

static void feed(struct world *w, const void *record)
{
	const struct gp_rec *rec = record;
	struct event ev;

	assert_int_equal(event_decode(rec, rec->len, &ev), 0);
	assert_int_equal(model_feed(w->model, &ev), 0);
}

/* The moves of a case, fed as one block. */
static void moves(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void moves(struct world *w, const char *fmt, ...)
{
	char line[2000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	script_line(&w->s, line);
	script_block(&w->s);
	if (*w->s.error)
		fail_msg("%s", w->s.error);
	for (uint32_t i = 0; i < w->s.count; i++)
		feed(w, w->s.records[i].bytes);
	w->s.count = 0;
}

static struct gp_monitor *record(void *room, uint64_t ts_ns, uint32_t tid, unsigned index,
				 unsigned count)
{
	struct gp_monitor *m = event_init(room, GP_KIND_monitor, SCRIPT_BASE_NS + ts_ns, 1000,
					  gp_probe_hash("t.monitor"));

	((struct gp_rec *)room)->tid = tid;
	m->index = (__u16)index;
	m->count = (__u16)count;
	m->type = GP_MONITOR_INT;
	snprintf(m->event, sizeof(m->event), "e%u", tid);
	snprintf(m->key, sizeof(m->key), "k%u", index);
	m->value = index;
	return m;
}

static struct snapshot *look(struct world *w)
{
	struct snapshot *s = model_snapshot(w->model);

	assert_non_null(s);
	return s;
}

/* ---- joining --------------------------------------------------------------------------------- */

static void whole_event(void **state)
{
	struct world *w = *state;

	moves(w,
	      "0ms process target | 1s monitor mine double=1.5 int=-42 yes=true no=false text=word");
	assert_int_equal(w->ntold, 1);
	assert_string_equal(w->told[0].name, "mine");
	assert_int_equal(w->told[0].nentries, 5);
	assert_false(w->told[0].truncated);
	assert_int_equal(w->told[0].wall_ns, SCRIPT_REAL_NS + 1000000000LL);
	assert_non_null(strstr(w->lines.data,
			       "\"name\":\"mine\",\"wall_time\":\"2023-11-14T22:13:21.000000000Z\","
			       "\"data\":{\"double\":1.5,\"int\":-42,\"yes\":true,\"no\":false,"
			       "\"text\":\"word\"},\"truncated\":false}"));
}

static void no_entries(void **state)
{
	struct world *w = *state;

	moves(w, "0ms process | 1s monitor bare");
	assert_int_equal(w->ntold, 1);
	assert_int_equal(w->told[0].nentries, 0);
	assert_false(w->told[0].truncated);
	assert_non_null(strstr(w->lines.data, "\"data\":{},\"truncated\":false}"));
}

static void threads_at_once(void **state)
{
	_Alignas(8) char room[GP_RECORD_MAX];
	struct world *w = *state;

	moves(w, "0ms process");
	for (unsigned i = 0; i < 3; i++) {
		for (uint32_t tid = 1; tid <= MONITOR_OPEN; tid++) {
			record(room, 1000 * i + tid, tid, i, 3);
			feed(w, room);
		}
	}
	assert_int_equal(w->ntold, MONITOR_OPEN);
	for (uint32_t i = 0; i < MONITOR_OPEN; i++) {
		assert_int_equal(w->told[i].tid, i + 1);
		assert_int_equal(w->told[i].nentries, 3);
		assert_false(w->told[i].truncated);
	}
	/* One more than there is room for: the oldest is told as it is. */
	w->ntold = 0;
	for (uint32_t tid = 1; tid <= MONITOR_OPEN + 1; tid++) {
		record(room, 9000 + tid, tid, 0, 2);
		feed(w, room);
	}
	assert_int_equal(w->ntold, 1);
	assert_int_equal(w->told[0].tid, 1);
	assert_true(w->told[0].truncated);
}

static void lost_records(void **state)
{
	static const struct {
		const char *move;
		uint32_t entries;
	} rows[] = {
		{"monitor e a=1 b=2 c=3 lost 0", 2},
		{"monitor e a=1 b=2 c=3 lost 2", 2},
		{"monitor e a=1 b=2 of 3", 2},
	};
	struct world *w = *state;

	moves(w, "0ms process");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		w->ntold = 0;
		moves(w, "+1s %s | +3s wait", rows[i].move);
		assert_int_equal(w->ntold, 1);
		assert_int_equal(w->told[0].nentries, rows[i].entries);
		assert_true(w->told[0].truncated);
	}
	/* Of one in its middle: what is behind the hole cannot be joined, and both parts say so. */
	w->ntold = 0;
	moves(w, "+1s monitor e a=1 b=2 c=3 lost 1");
	assert_int_equal(w->ntold, 2);
	assert_true(w->told[0].truncated && w->told[1].truncated);
	/* The one behind is not mixed in. */
	w->ntold = 0;
	moves(w, "+1s monitor e a=1 b=2 lost 1 | +1ms monitor e c=3 d=4");
	assert_int_equal(w->ntold, 2);
	assert_true(w->told[0].truncated && !w->told[1].truncated);
	assert_string_equal(w->told[1].entry[0].key, "c");
}

static void half_at_the_end(void **state)
{
	struct world *w = *state;

	moves(w, "0ms process | 1s monitor e a=1 of 2 | +1ms exit 0");
	assert_int_equal(w->ntold, 1);
	assert_true(w->told[0].truncated);
}

static void more_than_are_told(void **state)
{
	_Alignas(8) char room[GP_RECORD_MAX];
	struct world *w = *state;

	moves(w, "0ms process");
	for (unsigned i = 0; i < GP_MONITOR_MAX; i++) {
		record(room, 1000 * i, 7, i, 0xffff);
		feed(w, room);
	}
	assert_int_equal(w->ntold, 1);
	assert_int_equal(w->told[0].nentries, GP_MONITOR_MAX);
	assert_true(w->told[0].truncated);
	/* Records that no program of ours writes. */
	record(room, 99000, 7, GP_MONITOR_MAX, 0xffff);
	feed(w, room);
	record(room, 99000, 7, 0, 2)->type = 9;
	feed(w, room);
	assert_int_equal(w->ntold, 1);
}

static void cut_texts(void **state)
{
	_Alignas(8) char room[GP_RECORD_MAX];
	struct world *w = *state;
	struct gp_monitor *m;

	moves(w, "0ms process");
	for (unsigned i = 0; i < 2; i++) { /* two keys that differ behind what is told of them */
		m = record(room, 1000 + i, 7, i, 2);
		memset(m->key, 'k', sizeof(m->key) - 1);
		feed(w, room);
	}
	assert_int_equal(w->ntold, 1);
	assert_int_equal(w->told[0].nentries, 1);
	assert_true(w->told[0].truncated);
	m = record(room, 5000, 7, 0, 1);
	m->type = GP_MONITOR_TEXT;
	memset(m->text, '\xff', sizeof(m->text)); /* no end, no UTF-8 */
	memset(m->event, '\x1b', sizeof(m->event));
	feed(w, room);
	assert_int_equal(w->ntold, 2);
	assert_true(w->told[1].truncated);
	assert_null(strchr(w->lines.data, '\x1b'));
}

/* ---- figures --------------------------------------------------------------------------------- */

static void figures_are_kept(void **state)
{
	struct world *w = *state;
	struct snapshot *s;
	const struct rank_view *r;

	moves(w,
	      "0ms process target | 1s monitor torch.monitor.Stat loss.mean=2.0 loss.count=5 a.b.max=nan");
	moves(w,
	      "+1s monitor torch.monitor.Stat loss.mean=0.5 loss.count=4 | +1s monitor other loss.mean=9.0");
	s = look(w);
	assert_int_equal(s->nranks, 1);
	r = &s->ranks[0];
	assert_int_equal(r->monitor_events, 3);
	assert_int_equal(r->monitor_truncated, 0);
	assert_int_equal(r->nmonitor, 3);
	assert_string_equal(r->monitor[0].name, "a.b");
	assert_true(r->monitor[0].aggregation == MONITOR_MAX && isnan(r->monitor[0].value));
	assert_string_equal(r->monitor[1].name, "loss");
	assert_true(r->monitor[1].aggregation == MONITOR_MEAN && r->monitor[1].value == 0.5);
	assert_true(r->monitor[2].aggregation == MONITOR_COUNT && r->monitor[2].value == 4);
	assert_non_null(
		strstr(w->lines.data, "\"a.b.max\":null},\"not_finite\":{\"a.b.max\":\"nan\"}"));
	snapshot_unref(s);
}

static void no_room_for_figures(void **state)
{
	struct world *w = *state;
	struct snapshot *s;

	moves(w, "0ms process target");
	for (int i = 0; i < MONITOR_VALUES / 2 + 3; i++)
		moves(w, "+1ms monitor torch.monitor.Stat s%d.mean=1.5 s%d.sum=%d", i, i, i);
	moves(w, "+1ms monitor torch.monitor.Stat nothing=1 s.median=2 .=3 x.mean=text s0.sum=77");
	s = look(w);
	assert_int_equal(s->ranks[0].nmonitor, MONITOR_VALUES);
	assert_int_equal(s->ranks[0].monitor_unkept, 2 * 3 + 3);
	assert_string_equal(s->ranks[0].monitor[1].name, "s0");
	assert_true(s->ranks[0].monitor[1].value == 77);
	snapshot_unref(s);
}

/* It says nothing of training, nor that this process trains. */
static void makes_no_trainer(void **state)
{
	struct world *w = *state;
	struct gp_counter *c;
	_Alignas(8) char room[GP_RECORD_MAX];
	struct snapshot *s;

	moves(w, "0ms process target | 1s monitor torch.monitor.Stat loss.mean=2.0 | +9s wait");
	c = event_init(room, GP_KIND_counter, SCRIPT_BASE_NS + 11000000000ull, 1000,
		       gp_probe_hash("t.monitor"));
	c->count = 7;
	c->slot = GP_SLOT_NONE;
	feed(w, room);
	s = look(w);
	assert_false(s->ranks[0].trainer);
	assert_int_equal(s->ranks[0].nloops, 0);
	assert_int_equal(s->ranks[0].nmonitor, 1);
	assert_int_equal(w->ranks, 0);
	snapshot_unref(s);
}

/* ---- page ------------------------------------------------------------------------------------ */

static void on_the_page(void **state)
{
	struct world *w = *state;
	struct buffer page = {0};
	struct snapshot *s;

	moves(w,
	      "0ms process rank 3 8 job j target | 1s monitor torch.monitor.Stat a\"b.mean=0.1 l.max=nan l.min=-inf "
	      "l.sum=inf l.count=12345678901");
	s = look(w);
	prometheus_text(&page, s, PROMETHEUS_TEXT);
	assert_false(page.failed);
#define SERIES(name, rest)                                                                         \
	"gpbpf_monitor_value{job_id=\"j\",rank=\"3\",name=\"" name "\",aggregation=\"" rest
	assert_non_null(strstr(page.data, SERIES("a\\\"b", "mean\"} 0.1\n")));
	assert_non_null(strstr(page.data, SERIES("l", "max\"} NaN\n")));
	assert_non_null(strstr(page.data, SERIES("l", "min\"} -Inf\n")));
	assert_non_null(strstr(page.data, SERIES("l", "sum\"} +Inf\n")));
	assert_non_null(strstr(page.data, SERIES("l", "count\"} 12345678901\n")));
#undef SERIES
	assert_non_null(strstr(page.data, "\ngpbpf_monitor_values_left_out 0\n"));
	assert_non_null(
		strstr(page.data, "\ngpbpf_monitor_events_total{job_id=\"j\",rank=\"3\"} 1\n"));
	snapshot_unref(s);
	buffer_free(&page);
}

static void page_is_bounded(void **state)
{
	struct monitor_value values[MONITOR_VALUES] = {{.name = "x"}};
	struct rank_view *ranks = calloc(PROMETHEUS_RANKS, sizeof(*ranks));
	struct snapshot s = {.ranks = ranks, .nranks = PROMETHEUS_RANKS};
	struct buffer page = {0};
	uint32_t n = 0;

	(void)state;
	assert_non_null(ranks);
	for (uint32_t i = 0; i < MONITOR_VALUES; i++)
		snprintf(values[i].name, sizeof(values[i].name), "x%u", i);
	for (uint32_t i = 0; i < PROMETHEUS_RANKS; i++) {
		ranks[i].pid = i + 1;
		ranks[i].monitor = values;
		ranks[i].nmonitor = MONITOR_VALUES;
		ranks[i].monitor_events = 1;
	}
	prometheus_text(&page, &s, PROMETHEUS_TEXT);
	assert_false(page.failed);
	for (const char *at = page.data; (at = strstr(at, "\ngpbpf_monitor_value{")); at++)
		n++;
	assert_int_equal(n, 2048);
	assert_non_null(strstr(page.data, "\ngpbpf_monitor_values_left_out 30720\n"));
	buffer_free(&page);
	free(ranks);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(whole_event),	TEST(no_entries),	TEST(threads_at_once),
		TEST(lost_records),	TEST(half_at_the_end),	TEST(more_than_are_told),
		TEST(cut_texts),	TEST(figures_are_kept), TEST(no_room_for_figures),
		TEST(makes_no_trainer), TEST(on_the_page),	cmocka_unit_test(page_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
