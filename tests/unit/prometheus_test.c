/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/fixture.h"
#include "userspace/export/prometheus/prometheus_text.h"

static struct fixture fx;
static int setup(void **state)
{
	(void)state;
	fixture_init(&fx);
	return 0;
}

static char *page(void)
{
	struct buffer b = {0};

	prometheus_text(&b, &fx.s, PROMETHEUS_TEXT);
	assert_false(b.failed);
	return b.data;
}

static void has(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	if (!at || (at != text && at[-1] != '\n'))
		fail_msg("no line: %s", line);
}

static void values(void **state)
{
	struct loop_view *l;
	char *text;

	(void)state;
	fixture_trainer(&fx, 4242, 0, 2);
	fx.s.lost[GP_LOSS_late] = 3;
	text = page();
	has(text, "gpbpf_up 1\n");
	has(text, "gpbpf_build_info{version=\"0.1.0\"} 1\n");
	has(text, "# TYPE gpbpf_steps_total counter\n");
	has(text, "gpbpf_steps_total{job_id=\"mnist\",rank=\"0\"} 2000\n");
	has(text, "gpbpf_rank_state{job_id=\"mnist\",rank=\"0\",state=\"locked\"} 1\n");
	assert_null(strstr(text, "state=\"suspect\""));
	has(text, "# TYPE gpbpf_step_seconds summary\n");
	has(text, "gpbpf_step_seconds_sum{job_id=\"mnist\",rank=\"0\"} 72.4\n");
	has(text, "gpbpf_step_seconds{job_id=\"mnist\",rank=\"0\",quantile=\"0.5\"} 0.0312\n");
	has(text, "gpbpf_step_seconds_count{job_id=\"mnist\",rank=\"0\"} 2000\n");
	has(text, "gpbpf_time_seconds{job_id=\"mnist\",rank=\"0\",bucket=\"GOODPUT\"} 72.4\n");
	has(text, "gpbpf_goodput_ratio{job_id=\"mnist\",rank=\"0\"} 0.724\n");
	has(text, "gpbpf_checkpoints_total{job_id=\"mnist\",rank=\"0\",op=\"save\"} 4\n");
	has(text, "gpbpf_records_lost_total{cause=\"late\"} 3\n");
	free(text);
	l = fx.ranks[0].loops;
	l->state.confidence = 0.69; /* unknown: no sample, and no family without one */
	text = page();
	assert_null(strstr(text, "gpbpf_step_seconds"));
	assert_null(strstr(text, "gpbpf_step_ideal_seconds"));
	assert_non_null(strstr(text, "gpbpf_steps_total{"));
	free(text);
}

static void hangs(void **state)
{
	struct rank_view *r = fixture_trainer(&fx, 4242, 0, 2);
	char *text;

	(void)state;
	fixture_process(&fx, 4100); /* one that does not train cannot hang */
	text = page();
	has(text, "gpbpf_rank_hung{job_id=\"mnist\",rank=\"0\"} 0\n");
	assert_null(strstr(text, "gpbpf_rank_hung{job_id=\"\""));
	free(text);
	fixture_hang(r, GP_WHY_collective, false, "");
	text = page();
	has(text, "gpbpf_rank_hung{job_id=\"mnist\",rank=\"0\",why=\"collective\"} 1\n");
	has(text, "gpbpf_hangs_total{job_id=\"mnist\",rank=\"0\"} 1\n");
	has(text, "gpbpf_hang_seconds_total{job_id=\"mnist\",rank=\"0\"} 42\n");
	free(text);
	fixture_hang(r, GP_WHY_collective, true, "");
	text = page();
	has(text, "gpbpf_rank_hung{job_id=\"mnist\",rank=\"0\"} 0\n");
	has(text, "gpbpf_hang_seconds_total{job_id=\"mnist\",rank=\"0\"} 42\n");
	free(text);
}

/* The first loop has no label, and gets none when another comes: its series go on. */
static void loops_by_number(void **state)
{
	struct rank_view *r = fixture_trainer(&fx, 4242, 0, 2);
	static struct loop_view loops[2];
	char *text;

	(void)state;
	loops[0] = loops[1] = r->loops[0];
	loops[1].state.loop = 1;
	loops[1].state.steps = 7;
	r->loops = loops;
	text = page();
	assert_null(strstr(text, "loop=\""));
	free(text);
	r->nloops = 2;
	text = page();
	has(text, "gpbpf_steps_total{job_id=\"mnist\",rank=\"0\"} 2000\n");
	has(text, "gpbpf_steps_total{job_id=\"mnist\",rank=\"0\",loop=\"1\"} 7\n");
	has(text, "gpbpf_step_seconds_count{job_id=\"mnist\",rank=\"0\",loop=\"1\"} 2000\n");
	assert_null(strstr(text, "loop=\"0\""));
	free(text);
}

static void slow_loops(void **state)
{
	struct loop_view *l = &fixture_trainer(&fx, 4242, 0, 2)->loops[0];
	struct change_view *c = &l->change;
	char *text;

	(void)state;
	text = page();
	assert_null(strstr(text, "gpbpf_loop_slow{"));
	free(text);
	c->known = true;
	text = page();
	has(text, "gpbpf_loop_slow{job_id=\"mnist\",rank=\"0\"} 0\n");
	assert_null(strstr(text, "gpbpf_loop_slow_ratio"));
	free(text);
	c->slow = true;
	c->before_ns = 30 * MS;
	c->after_ns = 60 * MS;
	text = page();
	has(text, "gpbpf_loop_slow{job_id=\"mnist\",rank=\"0\"} 0\n");
	free(text);
	l->slow_alarm = true;
	text = page();
	assert_non_null(strstr(text, "\ngpbpf_loop_slow{job_id=\"mnist\",rank=\"0\",phase=\""));
	has(text, "gpbpf_loop_slow_ratio{job_id=\"mnist\",rank=\"0\"} 2\n");
	free(text);
}

/* What its job tells a rank does not tell again; whoever has no job tells it itself. */
static void what_a_job_tells(void **state)
{
	struct rank_view *r = fixture_trainer(&fx, 4242, 0, 2);
	static struct job_view j = {
		.key = 1, .name = "mnist", .reported_here = true, .last_step = 2000};
	char *text;

	(void)state;
	r->windows[0] = (struct window_view){.length_ns = 3600 * S, .to_ns = 1800 * S};
	r->windows[0].ns[BUCKET_GOODPUT] = 900 * S;
	r->windows[0].ns[BUCKET_OTHER] = 900 * S;
	memcpy(j.windows, r->windows, sizeof(j.windows));
	text = page();
	has(text, "gpbpf_window_goodput_ratio{job_id=\"mnist\",rank=\"0\",window=\"1h\"} 0.5\n");
	has(text,
	    "gpbpf_window_observed_seconds{job_id=\"mnist\",rank=\"0\",window=\"1h\"} 1800\n");
	has(text, "gpbpf_step_number{job_id=\"mnist\",rank=\"0\"} 2000\n");
	has(text, "gpbpf_goodput_ratio{job_id=\"mnist\",rank=\"0\"} 0.724\n");
	free(text);
	fx.s.jobs = &j;
	fx.s.njobs = 1;
	r->job_key = 1;
	text = page();
	has(text, "gpbpf_job_window_goodput_ratio{job_id=\"mnist\",window=\"1h\"} 0.5\n");
	has(text, "gpbpf_job_step_number{job_id=\"mnist\"} 2000\n");
	assert_null(strstr(text, "gpbpf_window_"));
	assert_null(strstr(text, "gpbpf_step_number"));
	assert_null(strstr(text, "gpbpf_goodput_ratio"));
	free(text);
}

static void nothing_known(void **state)
{
	struct buffer b = {0};

	(void)state;
	prometheus_text(&b, NULL, PROMETHEUS_TEXT);
	has(b.data, "gpbpf_up 1\n");
	assert_null(strstr(b.data, "gpbpf_events_total"));
	buffer_free(&b);
	fixture_process(&fx, 7);
	b.data = page();
	assert_null(strstr(b.data, "nan"));
	assert_null(strstr(b.data, "gpbpf_goodput_ratio"));
	free(b.data);
}

static void labels_are_escaped(void **state)
{
	struct rank_view *r = fixture_trainer(&fx, 4242, -1, -1);
	char *text;

	(void)state;
	snprintf(r->job, sizeof(r->job), "a\"b\\c\nd\x1b[0m\xff");
	text = page();
	assert_non_null(strstr(text, "job_id=\"a\\\"b\\\\c\\nd?[0m?\",pid=\"4242\""));
	assert_null(strchr(text, '\x1b'));
	free(text);
}

static int line_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* No series twice, families not interleaved, header before samples: checked over the whole page. */
static void no_series_twice(void **state)
{
	static char *names[200000];
	char *text, *save = NULL, *space;
	size_t n = 0;

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		fixture_trainer(&fx, 4242, (int)i % 2, 2); /* one pid four times */
	fx.ranks[2].start_mono_ns += 5;
	fixture_attach(&fx, "torch.a", "libtorch_cpu.so", GP_ATTACH_attached, 5);
	fixture_attach(&fx, "torch.b", "libtorch_cpu.so", GP_ATTACH_failed, 0);
	fixture_attach(&fx, "torch.a", "libtorch_cpu.so", GP_ATTACH_failed, 5);
	fixture_attach(&fx, "torch.a", "libtorch.so", GP_ATTACH_absent, 5);
	text = page();
	has(text, "gpbpf_probe_hits_total{probe=\"torch.a\"} 5\n");
	has(text, "gpbpf_probe_attached{probe=\"torch.a\",library=\"libtorch_cpu.so\"} 1\n");
	has(text, "gpbpf_probe_attached{probe=\"torch.b\",library=\"libtorch_cpu.so\"} 0\n");
	assert_null(strstr(text, "library=\"libtorch.so\""));
	for (char *at = strtok_r(text, "\n", &save); at; at = strtok_r(NULL, "\n", &save)) {
		if (*at == '#')
			continue;
		space = strrchr(at, ' ');
		assert_non_null(space);
		*space = '\0';
		names[n++] = at;
	}
	assert_true(n > 30);
	qsort(names, n, sizeof(*names), line_order);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(names[i - 1], names[i]))
			fail_msg("twice: %s", names[i]);
	free(text);
}

static void promtool_is_content(void **state)
{
	FILE *tool;
	char *text;

	(void)state;
	if (system("command -v promtool >/dev/null 2>&1")) {
		print_message("promtool is not installed\n");
		skip();
	}
	fixture_trainer(&fx, 4242, 0, 2);
	fixture_attach(&fx, "torch.a", "libtorch_cpu.so", GP_ATTACH_attached, 5);
	text = page();
	tool = popen("promtool check metrics 2>&1", "w");
	assert_non_null(tool);
	fputs(text, tool);
	assert_int_equal(pclose(tool), 0);
	free(text);
}

static void size_is_bounded(void **state)
{
	struct buffer b = {0};

	(void)state;
	for (uint32_t i = 0; i < FIXTURE_RANKS; i++)
		fixture_trainer(&fx, 1000 + i, (int)(i % 8), 8);
	prometheus_text(&b, &fx.s, PROMETHEUS_TEXT);
	assert_false(b.failed);
	assert_true(b.len < 3u << 20);
	assert_null(strstr(b.data, "pid=\"1599\""));
	buffer_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(values, setup),
		cmocka_unit_test_setup(hangs, setup),
		cmocka_unit_test_setup(what_a_job_tells, setup),
		cmocka_unit_test_setup(slow_loops, setup),
		cmocka_unit_test_setup(loops_by_number, setup),
		cmocka_unit_test_setup(nothing_known, setup),
		cmocka_unit_test_setup(labels_are_escaped, setup),
		cmocka_unit_test_setup(no_series_twice, setup),
		cmocka_unit_test_setup(promtool_is_content, setup),
		cmocka_unit_test_setup(size_is_bounded, setup),
	};

	return cmocka_run_group_tests_name("prometheus", tests, NULL, NULL);
}
