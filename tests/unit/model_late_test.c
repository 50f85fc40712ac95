/* SPDX-License-Identifier: Apache-2.0 */
/* What is told late: who a process is, after its first records; a probe's place, when there are
 * many already. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/unit/loop_feed.h"
#include "userspace/model/signal/device_code.h"
#include "userspace/model/signal/model_probe.h"

static void see(void *ctx, const struct fact *f)
{
	(void)ctx;
	(void)f;
}

/* Its ledger then begins earlier than when it became its job's reference: the job's does not run
 * ahead of now. */
static void test_reference_introduced(void **state)
{
	struct model *m = model_new(see, NULL);
	struct loop_feed f;
	struct gp_process *p;
	struct snapshot *s;
	uint64_t first_ns;

	(void)state;
	assert_non_null(m);
	loop_open(&f, m, 0, LOOP_S, "");
	first_ns = f.now_ns;
	for (int i = 0; i < 20; i++)
		loop_move(&f, LOOP_PID, BACKWARD, NULL, i ? LOOP_S / 10 : 0);
	p = loop_record(&f, GP_KIND_process, LOOP_PID, NULL);
	p->start_ns = p->start_mono_ns = first_ns - 100 * LOOP_S;
	p->rank = p->world_size = p->local_rank = -1;
	loop_feed(&f);
	f.now_ns += LOOP_S;
	((struct gp_exit *)loop_record(&f, GP_KIND_exit, LOOP_PID, NULL))->status = 9;
	loop_feed(&f);
	f.now_ns += LOOP_S;
	loop_tick(&f);
	assert_false(f.refused);
	s = model_snapshot(m);
	assert_non_null(s);
	assert_int_equal(s->ranks[0].ledger.start_ns, first_ns - 100 * LOOP_S);
	assert_int_equal(s->njobs, 1);
	assert_int_equal(s->jobs[0].state, JOB_DOWN);
	assert_int_equal(s->jobs[0].ledger.start_ns, first_ns);
	assert_int_equal(s->jobs[0].ledger.now_ns, f.now_ns);
	snapshot_unref(s);
	model_free(m);
}

static void place(struct model_probes *ps, uint64_t ino, unsigned state)
{
	const struct attach_view *told;
	struct gp_attach a = {.dev = 1, .ino = ino, .state = (__u8)state};

	assert_int_equal(model_probe_attach(ps, 7, &a, ino, &told), 0);
}

/* As a node has them that runs for long, with an image for each job. */
static void test_more_places(void **state)
{
	struct model_probes ps;
	struct attach_view *views;
	uint32_t n = MODEL_ATTACH;

	(void)state;
	assert_int_equal(model_probes_init(&ps), 0);
	place(&ps, 1, GP_ATTACH_attached);
	for (uint64_t ino = 2; ino <= MODEL_ATTACH; ino++)
		place(&ps, ino, GP_ATTACH_detached);
	place(&ps, MODEL_ATTACH + 1, GP_ATTACH_attached);
	place(&ps, MODEL_ATTACH + 2, GP_ATTACH_failed);
	assert_int_equal(ps.nattach, n);
	assert_int_equal(model_probes_view(&ps, &views), 0);
	assert_int_equal(views[0].at.ino, 1);
	assert_int_equal(views[1].at.ino, 4);
	assert_int_equal(views[n - 2].at.ino, MODEL_ATTACH + 1);
	assert_int_equal(views[n - 1].at.ino, MODEL_ATTACH + 2);
	assert_int_equal(model_probe_since(&ps, 7, MODEL_ATTACH + 3), MODEL_ATTACH + 1);
	free(views);
	model_probes_clear(&ps);
}

/* Each start names the codes again: what it says last counts, and nothing grows. */
static void test_codes_again(void **state)
{
	struct gp_code code = {.kind = GP_FAULT_device, .runtime = "made"};
	struct device_codes codes = {0};

	(void)state;
	for (int start = 0; start < 3; start++) {
		for (int i = 0; i < DEVICE_CODES; i++) {
			code.code = i;
			snprintf(code.name, sizeof(code.name), "NAME_%d_%d", i, start);
			assert_int_equal(device_codes_add(&codes, &code), 0);
		}
	}
	assert_int_equal(codes.count, DEVICE_CODES);
	assert_string_equal(device_codes_find(&codes, "made", 7)->name, "NAME_7_2");
	assert_null(device_codes_find(&codes, "other", 7));
	device_codes_clear(&codes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference_introduced),
					   cmocka_unit_test(test_more_places),
					   cmocka_unit_test(test_codes_again)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
