/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "tests/unit/top_node.h"

static int parse(const char *json, size_t len)
{
	struct top_state other = {0};
	int err = top_state_parse(&other, json, len);

	if (err)
		assert_null(other.jobs);
	top_state_free(&other);
	return err;
}

static void a_node_is_read(void **state)
{
	const struct top_job *j;

	(void)state;
	three_jobs();
	fx.s.lost[GP_LOSS_ring_call] = 12;
	take();
	assert_string_equal(s.node, "node-7");
	assert_true(s.service);
	assert_int_equal(s.njobs, 3);
	assert_int_equal(s.nranks, 4);
	assert_int_equal(s.accelerators, 3); /* of those that live */
	assert_int_equal(s.lost, 12);
	assert_string_equal(s.losses, "12 ring_call");
	j = &s.jobs[2];
	assert_string_equal(j->name, "llama-70b");
	assert_int_equal(j->alive, 2);
	assert_int_equal(top_job_marks(j), TOP_HUNG | TOP_STRAGGLER);
	assert_string_equal(s.ranks[j->first + 1].evidence, "thread 4301 reads /data/x");
	assert_int_equal(s.ranks[j->shown].p50_ns, 31200000);
	assert_int_equal(s.ranks[j->shown].recent, TOP_RECENT);
	assert_int_equal(s.ranks[j->shown].recent_ns[63], fx.loops[0].recent_ns[127]);
	assert_true(top_goodput(&j->time) > 0.72 && top_goodput(&j->time) < 0.73);
	assert_string_equal(s.jobs[1].last_disruptions[0].cause, "killed");
	assert_int_equal(s.ranks[s.jobs[1].first].signal, 9);
}

static void what_is_no_state_is_refused(void **state)
{
	struct buffer b = {0};
	char *long_one;

	(void)state;
	three_jobs();
	report_json(&b, &fx.s);
	b.len--; /* its line feed */
	for (size_t len = 0; len < b.len; len += len < 200 ? 1 : 97)
		assert_int_equal(parse(b.data, len), -EBADMSG);
	assert_int_equal(parse(b.data, b.len), 0);
	assert_int_equal(parse(NULL, 0), -EBADMSG);
	assert_int_equal(parse("{}", 2), -EBADMSG);
	assert_int_equal(parse("[]", 2), -EBADMSG);
	assert_int_equal(parse("{\"type\":\"report\"}", 17), -EBADMSG);
	assert_int_equal(parse("{\"type\":\"report\",\"ranks\":[]}", 28), 0);
	assert_int_equal(parse("{\"type\":\"report\",\"ranks\":[\"\033[2J\"]}", 34), -EBADMSG);
	long_one = malloc(TOP_BYTES + 1);
	assert_non_null(long_one);
	memset(long_one, '[', TOP_BYTES + 1);
	assert_int_equal(parse(long_one, 100000), -EBADMSG); /* deep */
	memset(long_one, ',', TOP_BYTES + 1);
	long_one[0] = '[';
	assert_int_equal(parse(long_one, TOP_BYTES), -EBADMSG); /* many */
	memset(long_one, ' ', TOP_BYTES + 1);
	memcpy(long_one, "{\"type\":\"report\",\"ranks\":[]}", 28);
	assert_int_equal(parse(long_one, TOP_BYTES), 0);
	assert_int_equal(parse(long_one, TOP_BYTES + 1), -EBADMSG);
	free(long_one);
	buffer_free(&b);
}

/* Each value in turn is something else. */
static void values_of_another_kind(void **state)
{
	static const char *const other[] = {"null", "true", "-1",    "1e300", "\"x\"",
					    "[]",   "{}",   "[[1]]", "0.5"};
	struct buffer b = {0}, odd = {0};

	(void)state;
	three_jobs();
	report_json(&b, &fx.s);
	for (size_t at = 0, n = 0; at + 1 < b.len; at++) {
		size_t end = at + 1;

		if (b.data[at] != ':' || b.data[at + 1] == '{' || b.data[at + 1] == '[' || at < 20)
			continue;
		end += strcspn(b.data + end, b.data[end] == '"' ? "," : ",}]");
		buffer_clear(&odd);
		buffer_add(&odd, b.data, at + 1);
		buffer_printf(&odd, "%s", other[n++ % (sizeof(other) / sizeof(other[0]))]);
		buffer_add(&odd, b.data + end, b.len - end);
		top_state_free(&s);
		if (!top_state_parse(&s, odd.data, odd.len)) {
			free(frame(80, 24));
			keys("\r");
			free(frame(120, 40));
			keys("q");
		}
	}
	buffer_free(&b);
	buffer_free(&odd);
}

static void more_than_is_kept(void **state)
{
	struct buffer b = {0};

	(void)state;
	buffer_printf(&b, "{\"type\":\"report\",\"ranks\":[");
	for (int i = 0; i < TOP_RANKS + 9; i++)
		buffer_printf(&b,
			      "%s{\"trainer\":true,\"alive\":true,\"pid\":%d,\"job_key\":\"k1\"}",
			      i ? "," : "", i);
	buffer_printf(&b, "],\"jobs\":[");
	for (int i = 0; i < TOP_JOBS + 7; i++)
		buffer_printf(&b, "%s{\"key\":\"k%d\",\"state\":\"running\"}", i ? "," : "", i);
	buffer_printf(&b, "]}");
	assert_int_equal(top_state_parse(&s, b.data, b.len), 0);
	buffer_free(&b);
	assert_int_equal(s.nranks, TOP_RANKS);
	assert_int_equal(s.ranks_beyond, 9);
	assert_int_equal(s.njobs, TOP_JOBS);
	assert_int_equal(s.jobs_beyond, 7);
	assert_int_equal(s.jobs[1].ranks, TOP_RANKS);
	free(frame(80, 24));
	keys("J\r\033[6~\033[F");
	free(frame(80, 24));
	assert_int_equal(ui.pid, 0); /* the first job has no ranks */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_node_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_state_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(values_of_another_kind, setup, teardown),
		cmocka_unit_test_setup_teardown(more_than_is_kept, setup, teardown),
	};

	return cmocka_run_group_tests_name("top_state", tests, NULL, NULL);
}
