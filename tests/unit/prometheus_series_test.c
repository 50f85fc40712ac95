/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of Prometheus: who has series, under which names, in both formats. */
#include "userspace/export/measure/owners.h"
#include "tests/unit/prometheus_page.h"

/* ---- formats --------------------------------------------------------------------------------- */

static void openmetrics(void **state)
{
	struct job_view *j = job("llama");
	char *text;

	(void)state;
	member(j, 4242, 0, 1);
	text = page(PROMETHEUS_OPENMETRICS);
	has(text, "# TYPE gpbpf_build info\n# HELP gpbpf_build Version of gp-bpf.\n");
	has(text, "gpbpf_build_info{version=\"" GP_VERSION "\"} 1\n");
	has(text, "# TYPE gpbpf_events counter\n# HELP gpbpf_events Records");
	/* Counted since the session began; since the process is watched; since the job began. */
	has(text, "gpbpf_events_total 48211\ngpbpf_events_created 1795262410\n");
	has(text, "gpbpf_productive_seconds_total{job_id=\"llama\",rank=\"0\"} 72.4\n"
		  "gpbpf_productive_seconds_created{job_id=\"llama\",rank=\"0\"} 1795262430\n");
	assert_null(strstr(text, "gpbpf_steps_created")); /* began with it */
	has(text, "gpbpf_job_runs_total{job_id=\"llama\"} 1\n"
		  "gpbpf_job_runs_created{job_id=\"llama\"} 1795262420\n");
	has(text,
	    "# TYPE gpbpf_productive_seconds counter\n# UNIT gpbpf_productive_seconds seconds\n# HELP ");
	has(text, "# TYPE gpbpf_step_seconds summary\n# UNIT gpbpf_step_seconds seconds\n# HELP ");
	has(text, "gpbpf_job_goodput_ratio{job_id=\"llama\"} 1\n");
	assert_null(strstr(text, "gpbpf_job_goodput_ratio_created"));
	assert_string_equal(text + strlen(text) - 6, "# EOF\n");
	assert_int_equal(count(text, "# EOF"), 1);
	free(text);
	text = page(PROMETHEUS_TEXT);
	has(text,
	    "# HELP gpbpf_events_total Records that the model received.\n# TYPE gpbpf_events_total counter\n");
	has(text, "# TYPE gpbpf_build_info gauge\n");
	assert_null(strstr(text, "_created"));
	assert_null(strstr(text, "# UNIT"));
	assert_null(strstr(text, "# EOF"));
	free(text);
}

static void everything(void)
{
	struct job_view *j = job("a\"b\\c\nd"), *unnamed = job("");
	struct export_view *e = fx.s.exports;

	fixture_hang(member(j, 1, 0, 2), GP_WHY_collective, false, "");
	member(j, 2, 1, 2)->faults[0] = 2;
	member(unnamed, 3, -1, 1);
	fixture_process(&fx, 4);
	fixture_attach(&fx, "torch.a", "libtorch_cpu.so", GP_ATTACH_attached, 5);
	j->ledger.disruptions = 4;
	j->unsettled = 1;
	j->ncauses = 1;
	j->causes[0].count = 2;
	j->causes[0].cause = CAUSE_oom;
	j->program.steps.mfu = j->program.elapsed.samples = 0.5;
	j->program.source = PROGRAM_measured;
	j->program.operations.type[OPERATION_TYPE_bf16] = 4;
	j->program.operations.kind[OPERATION_KIND_matmul] = 3;
	j->program.operations.kind[OPERATION_KIND_attention] = 1;
	j->accelerator_ns[BUCKET_GOODPUT] = 5e9;
	j->accelerators = 8;
	fx.s.program.price = 2;
	snprintf(fx.s.program.currency, sizeof(fx.s.program.currency), "$");
	for (uint32_t i = 0; i < fx.s.nranks; i++) {
		struct rank_view *r = &fx.ranks[i];

		r->overhead.recent_ns = 10 * S;
		r->windows[0] = (struct window_view){.length_ns = 3600 * S, .to_ns = 10 * S};
		if (r->nloops)
			r->loops[0].change.known = r->loops[0].device_known = true;
		if (r->nloops)
			r->loops[0].recent_times[0].count = 3;
	}
	fx.loops[2].state.unit = UNIT_EXECUTION;
	fx.s.store = (struct store_view){
		.kept = true, .up = true, .bytes = 5, .last_ns = 5 * (int64_t)S};
	e[0] = (struct export_view){.name = "json", .up = true, .sent = 7};
	e[1] = (struct export_view){.name = "cloud-monitoring", .waiting = 3, .waiting_bytes = 300};
	e[1].dropped[e[1].ndropped++].cause = "older";
	e[1].last_ns = 1795262400250000000;
}

static void exporters(void **state)
{
	char *text;

	(void)state;
	everything();
	text = page(PROMETHEUS_TEXT);
	has(text,
	    "gpbpf_export_up{exporter=\"json\"} 1\ngpbpf_export_up{exporter=\"cloud-monitoring\"} 0\n");
	has(text, "gpbpf_export_sent_total{exporter=\"json\"} 7\n");
	has(text, "gpbpf_export_dropped_total{exporter=\"cloud-monitoring\",cause=\"older\"} 0\n");
	has(text, "gpbpf_export_waiting{exporter=\"cloud-monitoring\"} 3\n");
	has(text, "gpbpf_export_waiting_bytes{exporter=\"cloud-monitoring\"} 300\n");
	has(text,
	    "gpbpf_export_last_success_timestamp_seconds{exporter=\"cloud-monitoring\"} 1795262400.25\n");
	has(text, "gpbpf_export_superseded_total{exporter=\"json\"} 0\n");
	assert_null(strstr(text, "last_success_timestamp_seconds{exporter=\"json\"}"));
	has(text, "gpbpf_accelerator_hour_price{currency=\"$\"} 2\n");
	has(text, "gpbpf_job_disruptions_total{job_id=\"a\\\"b\\\\c\\nd\",cause=\"oom\"} 2\n");
	has(text, "gpbpf_job_disruptions_total{job_id=\"a\\\"b\\\\c\\nd\",cause=\"other\"} 1\n");
	free(text);
}

static void filter(const char *tool, enum prometheus_format format)
{
	char *text = page(format);
	FILE *f = popen(tool, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(pclose(f), 0);
	free(text);
}

static void readers_are_content(void **state)
{
	(void)state;
	everything();
	if (system("command -v promtool >/dev/null 2>&1"))
		print_message("promtool is not installed\n");
	else
		filter("promtool check metrics 2>&1", PROMETHEUS_TEXT);
	if (system("/usr/bin/python3 -c 'import prometheus_client' 2>/dev/null")) {
		print_message("python3-prometheus-client is not installed\n");
		skip();
	}
	filter("/usr/bin/python3 tests/tools/openmetrics.py >/dev/null", PROMETHEUS_OPENMETRICS);
	fx.s.nranks = fx.s.njobs = 0;
	filter("/usr/bin/python3 tests/tools/openmetrics.py >/dev/null", PROMETHEUS_OPENMETRICS);
}

/* ---- the list of metrics --------------------------------------------------------------------- */

/* The row of a sample's name, "" where there is none. */
static void row_of(const char *list, const char *name, size_t len, char *out, size_t room)
{
	static const char *const ending[] = {"", "_bucket", "_count", "_sum"};

	*out = '\0';
	for (const char *at = list; *at; at = strchr(at, '\n') + 1) {
		size_t n = strcspn(at, "\t");

		for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
			if (len == n + strlen(ending[i]) && !strncmp(at, name, n) &&
			    !strncmp(name + n, ending[i], strlen(ending[i])) &&
			    (!i || !strncmp(at + n, "\thistogram\t", 11) ||
			     !strncmp(at + n, "\tsummary\t", 9)))
				snprintf(out, room, "%.*s", (int)strcspn(at, "\n"), at);
		}
	}
}

static void labels_are_in(const char *sample, const char *row)
{
	char name[32];
	const char *at = strpbrk(sample, "{ ");

	while (*at == '{' || *at == ',') {
		size_t n = strcspn(++at, "=");

		snprintf(name, sizeof(name), "%.*s", (int)n, at);
		if (!strstr(row, name) && strcmp(name, "pid"))
			fail_msg("label %s is not in: %s", name, row);
		for (at += n + 2; *at != '"'; at++)
			at += *at == '\\';
		at++;
	}
}

static void list_has_all(void **state)
{
	struct buffer list = {0};
	struct prometheus_own own = {0};
	char row[512], *save = NULL;
	struct buffer b = {0};
	size_t samples = 0;

	(void)state;
	everything();
	prometheus_own_read(&own);
	prometheus_text_own(&b, &fx.s, &own, PROMETHEUS_TEXT);
	prometheus_metrics(&list);
	assert_false(b.failed || list.failed);
	assert_null(strpbrk(list.data, "\\\""));
	for (char *at = strtok_r(b.data, "\n", &save); at; at = strtok_r(NULL, "\n", &save)) {
		if (*at == '#')
			continue;
		row_of(list.data, at, strcspn(at, "{ "), row, sizeof(row));
		if (!*row)
			fail_msg("not in the list: %s", at);
		labels_are_in(at, row);
		samples++;
	}
	assert_true(samples > 200);
	for (char *at = list.data; *at; at = strchr(at, '\n') + 1) {
		size_t n = strcspn(at, "\t");

		assert_true(!strncmp(at, "gpbpf_", 6) || !strncmp(at, "process_", 8));
		assert_int_equal(!strncmp(at + n - 6, "_total", 6),
				 !strncmp(at + n, "\tcounter\t", 9));
		assert_int_equal(!strncmp(at + n - 5, "_info", 5), !strncmp(at + n, "\tinfo\t", 6));
	}
	buffer_free(&b);
	buffer_free(&list);
}

static void own_process(void **state)
{
	struct prometheus_own own = {0};
	int64_t start_ns;
	struct buffer b = {0};
	unsigned long long bytes, fds;
	double start, took;

	(void)state;
	prometheus_own_read(&own);
	start_ns = own.start_ns;
	prometheus_own_read(&own);
	assert_true(start_ns > 0 && own.start_ns == start_ns);
	prometheus_text_own(&b, NULL, &own, PROMETHEUS_TEXT);
	has(b.data, "process_cpu_seconds_total ");
	assert_int_equal(
		sscanf(strstr(b.data, "\nprocess_resident_memory_bytes "), "\n%*s %llu", &bytes),
		1);
	assert_int_equal(sscanf(strstr(b.data, "\nprocess_open_fds "), "\n%*s %llu", &fds), 1);
	assert_int_equal(
		sscanf(strstr(b.data, "\nprocess_start_time_seconds "), "\n%*s %lf", &start), 1);
	assert_int_equal(
		sscanf(strstr(b.data, "\ngpbpf_scrape_duration_seconds "), "\n%*s %lf", &took), 1);
	assert_true(bytes > 100000 && fds >= 3 && start > 1e9 && took >= 0);
	buffer_free(&b);
}

/* ---- who has series -------------------------------------------------------------------------- */

static void rank_goes_on_with_its_series(void **state)
{
	struct job_view *j = job("llama");
	char *text;

	(void)state;
	ended(member(j, 10, 0, 1), 1050 * S);
	ended(member(j, 11, 1, 1), 1050 * S);
	text = page(PROMETHEUS_TEXT); /* between two runs the last one is seen */
	has(text,
	    "gpbpf_rank_info{job_id=\"llama\",rank=\"1\",pid=\"11\",comm=\"python3\",world_size=\"2\"} 1\n");
	free(text);
	member(j, 20, 0, 2);
	text = page(PROMETHEUS_TEXT);
	assert_int_equal(count(text, "\ngpbpf_steps_total{"), 1);
	has(text, "gpbpf_steps_total{job_id=\"llama\",rank=\"0\"} 2000\n");
	has(text, "gpbpf_rank_info{job_id=\"llama\",rank=\"0\",pid=\"20\",");
	has(text, "gpbpf_ranks_unshown{cause=\"same_rank\"} 0\n");
	free(text);
}

/* One of two that live under one name is not shown, and that is told. */
static void same_rank_twice(void **state)
{
	struct job_view *j = job("llama");
	char *text;

	(void)state;
	member(j, 10, 0, 1);
	member(j, 11, 0, 1)->start_mono_ns++;
	text = page(PROMETHEUS_TEXT);
	assert_int_equal(count(text, "\ngpbpf_steps_total{"), 1);
	has(text, "gpbpf_rank_info{job_id=\"llama\",rank=\"0\",pid=\"11\",");
	has(text, "gpbpf_ranks_unshown{cause=\"same_rank\"} 1\n");
	free(text);
}

static void crash_loop_stays_small(void **state)
{
	struct job_view *j = job("");
	size_t once;
	char *text;

	(void)state;
	member(j, 1, -1, 1);
	text = page(PROMETHEUS_TEXT);
	once = count(text, "\n");
	has(text, "gpbpf_steps_total{job_id=\"pid-101\",pid=\"1\"} 2000\n");
	has(text, "gpbpf_job_runs_total{job_id=\"pid-101\"} 1\n");
	free(text);
	for (uint32_t run = 2; run <= 257; run++) {
		ended(&fx.ranks[fx.s.nranks - 1], 1050 * S);
		member(j, run, -1, run);
	}
	text = page(PROMETHEUS_TEXT);
	assert_int_equal(count(text, "\n"), once);
	has(text, "gpbpf_steps_total{job_id=\"pid-101\",pid=\"257\"} 2000\n");
	has(text, "gpbpf_job_runs_total{job_id=\"pid-101\"} 257\n");
	free(text);
}

static void what_ended_goes(void **state)
{
	struct job_view *j = job("done"), *on = job("on");
	char *text;

	(void)state;
	ended(member(j, 10, 0, 1), 1100 * S);
	ended(member(on, 11, 0, 1), 1100 * S);
	j->state = JOB_ENDED;
	on->state = JOB_DOWN;
	fx.s.mono_ns = 1100 * S + OWNERS_GRACE_NS;
	text = page(PROMETHEUS_TEXT);
	has(text, "gpbpf_job_state{job_id=\"done\",state=\"ended\"} 1\n");
	assert_int_equal(count(text, "\ngpbpf_steps_total{"), 2);
	free(text);
	fx.s.mono_ns++;
	text = page(PROMETHEUS_TEXT);
	assert_null(strstr(text, "\"done\""));
	assert_int_equal(count(text, "\ngpbpf_steps_total{"), 0);
	has(text, "gpbpf_job_state{job_id=\"on\",state=\"down\"} 1\n"); /* it has not ended */
	free(text);
}

static void jobs_are_bounded(void **state)
{
	char name[16], *text;

	(void)state;
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "j%d", i);
		job(name)->state = i < 100 ? JOB_ENDED : JOB_RUNNING;
	}
	job("j150"); /* of another namespace, for instance */
	text = page(PROMETHEUS_TEXT);
	assert_int_equal(count(text, "\ngpbpf_job_runs_total{"), PROMETHEUS_JOBS);
	has(text, "gpbpf_job_runs_total{job_id=\"j199\"} 0\n");
	has(text, "gpbpf_jobs_unshown{cause=\"room\"} 72\n");
	has(text, "gpbpf_jobs_unshown{cause=\"same_name\"} 1\n");
	free(text);
}

static void ranks_are_bounded(void **state)
{
	char *text;

	(void)state;
	for (uint32_t i = 0; i < 600; i++)
		fixture_process(&fx, i + 1)->alive = i >= 200;
	text = page(PROMETHEUS_TEXT);
	assert_int_equal(count(text, "\ngpbpf_rank_info{"), PROMETHEUS_RANKS);
	assert_non_null(strstr(text, "gpbpf_rank_info{job_id=\"\",pid=\"600\","));
	has(text, "gpbpf_ranks_unshown{cause=\"room\"} 88\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(openmetrics, setup),
		cmocka_unit_test_setup(exporters, setup),
		cmocka_unit_test_setup(readers_are_content, setup),
		cmocka_unit_test_setup(list_has_all, setup),
		cmocka_unit_test_setup(own_process, setup),
		cmocka_unit_test_setup(rank_goes_on_with_its_series, setup),
		cmocka_unit_test_setup(same_rank_twice, setup),
		cmocka_unit_test_setup(crash_loop_stays_small, setup),
		cmocka_unit_test_setup(what_ended_goes, setup),
		cmocka_unit_test_setup(jobs_are_bounded, setup),
		cmocka_unit_test_setup(ranks_are_bounded, setup),
	};

	return cmocka_run_group_tests_name("prometheus_series", tests, NULL, NULL);
}
