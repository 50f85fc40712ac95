/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "tests/unit/top_node.h"

/* ---- what is shown --------------------------------------------------------------------------- */

static void eighty_columns(void **state)
{
	char *text;

	(void)state;
	three_jobs();
	take();
	text = frame(80, 24);
	assert_string_equal(
		text,
		"gp-bpf 0.1.0  node-7                                                    12:01:40\n"
		"jobs 2 running, 1 down, 3 in all   ranks 3   accelerators 3\n"
		"overhead 0.006 %   records lost none   watched 3\n"
		"sorted by trouble\n"
		"\n"
		"  JOB           STATE   RANKS    STEP      P50 GOODPUT TIME     TROUBLE     FELL\n"
		"> llama-70b     running     2    2000  31.2 ms  72.4 % ██████░▓ hung 1, st…    -\n"
		"  resnet        down        -    2000  31.2 ms  72.4 % ██████░▓                1\n"
		"  mnist         running     1    2000  31.2 ms  72.4 % ██████░▓                -\n"
		"\n"
		"q quit   ↑ ↓ choose   Enter open   < > sort   r reverse   / filter   ? help\n");
	free(text);
}

static void wider(void **state)
{
	char *text;

	(void)state;
	three_jobs();
	take();
	text = frame(120, 24);
	has(text,
	    "  JOB                  STATE    RANKS     STEP      P50 STEP TIMES GOODPUT WHERE TIME WENT TROUBLE        FELL\n");
	has(text, "> llama-70b            running      2     2000  31.2 ms ");
	has(text, "  72.4 % ███████████░░▓▒ hung 1, strag…    -\n");
	free(text);
	text = frame(200, 24);
	has(text, "12.1 % program startup");
	has(text, "hung 1, straggler 1");
	has(text, "▲"); /* an outlier of the step times */
	free(text);
	text = frame(120, 0); /* not on a terminal */
	assert_null(strchr(text, '>'));
	assert_null(strstr(text, "quit"));
	free(text);
}

static void a_job_is_opened(void **state)
{
	char *text;

	(void)state;
	three_jobs();
	take();
	keys("\r");
	assert_true(ui.open);
	text = frame(120, 40);
	has(text, "job llama-70b  running, run 1, step 2000   disruptions 0");
	has(text, "goodput 72.4 % of 1 m 40 s observed");
	has(text, "█ goodput 72.4 %   ░ program startup 12.1 %   ▓ data loading 8.3 %");
	has(text, ">     0    4300 ");
	has(text, " straggler 30.0 ms\n");
	has(text, "      1    4301 ");
	has(text, "1.00 s  31.2 ms   301 ms");
	has(text, "rank 0  pid 4300  by Optimizer.step#AdamW  python3 train.py --lr 1e-3");
	has(text, "12:00:41  checkpoint saved in 210 ms");
	has(text, "q back");
	free(text);
	keys("j");
	text = frame(120, 40);
	has(text, "hung 42.0 s: input  thread 4301 reads /data/x");
	free(text);
	keys("q");
	keys("j\n"); /* the one that is down */
	text = frame(80, 24);
	has(text, "12:01:30  killed, rank 0, after step 1999: not over");
	has(text, "signal 9");
	free(text);
	fx.s.njobs = 1;
	take();
	text = frame(80, 24);
	has(text, "the job is gone");
	free(text);
}

/* How much slower a rank is now, where it is: the median of its last steps may be the usual one
 * already. */
static void slow_by(void **state)
{
	static const struct {
		uint64_t after_ns;
		const char *told;
	} cases[] = {{130 * MS, " slow +30 %\n"},
		     {101 * MS, " slow +1 %\n"},
		     {100 * MS, " slow\n"},
		     {90 * MS, " slow\n"}};
	char *text;

	(void)state;
	job("llama-70b", 1);
	fx.ranks[0].loops[0].change = (struct change_view){
		.slow = true, .count = 1, .before_ns = 100 * MS};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fx.ranks[0].loops[0].change.after_ns = cases[i].after_ns;
		take();
		if (!ui.open)
			keys("\r");
		text = frame(120, 40);
		has(text, cases[i].told);
		free(text);
	}
}

static void no_job(void **state)
{
	char *text;

	(void)state;
	fx.s.nranks = 0;
	take();
	keys("jk\r\033[5~\033[6~<>rG");
	assert_false(ui.open);
	text = frame(80, 24);
	has(text, "jobs 0 running, 0 in all   ranks 0\n");
	has(text, "no training job: no process mapped a runtime library");
	free(text);
	top_ui_note(&ui, true, "no answer: \033[2Jgone");
	text = frame(80, 24);
	has(text, "no answer: ?[2Jgone");
	free(text);
}

static void names_are_hostile(void **state)
{
	static const char *const names[] = {"\033[31mred\033]0;x\007",
					    "日本語のとても長い名前のジョブ",
					    "a\nb\tc",
					    "\xff\xfe",
					    "\xe2\x80\xae"
					    "evil",
					    "",
					    "👩‍🚀 x",
					    "%s%n"};
	size_t n = sizeof(names) / sizeof(names[0]);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		struct job_view *j = job(names[i], 1);

		memset(fx.ranks[i].command, i % 2 ? '\033' : 'y', sizeof(fx.ranks[i].command) - 1);
		snprintf(fx.ranks[i].events[0].text, sizeof(fx.ranks[i].events[0].text), "%s",
			 names[i]);
		fixture_hang(&fx.ranks[i], GP_WHY_input, false, names[i]);
		j->futile_runs = 5;
	}
	take();
	for (int cols = 1; cols < 220; cols += cols < 90 ? 1 : 13) {
		for (int rows = 1; rows < 60; rows += rows < 30 ? 3 : 11) {
			free(frame(cols, rows));
			keys("\r");
			free(frame(cols, rows));
			keys("?");
			free(frame(cols, rows));
			keys("?qj");
		}
	}
}

static void five_hundred_jobs(void **state)
{
	char name[32], *text;

	(void)state;
	for (int i = 0; i < JOBS; i++) {
		snprintf(name, sizeof(name), "job-%03d", i);
		job(name, 1);
	}
	jobs[321].state = JOB_DOWN;
	take();
	text = frame(80, 24);
	has(text, "   1 to 16 of 500\n");
	has(text, "> job-321");
	free(text);
	keys("J\033[6~\033[6~"); /* PgDn */
	text = frame(80, 24);
	has(text, "> job-020");
	free(text);
	keys("\033[F");
	text = frame(80, 50);
	has(text, "> job-499");
	has(text, "459 to 500 of 500");
	free(text);
	keys("/-01*\x7f\r");
	text = frame(80, 24);
	has(text, "10 of 500 match -01");
	has(text, "> job-010");
	free(text);
	text = frame(120, 0);
	has(text, "job-019");
	free(text);
	ui.filter[0] = '\0';
	text = frame(120, 0);
	for (int i = 0; i < JOBS; i++) {
		snprintf(name, sizeof(name), "job-%03d", i);
		has(text, name);
	}
	free(text);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void orders(void **state)
{
	char *text;

	(void)state;
	job("b", 1);
	job("a", 2);
	jobs[0].ledger.ns[BUCKET_GOODPUT] -= 50 * S;
	jobs[0].ledger.ns[BUCKET_EVAL] += 50 * S;
	jobs[1].last_step = 7;
	take();
	keys("G"); /* the worst first */
	has(text = frame(80, 24), "> b");
	free(text);
	keys("N");
	has(text = frame(80, 24), "> b");
	free(text);
	keys("R");
	has(text = frame(80, 24), "> a");
	free(text);
	keys("r");
	has(text = frame(80, 24), "sorted by ranks, reversed");
	has(text, "> b");
	free(text);
	keys("r>");
	assert_int_equal(ui.sort, TOP_JOB_STEP);
	keys("<<<<<");
	assert_int_equal(ui.sort, TOP_JOB_DISRUPTIONS);
	keys("\r>W");
	assert_int_equal(ui.rank_sort, TOP_RANK_WAIT);
	assert_int_equal(ui.sort, TOP_JOB_DISRUPTIONS);
	keys("\033");
	assert_false(ui.open);
	assert_true(top_ui_keys(&ui, &s, (const unsigned char *)"q", 1));
	assert_true(top_ui_keys(&ui, NULL, (const unsigned char *)"\r\033[Bj?qq", 8));
}

static void filters(void **state)
{
	(void)state;
	job("alpha", 1);
	job("beta", 1);
	take();
	keys("/q?j\033"); /* are text */
	assert_string_equal(ui.filter, "");
	keys("/日\x7f*TA\r");
	assert_string_equal(ui.filter, "*TA");
	keys("\r");
	assert_memory_equal(ui.job, s.jobs[1].key, sizeof(ui.job));
	keys("q\033");
	assert_string_equal(ui.filter, "");
	for (int i = 0; i < 100; i++)
		keys("/xxxxxxxxxx\r");
	assert_int_equal(strlen(ui.filter), TOP_FILTER_MAX - 1);
}

static void what_is_refused(void **state)
{
	char filter[TOP_FILTER_MAX + 1];

	(void)state;
	memset(filter, 'x', sizeof(filter));
	filter[TOP_FILTER_MAX] = '\0';
	assert_int_equal(top_ui_init(&ui, "nonsense", NULL), -EINVAL);
	assert_int_equal(top_ui_init(&ui, NULL, filter), -EINVAL);
	assert_int_equal(top_ui_init(&ui, "goodput", filter + 1), 0);
	assert_int_equal(ui.sort, TOP_JOB_GOODPUT);
}

static void an_unnamed_job_is_what_it_runs(void **state)
{
	static const char *const rows[][2] = {
		{"/root/.cache/venv/bin/python3 -u /srv/train.py --lr 1e-4", "train.py"},
		{"python -m trainer.main --epochs 3", "trainer.main"},
		{"python3", "python3"},
		{"/usr/bin/nanotrain --steps 5", "nanotrain"},
		{"./", "./"},
		{"", ""},
	};
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *name = top_program(rows[i][0], &len);

		assert_int_equal(len, strlen(rows[i][1]));
		assert_memory_equal(name, rows[i][1], len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(eighty_columns, setup, teardown),
		cmocka_unit_test_setup_teardown(wider, setup, teardown),
		cmocka_unit_test_setup_teardown(a_job_is_opened, setup, teardown),
		cmocka_unit_test_setup_teardown(slow_by, setup, teardown),
		cmocka_unit_test_setup_teardown(no_job, setup, teardown),
		cmocka_unit_test_setup_teardown(names_are_hostile, setup, teardown),
		cmocka_unit_test_setup_teardown(five_hundred_jobs, setup, teardown),
		cmocka_unit_test_setup_teardown(orders, setup, teardown),
		cmocka_unit_test_setup_teardown(filters, setup, teardown),
		cmocka_unit_test(an_unnamed_job_is_what_it_runs),
		cmocka_unit_test_setup_teardown(what_is_refused, setup, teardown),
	};

	return cmocka_run_group_tests_name("top", tests, NULL, NULL);
}
