/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of Prometheus: what a job counts, since when, and that it is there once. */
#include "userspace/export/measure/owners.h"
#include "tests/unit/prometheus_page.h"

/* Of the lowest rank: cumulative, the last bucket has all. */
static void histogram_of_a_job(void **state)
{
	struct job_view *j = job("llama");
	char *text;

	(void)state;
	member(j, 7, 1, 1)->loops[0].time.bucket[0] = 5;
	member(j, 8, 0, 1);
	fx.ranks[2] = fx.ranks[0]; /* in a snapshot they are by rank */
	fx.ranks[0] = fx.ranks[1];
	fx.ranks[1] = fx.ranks[2];
	text = page(PROMETHEUS_OPENMETRICS);
	has(text,
	    "# TYPE gpbpf_job_step_seconds histogram\n# UNIT gpbpf_job_step_seconds seconds\n# HELP ");
	has(text, "gpbpf_job_step_seconds_bucket{job_id=\"llama\",le=\"0.0005\"} 0\n");
	has(text, "gpbpf_job_step_seconds_bucket{job_id=\"llama\",le=\"0.025\"} 0\n");
	has(text, "gpbpf_job_step_seconds_bucket{job_id=\"llama\",le=\"0.05\"} 1960\n");
	has(text, "gpbpf_job_step_seconds_bucket{job_id=\"llama\",le=\"1.0\"} 1999\n");
	has(text, "gpbpf_job_step_seconds_bucket{job_id=\"llama\",le=\"600.0\"} 2000\n"
		  "gpbpf_job_step_seconds_bucket{job_id=\"llama\",le=\"+Inf\"} 2000\n"
		  "gpbpf_job_step_seconds_sum{job_id=\"llama\"} 72.4\n"
		  "gpbpf_job_step_seconds_count{job_id=\"llama\"} 2000\n"
		  "gpbpf_job_step_seconds_created{job_id=\"llama\"} 1795262430\n");
	assert_int_equal(count(text, "\ngpbpf_job_step_seconds_bucket{"), DEVIATION_BOUNDS + 1);
	free(text);
	/* It ends, and another one goes on, which has counted about as many: they are no more
	 * steps. */
	ended(&fx.ranks[0], 1100 * S - OWNERS_GRACE_NS - S);
	fx.ranks[1].loops[0].time.bucket[0] = 5;
	text = page(PROMETHEUS_TEXT);
	has(text, "gpbpf_job_step_seconds_bucket{job_id=\"llama\",le=\"0.0005\"} 0\n");
	free(text);
	fx.ranks[1].run = j->runs = 2; /* the next run counts anew */
	text = page(PROMETHEUS_TEXT);
	has(text, "gpbpf_job_step_seconds_bucket{job_id=\"llama\",le=\"0.0005\"} 5\n");
	free(text);
}

/* "pid-77" is what a job without a name is called, and another one's name. */
static void a_name_is_there_once(void **state)
{
	struct job_view *unnamed = job(""), *named = job("pid-77");
	char *text;

	(void)state;
	unnamed->first_pid = named->first_pid = 77;
	for (int round = 0; round < 2; round++) {
		text = page(PROMETHEUS_TEXT);
		assert_int_equal(count(text, "\ngpbpf_job_elapsed_seconds{"), 1);
		free(text);
		named->name[0] = '\0'; /* a pid that is another process's by now */
	}
}

/* When is not told where it is not known: no wall time, or another node counted before. */
static void beginnings_are_known_or_absent(void **state)
{
	struct job_view *j = job("llama");
	char *text;

	(void)state;
	member(j, 4242, 0, 1);
	j->carried = true;
	text = page(PROMETHEUS_OPENMETRICS);
	assert_null(strstr(text, "gpbpf_job_runs_created"));
	assert_non_null(strstr(text, "gpbpf_productive_seconds_created"));
	free(text);
	/* A clock that is set moves no beginning; nor is one told that is still to come. */
	j->carried = false;
	j->since_real_ns = fx.ranks[0].since_real_ns = 1795262440ll * (int64_t)S;
	fx.s.real_ns += 3600 * (int64_t)S;
	text = page(PROMETHEUS_OPENMETRICS);
	has(text, "gpbpf_job_runs_created{job_id=\"llama\"} 1795262440\n");
	has(text, "gpbpf_productive_seconds_created{job_id=\"llama\",rank=\"0\"} 1795262440\n");
	has(text, "gpbpf_job_step_seconds_created{job_id=\"llama\"} 1795262440\n");
	free(text);
	fx.s.real_ns -= 7200 * (int64_t)S;
	text = page(PROMETHEUS_OPENMETRICS);
	assert_null(strstr(text, "gpbpf_productive_seconds_created"));
	free(text);
	fx.s.real_ns = 0;
	text = page(PROMETHEUS_OPENMETRICS);
	assert_null(strstr(text, "_created"));
	free(text);
}

/* What gp-bpf itself counts, after it was started again: what the model counts goes on since the
 * session began, what store and exporters count begins anew. A clock that is set moves neither. */
static void beginnings_over_a_restart(void **state)
{
	const int64_t session_ns = 1795250000ll * (int64_t)S, opened_ns = 1795262460ll * (int64_t)S;
	char *text;

	(void)state;
	fx.s.store = (struct store_view){.kept = true, .transactions = 3, .nfailed = 1};
	fx.s.store.failed[0].cause = "disk_full";
	fx.s.exports[0] = (struct export_view){.name = "json", .sent = 7, .ndropped = 1};
	fx.s.exports[0].dropped[0].cause = "older";
	fixture_attach(&fx, "torch.a", "libtorch_cpu.so", GP_ATTACH_attached, 5);
	text = page(PROMETHEUS_OPENMETRICS); /* not known */
	assert_null(strstr(text, "gpbpf_store_transactions_created"));
	assert_null(strstr(text, "gpbpf_export_sent_created"));
	free(text);
	fx.s.session_real_ns = session_ns;
	fx.s.opened_real_ns = opened_ns;
	fx.s.real_ns += 3600 * (int64_t)S;
	text = page(PROMETHEUS_OPENMETRICS);
	has(text, "gpbpf_events_total 0\ngpbpf_events_created 1795250000\n");
	has(text, "gpbpf_records_lost_created{cause=\"late\"} 1795250000\n");
	has(text, "gpbpf_probe_hits_created{probe=\"torch.a\"} 1795250000\n");
	has(text,
	    "gpbpf_store_transactions_total 3\ngpbpf_store_transactions_created 1795262460\n");
	has(text, "gpbpf_store_failures_created{cause=\"disk_full\"} 1795262460\n");
	has(text, "gpbpf_store_lost_created{what=\"facts\"} 1795262460\n");
	has(text, "gpbpf_export_sent_total{exporter=\"json\"} 7\n"
		  "gpbpf_export_sent_created{exporter=\"json\"} 1795262460\n");
	has(text, "gpbpf_export_dropped_created{exporter=\"json\",cause=\"older\"} 1795262460\n");
	has(text, "gpbpf_export_superseded_created{exporter=\"json\"} 1795262460\n");
	free(text);
}

/* Two nodes: what is the job's is on the page of its reference's node, what adds up on both. */
static void a_job_of_other_nodes_is_told_there(void **state)
{
	struct job_view *own = job("own"), *other = job("other");
	char *text;

	(void)state;
	own->reported_here = true;
	other->reported_here = false;
	own->world_size = other->world_size = 16;
	for (int i = 0; i < 2; i++) {
		struct rank_view *r = member(&jobs[i], 10 + (uint32_t)i, 8 * i, 1);

		r->windows[0] = (struct window_view){.length_ns = 3600 * S, .to_ns = 10 * S};
		r->windows[0].ns[BUCKET_GOODPUT] = 5 * S;
		memcpy(jobs[i].windows, r->windows, sizeof(r->windows));
		jobs[i].ledger.disruptions = 1;
		jobs[i].accelerators = 8;
		jobs[i].accelerator_ns[BUCKET_GOODPUT] = 5e9;
		jobs[i].program.steps.mfu = jobs[i].program.elapsed
						    .samples = jobs[i].program.program = 0.5;
	}
	text = page(PROMETHEUS_OPENMETRICS);
	assert_int_equal(count(text, "{job_id=\"other\""),
			 count(text, "{job_id=\"other\",rank=") + 2);
	has(text, "gpbpf_job_accelerators{job_id=\"own\"} 8\n"
		  "gpbpf_job_accelerators{job_id=\"other\"} 8\n");
	has(text, "gpbpf_job_accelerator_seconds{job_id=\"other\",bucket=\"GOODPUT\"} 5\n");
	has(text, "gpbpf_job_state{job_id=\"own\",state=\"running\"} 1\n");
	has(text, "gpbpf_job_world_size{job_id=\"own\"} 16\n");
	/* A rank of it tells what it would leave to its job. */
	has(text, "gpbpf_goodput_ratio{job_id=\"other\",rank=\"8\"} 0.724\n");
	has(text, "gpbpf_step_number{job_id=\"other\",rank=\"8\"} 2000\n");
	has(text, "gpbpf_window_goodput_ratio{job_id=\"other\",rank=\"8\",window=\"1h\"} 0.5\n");
	assert_null(strstr(text, "gpbpf_goodput_ratio{job_id=\"own\""));
	assert_null(strstr(text, "gpbpf_step_number{job_id=\"own\""));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(histogram_of_a_job, setup),
		cmocka_unit_test_setup(a_name_is_there_once, setup),
		cmocka_unit_test_setup(beginnings_are_known_or_absent, setup),
		cmocka_unit_test_setup(beginnings_over_a_restart, setup),
		cmocka_unit_test_setup(a_job_of_other_nodes_is_told_there, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
