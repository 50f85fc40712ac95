/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "tests/unit/fixture.h"
#include "userspace/base/utf8.h"
#include "userspace/text/canvas.h"
#include "userspace/text/spark.h"
#include "userspace/report/report.h"
#include "userspace/text/format.h"

static struct fixture fx;

static int setup(void **state)
{
	(void)state;
	setenv("TZ", "UTC", 1);
	fixture_init(&fx);
	return 0;
}

/* On a terminal no line is wider than it, and nothing is cut. */
static void narrow(int cols)
{
	struct buffer b = {0};
	char *save = NULL;

	report_text(&b, &fx.s, cols, false);
	assert_false(b.failed);
	assert_null(strstr(b.data, "…"));
	assert_null(strstr(b.data, " \n"));
	for (char *at = strtok_r(b.data, "\n", &save); at; at = strtok_r(NULL, "\n", &save))
		if (canvas_width(at) > cols)
			fail_msg("%d columns of %d: %s", canvas_width(at), cols, at);
	buffer_free(&b);
}

/* Whatever is in it: no NaN, nothing a terminal obeys, no space at the end of a line, nothing
 * cut. */
static char *report(bool color)
{
	struct buffer b = {0};

	report_text(&b, &fx.s, 0, color);
	assert_false(b.failed);
	assert_null(strstr(b.data, " \n"));
	assert_null(strcasestr(b.data, "nan "));
	assert_null(strstr(b.data, "-nan"));
	assert_null(strstr(b.data, "(null)"));
	if (color)
		return b.data;
	assert_null(strchr(b.data, '\x1b'));
	assert_null(strstr(b.data, "…"));
	for (int cols = 40; cols <= 100; cols += 20)
		narrow(cols);
	return b.data;
}

static void has(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("no '%s' in:\n%s", what, text);
}

static void trainer(void **state)
{
	char *text;

	(void)state;
	fixture_trainer(&fx, 4242, 0, 2);
	fixture_process(&fx, 4100);
	text = report(false);
	has(text, "rank 0 of 2, pid 4242");
	has(text, "Optimizer.step#AdamW  tier A, boundary update_exit, confidence 0.99");
	has(text, "backward:4 fetch:4 zero_grad:1");
	has(text, "count from the process's first step");
	has(text, "31.2 ms");
	has(text, "goodput");
	has(text, "72.4 %");
	has(text, "12.1 s");
	has(text, "= elapsed");
	has(text, "4 saved in 900 ms");
	has(text, "12:00:41  checkpoint saved in 210 ms");
	has(text, "12340 probe hits, 6.10 ms = 0.006 % of the time");
	has(text, "lost: none");
	has(text, "no training in 4100 python3");
	free(text);
	text = report(true);
	has(text, "\033[32m");
	free(text);
}

static void unknown_is_said(void **state)
{
	struct rank_view *r = fixture_trainer(&fx, 4242, -1, -1);
	char *text;

	(void)state;
	fx.s.real_ns = 0;
	r->loops[0].time = (struct deviation_view){
		.count = 2, .mean_ns = 5e6, .p50_ns = 5000000, .jitter = 0.0 / 1};
	r->loops[0].recent = 0;
	r->loops[0].phases_known = 0;
	r->loops[0].state.marker[0] = '\0';
	r->loops[0].state.since_attach = true;
	r->overhead = (struct overhead_view){0};
	text = report(false);
	has(text, "rank unknown");
	has(text, "ideal       unknown");
	has(text, "price unknown");
	has(text, "count from the first step seen (attached to a running job)");
	has(text, "--:--:--");
	free(text);
	r->loops[0].state.late = true;
	text = report(false);
	has(text, "count from the first step seen (earlier ones may be missing)");
	free(text);
}

/* Who waits in a collective is told with whom it waits for: of its own job, at that time. */
static void hangs(void **state)
{
	struct rank_view *r = fixture_trainer(&fx, 4242, 1, 3);
	struct buffer json = {0};
	char *text;

	(void)state;
	text = report(false);
	assert_null(strstr(text, "hangs"));
	free(text);
	fixture_hang(r, GP_WHY_collective, true, "thread 4242 waits on a futex");
	r->loops[0].flagged[6] = 1;
	fixture_hang(fixture_trainer(&fx, 4241, 0, 3), GP_WHY_stopped, true,
		     "thread 4241 is stopped by a signal");
	r = fixture_trainer(&fx, 4243, 2, 3);
	fixture_hang(r, GP_WHY_input, false, "thread 4243 reads /data/x");
	r->hang.onset_ns = 1010 * S; /* at another time */
	r->hang.size_ns = 3 * S;
	r = fixture_trainer(&fx, 4244, 3, 3);
	snprintf(r->job, sizeof(r->job), "another");
	fixture_hang(r, GP_WHY_lock, true, "");
	text = report(false);
	has(text, "1, 42.0 s; the last one 42.0 s: waits in a collective, rank 0 is stopped\n");
	has(text, "thread 4242 waits on a futex");
	has(text, "1, 42.0 s; hung for 3.00 s: waits for input\n");
	has(text, "1 hung");
	free(text);
	report_json(&json, &fx.s);
	buffer_add(&json, "", 1);
	has(json.data,
	    "\"hangs\":{\"count\":1,\"total_ns\":42000000000,\"hung\":false,\"silent\":false,"
	    "\"onset_ns\":1050000000000,"
	    "\"size\":42000000000,\"why\":\"collective\",\"phase\":\"backward\","
	    "\"evidence\":\"thread 4242 waits on a futex\"}");
	buffer_free(&json);
}

static void a_leak_in_the_ledger_shows(void **state)
{
	struct rank_view *r = fixture_trainer(&fx, 4242, 0, 2);
	char *text;

	(void)state;
	r->ledger.ns[BUCKET_OTHER] -= 1 * S;
	fx.s.ledger_violations = 3;
	text = report(false);
	assert_null(strstr(text, "= elapsed"));
	has(text, "elapsed is 1 m 40 s");
	has(text, "did not close 3 times");
	free(text);
}

static void unobserved_is_beside(void **state)
{
	struct rank_view *r = fixture_trainer(&fx, 4242, 0, 2);
	char *text;

	(void)state;
	r->ledger.start_ns -= 900 * S;
	r->ledger.ns[BUCKET_UNOBSERVED] = 900 * S;
	text = report(false);
	has(text, "72.4 %"); /* of what was observed, not of all */
	has(text, "beside it");
	has(text, "= elapsed");
	free(text);
}

static void losses_and_ends(void **state)
{
	struct rank_view *r = fixture_trainer(&fx, 4242, 0, 2);
	char *text;

	(void)state;
	fx.s.lost[GP_LOSS_ring_call] = 12;
	fx.s.lost[GP_LOSS_unpaired] = 5; /* no loss of data */
	r->alive = false;
	r->status = 9;
	r->ledger.disruptions = 1;
	r->loops[0].flagged[0] = 12;
	r->loops[0].flagged[2] = 1;
	text = report(false);
	has(text, "lost: 12 call ring full\n");
	has(text, "killed by signal 9 (Killed)");
	has(text, "12 tainted, 1 skipped");
	free(text);
}

static void json_tells_losses_of_data_alone(void **state)
{
	struct buffer out = {0};

	(void)state;
	fixture_trainer(&fx, 4242, 0, 1);
	fx.s.lost[GP_LOSS_ring_call] = 12;
	fx.s.lost[GP_LOSS_unpaired] = 1;
	report_json(&out, &fx.s);
	has(out.data, "\"losses\":{\"ring_call\":12},\"noted\":{\"unpaired\":1}");
	buffer_free(&out);
}

static void why_nothing_was_found(void **state)
{
	struct attach_view *a;
	char *text;

	(void)state;
	text = report(false);
	has(text, "no process mapped a runtime library");
	free(text);
	a = fixture_attach(&fx, "torch.step", "libtorch_cpu.so", GP_ATTACH_failed, 0);
	text = report(false);
	has(text, "no probe could be attached");
	free(text);
	a->at.state = GP_ATTACH_attached;
	text = report(false);
	has(text, "none that marks training was hit");
	free(text);
	a->hits = 100;
	text = report(false);
	has(text, "inference only?");
	free(text);
	fx.s.nranks = 1;
	fx.ranks[0] = (struct rank_view){.pid = 4242, .status = 1 << 8};
	text = report(false);
	has(text, "pid 4242 ended before it trained: exit status 1");
	free(text);
}

static void hostile_text_is_harmless(void **state)
{
	struct rank_view *r = fixture_trainer(&fx, 4242, 0, 2);
	struct buffer b = {0};
	cJSON *j;
	char *text;

	(void)state;
	memset(r->command, 'x', sizeof(r->command) - 1);
	memcpy(r->command, "\033[2J\a\n\xff\302\233", 8);
	snprintf(r->events[0].text, sizeof(r->events[0].text), "\033]0;owned\a %s", "%s%n");
	snprintf(r->loops[0].state.marker, sizeof(r->loops[0].state.marker), "\342\200\256gnp");
	text = report(false); /* asserts that no escape is left */
	has(text, "?[2J??");
	has(text, "%s%n");
	assert_null(strstr(text, "\342\200\256"));
	free(text);
	report_json(&b, &fx.s);
	j = cJSON_Parse(b.data);
	assert_non_null(j);
	cJSON_Delete(j);
	buffer_free(&b);
}

static const cJSON *get(const cJSON *j, const char *key)
{
	const cJSON *i = cJSON_GetObjectItemCaseSensitive(j, key);

	if (!i)
		fail_msg("no field %s", key);
	return i;
}

static void as_json(void **state)
{
	struct rank_view *r = fixture_trainer(&fx, 4242, 0, 2);
	const cJSON *rank, *loop, *i;
	struct buffer b = {0};
	double sum = 0;
	cJSON *j;

	(void)state;
	r->loops[0].time.ideal_ns = 0;
	fixture_process(&fx, 4100);
	report_json(&b, &fx.s);
	assert_ptr_equal(strchr(b.data, '\n'), b.data + b.len - 1);
	j = cJSON_Parse(b.data);
	assert_non_null(j);
	rank = cJSON_GetArrayItem(get(j, "ranks"), 0);
	loop = cJSON_GetArrayItem(get(rank, "loops"), 0);
	assert_int_equal(get(loop, "steps")->valueint, 2000);
	assert_int_equal(get(get(loop, "step_time"), "p50_ns")->valueint, 31200000);
	assert_true(cJSON_IsNull(get(get(loop, "step_time"), "ideal_ns")));
	assert_true(cJSON_IsNull(get(get(loop, "step_time"), "deviation_ns")));
	cJSON_ArrayForEach(i, get(rank, "buckets")) sum += i->valuedouble;
	assert_true(sum == get(rank, "elapsed_ns")->valuedouble);
	assert_true(cJSON_IsNull(get(rank, "exit_code")));
	assert_true(cJSON_IsNull(get(cJSON_GetArrayItem(get(j, "ranks"), 1), "rank")));
	assert_true(cJSON_IsNull(get(cJSON_GetArrayItem(get(j, "ranks"), 1), "goodput_ratio")));
	assert_true(cJSON_IsNull(get(j, "nothing_found")));
	cJSON_Delete(j);
	buffer_free(&b);
}

/* Whoever may reach the port sees which program runs, not what it was told. */
static void arguments_are_masked(void **state)
{
	static const char *const lines[][2] = {
		{"python train.py --api-key S3CRET", "python train.py ..."},
		{"/usr/bin/python3.11 -u -W ignore /srv/train.py S3CRET",
		 "/usr/bin/python3.11 /srv/train.py ..."},
		{"python -m torch.distributed.run --x=S3CRET t.py",
		 "python torch.distributed.run ..."},
		{"python -c print('S3CRET')", "python ..."},
		{"python -Bc S3CRET S3CRET.py", "python ..."},
		{"python - S3CRET", "python ..."},
		{"python -E train.py S3CRET", "python train.py ..."},
		{"perl -e S3CRET", "perl ..."},
		{"perl -lane S3CRET S3CRET", "perl ..."},
		{"perl -E S3CRET", "perl ..."},
		{"ruby -e S3CRET", "ruby ..."},
		{"node -e S3CRET", "node ..."},
		{"node -p S3CRET", "node ..."},
		{"node --eval S3CRET", "node ..."},
		{"node --eval=1 +S3CRET", "node ..."},
		{"node --print S3CRET", "node ..."},
		{"node --no-warnings train.js S3CRET", "node train.js ..."},
		{"bash -s S3CRET", "bash ..."},
		{"bash -e train.sh S3CRET", "bash train.sh ..."},
		{"bash -lc TOKEN=S3CRET ./train.sh", "bash ..."},
		{"bash run.sh", "bash run.sh"},
		{"env TOKEN=S3CRET python train.py", "env train.py ..."},
		{"torchrun --nproc 8 --token S3CRET train.py --lr 1", "torchrun train.py ..."},
		{"torchrun --script=S3CRET.py", "torchrun ..."},
		{"./trainer S3CRET", "./trainer ..."},
		{"trainer", "trainer"},
		{"python -", "python ..."},
	};
	struct rank_view *r = fixture_trainer(&fx, 4242, 0, 2);
	struct buffer b = {0};
	cJSON *j;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(r->command, sizeof(r->command), "%s", lines[i][0]);
		snprintf(fx.s.session.command, sizeof(fx.s.session.command), "run --quiet -- %s",
			 lines[i][0]);
		buffer_clear(&b);
		report_json_masked(&b, &fx.s);
		assert_null(strstr(b.data, "S3CRET"));
		j = cJSON_Parse(b.data);
		assert_non_null(j);
		assert_true(cJSON_IsTrue(get(j, "arguments_masked")));
		assert_string_equal(
			get(cJSON_GetArrayItem(get(j, "ranks"), 0), "command")->valuestring,
			lines[i][1]);
		assert_memory_equal(get(j, "command")->valuestring, "run --quiet -- ", 15);
		assert_string_equal(get(j, "command")->valuestring + 15, lines[i][1]);
		cJSON_Delete(j);
	}
	snprintf(fx.s.session.command, sizeof(fx.s.session.command), "run trainer S3CRET");
	*r->command = '\0';
	buffer_clear(&b);
	report_json_masked(&b, &fx.s);
	assert_non_null(strstr(b.data, "\"command\":\"run ...\""));
	buffer_clear(&b);
	snprintf(r->command, sizeof(r->command), "%s", lines[0][0]);
	report_json(&b, &fx.s);
	assert_non_null(strstr(b.data, lines[0][0]));
	buffer_free(&b);
}

static void shares(void **state)
{
	struct part parts[3] = {{0, 9990, ""}, {1, 9, ""}, {2, 1, ""}};
	char text[WORD_MAX];
	int cells[3];

	(void)state;
	assert_string_equal(text_percent(text, 0, 0), "unknown");
	assert_string_equal(text_percent(text, 0, 5), "0 %");
	assert_string_equal(text_percent(text, 1, 100000), "<0.1 %");
	assert_string_equal(text_percent(text, 99999, 100000), ">99.9 %");
	assert_string_equal(text_percent(text, 5, 5), "100.0 %");
	assert_int_equal(text_phase_shows(0, 0) || text_phase_shows(0, 10000) ||
				 text_phase_shows(4, 10000),
			 0);
	assert_int_equal(text_phase_shows(5, 10000), 1);
	for (int width = 1; width < 300; width++) {
		parts[1].ns = 40;
		text_apportion(parts, 3, width, cells);
		assert_int_equal(cells[0] + cells[1] + cells[2], width);
		assert_int_equal(cells[2] > 1, 0);
	}
	assert_int_equal(cells[1] > 0, 1);
	parts[0].ns = parts[1].ns = parts[2].ns = 0;
	text_apportion(parts, 3, 10, cells);
	assert_int_equal(cells[0] + cells[1] + cells[2], 10);
}

static void widths(void **state)
{
	static const struct {
		const char *text;
		int width;
	} cases[] = {{"abc", 3},	 {"gr\303\274n", 4},	  {"\346\227\245\346\234\254", 4},
		     {"e\314\201", 1},	 {"\360\237\230\200", 2}, {"\xff", 1},
		     {"\xe2\x96\x88", 1}};
	uint32_t c;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(canvas_width(cases[i].text), cases[i].width);
	assert_int_equal(utf8_decode("\355\240\200", 3, &c), 0);
	assert_int_equal(utf8_decode("\364\220\200\200", 4, &c), 0);
	assert_int_equal(utf8_decode("", 0, &c), 0);
	assert_int_equal(utf8_decode("\303", 1, &c), 0);
	assert_int_equal(utf8_columns(0x9b), -1);
	assert_int_equal(utf8_columns(0x202e), -1);
	assert_int_equal(utf8_columns(0x61c), -1);
}

static void sparks(void **state)
{
	uint64_t ns[200], steady[3] = {1000, 1001, 1002};
	struct buffer out = {0};
	struct canvas c;
	struct spark sp;

	(void)state;
	for (int i = 0; i < 200; i++)
		ns[i] = i == 150 ? 100 * MS : 30 * MS;
	spark_scale(&sp, ns, 200, 100);
	assert_int_equal(sp.n, 100);
	assert_true(sp.high_ns < 100 * MS);
	canvas_open(&c, 200, false);
	canvas_line(&c, 0);
	spark_row(&c, &sp, 0, 1);
	canvas_finish(&c, &out, 10);
	assert_int_equal(canvas_width(out.data) - 1, 100); /* and the line feed */
	assert_non_null(strstr(out.data, "▲"));
	buffer_free(&out);
	spark_scale(&sp, steady, 3, 100);
	assert_true(sp.high_ns - sp.low_ns >= 100); /* noise is not blown up */
	spark_scale(&sp, ns, 0, 100);
	assert_int_equal(sp.n, 0);
	spark_scale(&sp, ns, 5, -3);
	assert_int_equal(sp.n, 0);
	memset(ns, 0, sizeof(ns));
	spark_scale(&sp, ns, 5, 100);
	canvas_open(&c, 200, false);
	canvas_line(&c, 0);
	spark_row(&c, &sp, 0, 1);
	canvas_finish(&c, &out, 10);
	assert_string_equal(out.data, "▁▁▁▁▁\n");
	buffer_free(&out);
}

/* The columns of accelerators add up to what stands under them; nobody asked: there are none. */
static void worth(void **state)
{
	double hours = 0, cost = 0, row_hours, row_cost;
	char *text, *save = NULL;
	bool table = false, sum = false;
	unsigned rows = 0;

	(void)state;
	fixture_trainer(&fx, 4242, 0, 2);
	fx.s.ranks[0].accelerators = 8;
	fx.s.ranks[0].ledger.unsettled_ns = fx.s.ranks[0].ledger.ns[BUCKET_OTHER] / 2;
	text = report(false);
	assert_null(strstr(text, "accel.-hours"));
	free(text);
	fx.s.program.price = 3e5; /* so that rounding is small beside it */
	snprintf(fx.s.program.currency, sizeof(fx.s.program.currency), "$");
	text = report(false);
	for (char *at = strtok_r(text, "\n", &save); at; at = strtok_r(NULL, "\n", &save)) {
		const char *dollar = strrchr(at, '$');

		table |= strstr(at, "accel.-hours") && strstr(at, "cost");
		if (!table || sum || !dollar)
			continue;
		row_cost = strtod(dollar + 1, NULL);
		while (dollar > at && dollar[-1] == ' ')
			dollar--;
		while (dollar > at && dollar[-1] != ' ')
			dollar--;
		row_hours = strtod(dollar, NULL);
		sum = strstr(at, "    sum");
		rows++;
		hours += sum ? -row_hours : row_hours;
		cost += sum ? -row_cost : row_cost;
	}
	assert_true(sum && rows > 4);
	assert_true(hours < 1e-3 && hours > -1e-3);
	assert_true(cost < 0.1 && cost > -0.1);
	free(text);
}

/* The factors that are known are multiplied; one alone is said alone, and none of what is not
 * known. */
static void goodputs_that_are_known(void **state)
{
	static struct job_view job;
	char *text;

	(void)state;
	memset(&job, 0, sizeof(job));
	fixture_trainer(&fx, 4242, 0, 1)->job_key = job.key = 7;
	fx.s.jobs = &job;
	fx.s.njobs = 1;
	fx.s.program.flops = 1e12;
	text = report(false);
	assert_null(strstr(text, "  goodput      runtime"));
	free(text);
	job.program.runtime = 0.196;
	text = report(false);
	has(text, "  goodput      runtime 19.6 %\n");
	assert_null(strstr(text, "scheduling"));
	assert_null(strstr(text, "program unknown"));
	free(text);
	job.program.program = 0.5;
	text = report(false);
	has(text, "  goodput      runtime 19.6 % x program 50.0 %  (MFU of productive time)\n");
	free(text);
}

/* What was measured is named by kind and type, and a peak that is assumed as such. */
static void operations_by_kind_and_type(void **state)
{
	static struct job_view job;
	char *text;

	(void)state;
	memset(&job, 0, sizeof(job));
	fixture_trainer(&fx, 4242, 0, 1)->job_key = job.key = 7;
	fx.s.jobs = &job;
	fx.s.njobs = 1;
	job.program.flops = 8e9;
	job.program.flops_steps = 4;
	job.program.source = PROGRAM_measured;
	job.program.accelerators = 1;
	job.program.operations.kind[OPERATION_KIND_matmul] = 6e9;
	job.program.operations.kind[OPERATION_KIND_attention] = 2e9;
	job.program.operations.type[OPERATION_TYPE_bf16] = 7e9;
	job.program.operations.type[OPERATION_TYPE_fp32] = 1e9;
	fx.s.program.peak_flops = fx.s.program.peaks[OPERATION_TYPE_bf16] = 1e15;
	text = report(false);
	has(text, "matmul 75.0 %, attention 25.0 %; numbers: bf16 87.5 %, fp32 12.5 %\n");
	has(text, ", peak 1.00 PFLOP/s in bf16, unknown in fp32; set it with --peak-tflops\n");
	free(text);
	fx.s.program.peaks[OPERATION_TYPE_tf32] = 5e14;
	text = report(false);
	has(text, ", peak 1.00 PFLOP/s in bf16, 500 TFLOP/s in tf32 (assumed for fp32)\n");
	free(text);
	memset(fx.s.program.peaks, 0, sizeof(fx.s.program.peaks));
	text = report(false);
	has(text, ", peak 1.00 PFLOP/s each\n");
	free(text);
	memset(&fx.s.program, 0, sizeof(fx.s.program));
}

/* Ranges that the job named and figures that it logged: the largest first, by name, nothing where
 * there is none. */
static void what_the_job_says(void **state)
{
	static struct monitor_value values[] = {
		{.name = "acc", .aggregation = MONITOR_MEAN, .value = 0.25},
		{.name = "loss", .aggregation = MONITOR_MEAN},
		{.name = "loss", .aggregation = MONITOR_COUNT, .value = 5}};
	struct loop_view *l;
	char *text;

	(void)state;
	fixture_trainer(&fx, 4242, 0, 1);
	text = report(false);
	assert_null(strstr(text, "own ranges"));
	assert_null(strstr(text, "own figures"));
	free(text);
	l = fx.ranks[0].loops;
	values[1].value = 0.0 / 0.0;
	fx.ranks[0].monitor = values;
	fx.ranks[0].nmonitor = 3;
	fx.ranks[0].ranges_unsent = 7;
	l->ranges.nparts = 2;
	l->ranges.part[0] = (struct share_part){"mlp", 2000000, 1};
	l->ranges.part[1] = (struct share_part){"atten\ttion", 9000000 * l->state.steps,
						l->state.steps};
	text = report(false);
	has(text, "  own ranges   atten?tion 9.00 ms (");
	has(text, "%), mlp 2.00 ms (");
	has(text, ", in 1 step)\n");
	has(text, "               7 ranges were lost");
	has(text, "  own figures  acc   mean 0.25\n               loss  mean no number  count 5\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(trainer, setup),
		cmocka_unit_test_setup(unknown_is_said, setup),
		cmocka_unit_test_setup(hangs, setup),
		cmocka_unit_test_setup(a_leak_in_the_ledger_shows, setup),
		cmocka_unit_test_setup(unobserved_is_beside, setup),
		cmocka_unit_test_setup(losses_and_ends, setup),
		cmocka_unit_test_setup(json_tells_losses_of_data_alone, setup),
		cmocka_unit_test_setup(why_nothing_was_found, setup),
		cmocka_unit_test_setup(hostile_text_is_harmless, setup),
		cmocka_unit_test_setup(as_json, setup),
		cmocka_unit_test_setup(arguments_are_masked, setup),
		cmocka_unit_test_setup(worth, setup),
		cmocka_unit_test_setup(goodputs_that_are_known, setup),
		cmocka_unit_test_setup(operations_by_kind_and_type, setup),
		cmocka_unit_test_setup(what_the_job_says, setup),
		cmocka_unit_test(shares),
		cmocka_unit_test(widths),
		cmocka_unit_test(sparks),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
