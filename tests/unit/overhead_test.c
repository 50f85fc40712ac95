/* SPDX-License-Identifier: Apache-2.0 */
/* What observing costs: ever, lately, of which part; what the budget took, from the tape to what is
 * shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/fixture.h"
#include "userspace/export/file/json_line.h"
#include "userspace/export/prometheus/prometheus_text.h"
#include "userspace/model/model.h"
#include "userspace/model/time/overhead.h"
#include "userspace/report/report.h"
#include "userspace/text/format.h"

#define PID 4242

static void has(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("'%s' is not in:\n%s", what, text);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void lately_is_the_last_ticks(void **state)
{
	struct overhead o = {0};
	struct overhead_view v;

	(void)state;
	overhead_view(&o, &v);
	assert_int_equal(v.recent_ns, 0);
	overhead_add(&o, GP_GROUP_bulk, 1000); /* long ago, before the first tick */
	for (uint64_t t = 1; t <= 40; t++) {
		overhead_tick(&o, t * S);
		overhead_view(&o, &v);
		if (t < 2)
			assert_int_equal(v.recent_ns, 0);
		else
			assert_int_equal(v.recent_ns, (t < 10 ? t - 1 : 9) * S);
		overhead_add(&o, GP_GROUP_marker, 3);
		overhead_add(&o, GP_GROUP_fault, t == 20 ? 100 : 0);
	}
	assert_int_equal(v.sum.all_ns, 1000 + 39 * 3 + 100);
	assert_int_equal(v.sum.marker_ns, 39 * 3);
	assert_int_equal(v.recent.all_ns, 9 * 3);
	assert_int_equal(v.recent.marker_ns, 9 * 3);
}

/* ---- the model ------------------------------------------------------------------------------- */

struct told {
	uint8_t state[8];
	int n;
};

static void remember(void *ctx, const struct fact *f)
{
	struct told *t = ctx;

	if (f->type != FACT_PROBE)
		return;
	assert_string_equal(f->probe->id, "torch.reducer");
	assert_true(t->n < 8);
	t->state[t->n++] = f->probe->at.state;
}

static void feed(struct model *m, const void *rec)
{
	struct event ev;

	assert_int_equal(event_decode(rec, ((const struct gp_rec *)rec)->len, &ev), 0);
	assert_int_equal(model_feed(m, &ev), 0);
}

static void define(struct model *m, const char *id, enum gp_role role, enum gp_group group)
{
	_Alignas(8) char buf[GP_RECORD_MAX];
	struct gp_probe *p = event_init(buf, GP_KIND_probe, 1, 0, gp_probe_hash(id));

	p->role = (uint16_t)role;
	p->group = (uint16_t)group;
	snprintf(p->id, sizeof(p->id), "%s", id);
	snprintf(p->runtime, sizeof(p->runtime), "%.*s", (int)strcspn(id, "."), id);
	feed(m, buf);
}

static void attach(struct model *m, const char *id, enum gp_attach_state state)
{
	_Alignas(8) char buf[GP_RECORD_MAX];
	struct gp_attach *a = event_init(buf, GP_KIND_attach, 2, 0, gp_probe_hash(id));

	a->ino = 7;
	a->hit_cost_ns = 500;
	a->state = (uint8_t)state;
	feed(m, buf);
}

static void count(struct model *m, const char *id, uint64_t n)
{
	_Alignas(8) char buf[GP_RECORD_MAX];
	struct gp_counter *c = event_init(buf, GP_KIND_counter, 3, PID, gp_probe_hash(id));

	c->count = n;
	c->slot = GP_SLOT_NONE;
	feed(m, buf);
}

static void follow(struct model *m)
{
	_Alignas(8) char buf[GP_RECORD_MAX];
	struct gp_process *p = event_init(buf, GP_KIND_process, 2, PID, 0);

	p->flags = GP_PROCESS_TARGET;
	p->rank = p->world_size = p->local_rank = -1;
	feed(m, buf);
}

static void configure(struct model *m, const char *text)
{
	_Alignas(8) char buf[GP_RECORD_MAX];
	struct gp_config *c = event_init(buf, GP_KIND_config, 1, 0, 0);

	snprintf(c->text, sizeof(c->text), "%s", text);
	feed(m, buf);
}

static void what_the_budget_takes_is_told(void **state)
{
	static const enum gp_attach_state states[] = {
		GP_ATTACH_attached, GP_ATTACH_attached, GP_ATTACH_counted,  GP_ATTACH_counted,
		GP_ATTACH_given_up, GP_ATTACH_attached, GP_ATTACH_detached, GP_ATTACH_attached,
	};
	struct told told = {0};
	struct model *m = model_new(remember, &told);
	struct snapshot *s;

	(void)state;
	configure(m, "overhead_budget_ppm=1000");
	define(m, "torch.reducer", GP_ROLE_reducer, GP_GROUP_confirm);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		attach(m, "torch.reducer", states[i]);
	assert_int_equal(told.n, 3);
	assert_int_equal(told.state[0], GP_ATTACH_counted);
	assert_int_equal(told.state[1], GP_ATTACH_given_up);
	assert_int_equal(told.state[2], GP_ATTACH_attached);
	follow(m);
	count(m, "torch.reducer", 33);
	assert_int_equal(model_roles(m), 0); /* no loop is looked for */
	s = model_snapshot(m);
	assert_int_equal(s->budget_ppm, 1000);
	assert_int_equal(s->attach[0].unsent, 33);
	assert_int_equal(s->attach[0].hits, 33);
	assert_int_equal(s->attach[0].given_up, 3);
	assert_int_equal(s->ranks[0].overhead.sum.all_ns, 33 * 500);
	assert_int_equal(s->nranks, 1);
	assert_false(s->ranks[0].trainer); /* what was not sent is no signal */
	snapshot_unref(s);
	model_free(m);
}

static void the_chosen_probe_costs_as_the_marker(void **state)
{
	struct model *m = model_new(NULL, NULL);
	struct snapshot *s;

	(void)state;
	configure(m, "marker=torch.wait");
	define(m, "torch.wait", GP_ROLE_sync, GP_GROUP_confirm);
	define(m, "torch.other", GP_ROLE_sync, GP_GROUP_confirm);
	attach(m, "torch.wait", GP_ATTACH_attached);
	attach(m, "torch.other", GP_ATTACH_attached);
	follow(m);
	count(m, "torch.wait", 30);
	count(m, "torch.other", 4);
	s = model_snapshot(m);
	assert_int_equal(s->nranks, 1);
	assert_int_equal(s->ranks[0].overhead.sum.all_ns, 34 * 500);
	assert_int_equal(s->ranks[0].overhead.sum.marker_ns, 30 * 500);
	snapshot_unref(s);
	model_free(m);
}

static void the_marker_that_was_asked_for_is_kept(void **state)
{
	struct model *m = model_new(NULL, NULL);

	(void)state;
	define(m, "torch.reducer", GP_ROLE_reducer, GP_GROUP_confirm);
	define(m, "cuda.resume", GP_ROLE_resume, GP_GROUP_confirm); /* beyond the first 32 */
	configure(m, "marker=torch.reducer");
	assert_int_equal(model_chosen(m), gp_probe_hash("torch.reducer"));
	configure(m, "marker=cuda.resume");
	assert_int_equal(model_chosen(m), gp_probe_hash("cuda.resume"));
	assert_int_equal(model_roles(m), 0); /* the row, and none beside it */
	model_free(m);
}

/* Runs of one program through a plugin's table, each fed with the output of the one before. */
static void runs(struct model *m, uint64_t program, int n)
{
	static uint64_t at_ns = 10000000000ull;
	_Alignas(8) char buf[GP_RECORD_MAX];

	for (int i = 0; i < n; i++) {
		struct gp_call *c;

		at_ns += 1000000;
		c = event_init(buf, GP_KIND_call, at_ns, PID, gp_probe_hash("pjrt.execute"));
		c->dur_ns = 1000;
		c->arg[0] = program;
		c->arg[1] = 14;
		c->arg[4] = program + 1;
		c->arg[5] = program + 1;
		feed(m, buf);
	}
	event_init(buf, GP_KIND_tick, at_ns, 0, 0);
	feed(m, buf);
}

/* What tells which program trains is kept while that is looked for, and asked for when another one
 * comes. */
static void what_a_program_is_fed_with_is_kept_while_it_matters(void **state)
{
	const uint64_t flow = 1ull << GP_ROLE_buffer_in;
	struct model *m = model_new(NULL, NULL);
	struct snapshot *s;

	(void)state;
	define(m, "pjrt.execute", GP_ROLE_execute, GP_GROUP_marker);
	define(m, "pjrt.from_host", GP_ROLE_buffer_in, GP_GROUP_bulk);
	attach(m, "pjrt.execute", GP_ATTACH_attached);
	attach(m, "pjrt.from_host", GP_ATTACH_attached);
	follow(m);
	assert_false(model_roles(m) & flow);
	runs(m, 100, 1);
	assert_true(model_roles(m) & flow);
	runs(m, 100, 100);
	assert_false(model_roles(m) & flow);
	attach(m, "pjrt.from_host", GP_ATTACH_given_up);
	runs(m, 100, 100);
	assert_false(model_roles(m) & flow);
	runs(m, 200, 30);
	assert_true(model_roles(m) & flow);
	attach(m, "pjrt.from_host", GP_ATTACH_attached);
	runs(m, 200, 100);
	assert_false(model_roles(m) & flow);
	s = model_snapshot(m);
	assert_int_equal(s->ranks[0].loops[0].state.steps, 331);
	assert_int_equal(s->ranks[0].loops[0].state.unit, UNIT_STEP);
	snapshot_unref(s);
	model_free(m);
}

/* ---- shown ----------------------------------------------------------------------------------- */

static struct fixture fx;

static int start(void **state)
{
	struct attach_view *a;
	struct rank_view *r;

	(void)state;
	fixture_init(&fx);
	r = fixture_trainer(&fx, PID, 3, 4);
	r->alive = true;
	r->overhead = (struct overhead_view){
		.sum = {.all_ns = 400 * MS, .marker_ns = 300 * MS},
		.recent = {.all_ns = 50 * MS, .marker_ns = 20 * MS},
		.recent_ns = 10 * S,
	};
	fx.s.budget_ppm = 1000;
	a = fixture_attach(&fx, "torch.backward", "libtorch_cpu.so", GP_ATTACH_attached, 9);
	a->group = GP_GROUP_marker;
	a = fixture_attach(&fx, "torch.amp_update", "libtorch_cpu.so", GP_ATTACH_absent, 0);
	a->group = GP_GROUP_confirm;
	a = fixture_attach(&fx, "torch.reducer", "libtorch_cpu.so", GP_ATTACH_counted, 9);
	a->group = GP_GROUP_confirm;
	a->unsent = 5;
	a->given_up = 1;
	return 0;
}

static void metrics_show_it(void **state)
{
	struct buffer text = {0};

	(void)state;
	prometheus_text(&text, &fx.s, PROMETHEUS_TEXT);
	has(text.data,
	    "gpbpf_overhead_seconds_total{job_id=\"mnist\",rank=\"3\",part=\"marker\"} 0.3\n");
	has(text.data,
	    "gpbpf_overhead_seconds_total{job_id=\"mnist\",rank=\"3\",part=\"other\"} 0.1\n");
	has(text.data, "gpbpf_overhead_budget_ratio 0.001\n");
	has(text.data, "gpbpf_probe_unsent_total{probe=\"torch.reducer\"} 5\n");
	has(text.data, "gpbpf_probes{group=\"confirm\",state=\"counted\"} 1\n");
	has(text.data, "gpbpf_probes{group=\"marker\",state=\"attached\"} 1\n");
	has(text.data, "gpbpf_probes{group=\"marker\",state=\"given_up\"} 0\n");
	has(text.data, "gpbpf_probes{group=\"measure\",state=\"idle\"} 0\n");
	buffer_clear(&text);
	fx.s.budget_ppm = 0;
	fx.s.ranks[0].alive = false;
	prometheus_text(&text, &fx.s, PROMETHEUS_TEXT);
	assert_null(strstr(text.data, "gpbpf_overhead_budget_ratio"));
	buffer_free(&text);
}

static void reports_say_it(void **state)
{
	struct buffer text = {0};
	char words[256];

	(void)state;
	assert_string_equal(text_given_up(words, sizeof(words), &fx.s),
			    "confirm of torch counted, not sent");
	report_text(&text, &fx.s, 0, false);
	has(text.data, "0.400 % of the time (the marker 0.300 %)");
	has(text.data, "the marker alone costs more than the budget of 0.1 %");
	has(text.data, "confirm of torch counted, not sent  over the overhead budget of 0.1 %");
	buffer_clear(&text);
	fx.attach[2].at.state = GP_ATTACH_given_up;
	has(text_given_up(words, sizeof(words), &fx.s), "confirm of torch detached");
	fx.attach[2].at.state = GP_ATTACH_attached;
	has(text_given_up(words, sizeof(words), &fx.s), "for a while, now back");
	fx.attach[2].given_up = 0;
	assert_null(text_given_up(words, sizeof(words), &fx.s));
	fx.s.budget_ppm = 5000;
	report_text(&text, &fx.s, 0, false);
	assert_null(strstr(text.data, "gave up"));
	assert_null(strstr(text.data, "the marker alone"));
	buffer_free(&text);
}

static void lines_tell_it(void **state)
{
	struct fact f = {.type = FACT_PROBE, .rank = -1, .world_size = -1, .probe = &fx.attach[2]};
	struct buffer text = {0};

	(void)state;
	json_line(&text, &f, NULL);
	has(text.data, "\"type\":\"probe\"");
	has(text.data,
	    "\"probe\":\"torch.reducer\",\"library\":\"libtorch_cpu.so\",\"group\":\"confirm\","
	    "\"state\":\"counted\"}");
	buffer_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lately_is_the_last_ticks),
		cmocka_unit_test(what_the_budget_takes_is_told),
		cmocka_unit_test(the_chosen_probe_costs_as_the_marker),
		cmocka_unit_test(the_marker_that_was_asked_for_is_kept),
		cmocka_unit_test(what_a_program_is_fed_with_is_kept_while_it_matters),
		cmocka_unit_test_setup(metrics_show_it, start),
		cmocka_unit_test_setup(reports_say_it, start),
		cmocka_unit_test_setup(lines_tell_it, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
