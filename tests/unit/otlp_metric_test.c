/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of OpenTelemetry: of what has ended there are points for a while. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/export/measure/owners.h"
#include "userspace/export/otlp/otlp_metric.h"

#define S 1000000000ull

static void what_ended_has_points_for_a_while(void **state)
{
	static struct job_view job = {
		.reported_here = true, .state = JOB_ENDED, .ledger.now_ns = 100 * S};
	static struct rank_view rank = {.trainer = true, .pid = 7, .ledger.now_ns = 100 * S};
	struct snapshot s = {.jobs = &job, .njobs = 1, .ranks = &rank, .nranks = 1, .real_ns = 1};
	struct buffer out = {0};
	uint32_t at = 0, points;

	(void)state;
	s.mono_ns = 100 * S + OWNERS_GRACE_NS;
	points = otlp_metrics(&out, &s, &at);
	assert_true(points);
	assert_non_null(strstr(out.data, "gpbpf.job.state"));
	assert_non_null(strstr(out.data, "gpbpf.rank.hung"));
	buffer_clear(&out);
	s.mono_ns++;
	assert_int_equal(otlp_metrics(&out, &s, &at), 0);
	assert_int_equal(out.len, 0);
	/* what goes on has them, however long nothing is heard of it */
	job.state = JOB_RUNNING;
	rank.alive = true;
	assert_int_equal(otlp_metrics(&out, &s, &at), points);
	buffer_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_ended_has_points_for_a_while)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
