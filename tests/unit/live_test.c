/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/fixture.h"
#include "userspace/base/log.h"
#include "userspace/text/canvas.h"
#include "userspace/view/frame.h"
#include "userspace/view/view.h"

static struct fixture fx;

static int setup(void **state)
{
	(void)state;
	setenv("TZ", "UTC", 1);
	unsetenv("NO_COLOR");
	setenv("TERM", "xterm", 1);
	fixture_init(&fx);
	return 0;
}

static char *frame(int cols, int rows, uint32_t selected, const char *log)
{
	struct frame_options o = {.cols = cols, .rows = rows, .selected = selected, .log = log};
	struct buffer b = {0};
	char *copy, *save = NULL;
	int lines = 0;

	frame_draw(&b, &fx.s, &o);
	assert_false(b.failed);
	if (!b.data)
		return strdup("");
	assert_null(strchr(b.data, '\x1b'));
	assert_null(strstr(b.data, " \n"));
	for (const char *at = b.data; (at = strchr(at, '\n')); at++)
		lines++;
	assert_in_range(lines, 0, rows);
	copy = strdup(b.data);
	for (char *at = strtok_r(copy, "\n", &save); at; at = strtok_r(NULL, "\n", &save))
		if (canvas_width(at) > cols)
			fail_msg("%d columns of %d: %s", canvas_width(at), cols, at);
	free(copy);
	return b.data;
}

static void has(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("no '%s' in:\n%s", what, text);
}

static void one_rank(void **state)
{
	char *text;

	(void)state;
	fixture_trainer(&fx, 4242, 0, 2);
	text = frame(80, 24, 0, "gp-bpf: warning: something");
	has(text, "rank 0 of 2  pid 4242  job mnist  python3 train.py");
	has(text, "locked A by Optimizer.step#AdamW");
	has(text, "backward:4 fetch:4 zero_grad:1");
	has(text, " uneven steps: the slowest");
	has(text, "\n   of the step time is above it; next: ");
	has(text, "step 2000");
	has(text, "p50 31.2 ms");
	has(text, "p99 301 ms");
	has(text, "jitter 1.9 %");
	has(text, "▲");
	has(text, "goodput 72.4 %");
	has(text, "program startup");
	has(text, "checkpoint saved in 210 ms");
	has(text, "records lost none");
	has(text, "gp-bpf: warning: something");
	has(text, "q quit (the job continues)");
	assert_null(strstr(text, "choose a process"));
	free(text);
}

static void hangs(void **state)
{
	struct rank_view *r = fixture_trainer(&fx, 4242, 0, 2);
	char *text;

	(void)state;
	fixture_hang(r, GP_WHY_input, true, "thread 4242 reads /data/x");
	text = frame(80, 24, 0, NULL);
	assert_null(strstr(text, "waits for input")); /* it goes on */
	free(text);
	fixture_hang(r, GP_WHY_input, false, "thread 4242 reads /data/x");
	fixture_trainer(&fx, 4243, 1, 2);
	text = frame(80, 40, 0, NULL);
	has(text, "hung for 42.0 s: waits for input");
	has(text, "thread 4242 reads /data/x");
	has(text, "hung       step 2000");
	has(text, "locked A   step 2000");
	free(text);
	r->hang.hung = false;
	r->hang.silent = true;
	text = frame(80, 24, 0, NULL);
	has(text, "silent for 42.0 s: waits for input");
	free(text);
}

static void what_matters_stays_when_small(void **state)
{
	char *text;

	(void)state;
	fixture_trainer(&fx, 4242, 0, 2);
	text = frame(80, 12, 0, NULL);
	has(text, "locked A");
	has(text, "step 2000");
	has(text, "p50 31.2 ms");
	has(text, "goodput 72.4 %");
	has(text, "█");
	has(text, "q quit");
	free(text);
}

/* Every size, every kind of content: never wider, never longer. frame() asserts it. */
static void any_size(void **state)
{
	struct rank_view *r;

	(void)state;
	for (uint32_t i = 0; i < 9; i++) {
		r = i % 3 == 2 ? fixture_process(&fx, 5000 + i)
			       : fixture_trainer(&fx, 4000 + i, (int)i, 9);
		memset(r->command, 'y', sizeof(r->command) - 1);
		memcpy(r->command, "\346\227\245\346\234\254\033[31m", 11);
		memset(r->job, 'j', sizeof(r->job) - 1);
	}
	fx.ranks[0].ledger.ns[BUCKET_UNOBSERVED] = 3 * S;
	for (int b = 0; b < BUCKET_COUNT; b++)
		fx.ranks[0].ledger.ns[b] += 7 * S;
	for (int cols = 1; cols < 200; cols += cols < 90 ? 1 : 13)
		for (int rows = 0; rows < 60; rows += rows < 30 ? 1 : 7)
			for (uint32_t selected = 0; selected < 10; selected += 3)
				free(frame(cols, rows, selected, "a log line"));
}

static void ranks_can_be_chosen(void **state)
{
	char *text;

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		fixture_trainer(&fx, 4000 + i, (int)i, 40);
	text = frame(80, 24, 30, NULL);
	has(text, ">rank 30");
	has(text, "rank 30 of 40  pid 4030");
	has(text, " of 40 processes shown");
	assert_null(strstr(text, "rank 2 "));
	free(text);
	text = frame(80, 24, 99, NULL); /* it has gone */
	has(text, ">rank 39");
	free(text);
}

static void a_job_that_was_restarted(void **state)
{
	struct rank_view *dead = fixture_trainer(&fx, 4242, -1, -1),
			 *next = fixture_trainer(&fx, 4250, -1, -1);
	static struct job_view job = {
		.key = 7, .state = JOB_RUNNING, .runs = 2, .last_step = 240, .ndisruptions = 1};
	char *text;

	(void)state;
	dead->alive = false;
	next->start_mono_ns = 1050 * S;
	dead->job_key = next->job_key = job.key;
	job.ledger = next->ledger;
	job.ledger.disruptions = 1;
	job.ledger.ns[BUCKET_WASTED] = 5 * S;
	job.ledger.ns[BUCKET_OTHER] -= 5 * S;
	fx.s.jobs = &job;
	fx.s.njobs = 1;
	assert_int_equal(frame_first(&fx.s), 1);
	text = frame(100, 30, frame_first(&fx.s), NULL);
	assert_non_null(strstr(
		text,
		"job running, run 2, step 240   goodput 72.4 %   disruptions 1   wasted 5.00 s"));
	free(text);
	next->alive = false;
	assert_int_equal(frame_first(&fx.s), 1); /* the last to live */
	dead->start_mono_ns = 1060 * S;
	assert_int_equal(frame_first(&fx.s), 0);
	fx.s.jobs = NULL;
	fx.s.njobs = 0;
}

static void without_training(void **state)
{
	char *text = frame(80, 24, 0, NULL);

	(void)state;
	has(text, "no training yet: no process mapped a runtime library");
	has(text, "q quit");
	free(text);
	fixture_process(&fx, 7);
	fixture_attach(&fx, "torch.step", "libtorch_cpu.so", GP_ATTACH_attached, 0);
	text = frame(80, 24, 0, NULL);
	has(text, "pid 7");
	has(text, "none that marks training was hit");
	assert_null(strstr(text, "goodput"));
	free(text);
}

static void two_loops(void **state)
{
	struct rank_view *r = fixture_trainer(&fx, 4242, 0, 2);
	char *text;

	(void)state;
	fx.loops[1] = fx.loops[0];
	fx.loops[1].state.loop = 1;
	fx.loops[1].last_end_ns--;
	fx.loops[1].last_number = 1234;
	r->nloops = 2;
	text = frame(100, 40, 0, NULL);
	has(text, "loop 1 of 2  step 2000");
	has(text, "loop 2  locked A  Optimizer.step#AdamW  step 1234");
	free(text);
}

static void color_is_optional(void **state)
{
	struct buffer plain = {0}, color = {0};

	(void)state;
	fixture_trainer(&fx, 4242, 0, 2);
	live_frame(&plain, &fx.s, 80, 24, false, NULL);
	live_frame(&color, &fx.s, 80, 24, true, NULL);
	assert_null(strchr(plain.data, '\x1b'));
	assert_non_null(strstr(color.data, "\033[32m"));
	/* Taken away, the colours leave the same text. */
	for (char *at; (at = strchr(color.data, '\x1b'));)
		memmove(at, strchr(at, 'm') + 1, strlen(strchr(at, 'm')));
	assert_string_equal(plain.data, color.data);
	buffer_free(&plain);
	buffer_free(&color);
}

/* ---- on a terminal --------------------------------------------------------------------------- */

struct terminal {
	int master, slave;
	char text[65536];
};

static void terminal_open(struct terminal *t, int cols, int rows)
{
	struct winsize w = {.ws_col = (unsigned short)cols, .ws_row = (unsigned short)rows};

	assert_int_equal(openpty(&t->master, &t->slave, NULL, NULL, &w), 0);
	fcntl(t->master, F_SETFL, O_NONBLOCK);
}

/* What the view has written since. A pty hands it over at once. */
static const char *terminal_read(struct terminal *t)
{
	struct pollfd p = {.fd = t->master, .events = POLLIN};
	size_t at = 0;
	ssize_t n;

	while (at + 1 < sizeof(t->text) && poll(&p, 1, at ? 20 : 200) > 0) {
		n = read(t->master, t->text + at, sizeof(t->text) - 1 - at);
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	t->text[at] = '\0';
	return t->text;
}

static void terminal_close(struct terminal *t)
{
	close(t->master);
	close(t->slave);
}

static int count(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static void only_changes_are_written(void **state)
{
	static struct terminal t;
	struct live *l;
	const char *text;

	(void)state;
	terminal_open(&t, 80, 24);
	fixture_trainer(&fx, 4242, 0, 2);
	assert_int_equal(live_open(&l, t.slave, t.slave), 0);
	assert_string_equal(terminal_read(&t), ""); /* until there is something to show */
	live_draw(l, &fx.s);
	text = terminal_read(&t);
	has(text, "\033[?1049h");
	has(text, "locked A");
	assert_in_range(count(text, ";1H\033[K"), 15, 24);
	live_draw(l, &fx.s); /* nothing changed: nothing is written */
	assert_string_equal(terminal_read(&t), "");
	fx.loops[0].last_number++;
	live_draw(l, &fx.s);
	text = terminal_read(&t);
	has(text, "step 2001");
	assert_int_equal(count(text, ";1H\033[K"), 1);
	live_resize(l);
	has(terminal_read(&t), "locked");
	live_close(l);
	text = terminal_read(&t);
	has(text, "\033[?25h");
	has(text, "\033[?1049l");
	assert_int_equal(fx.s.references, 1 << 20);
	terminal_close(&t);
}

static void unheard(void *ctx, enum log_level level, const char *line)
{
	(void)ctx;
	(void)level;
	(void)line;
}

static void no_color_is_honoured(void **state)
{
	static struct terminal t;
	struct live *l;

	(void)state;
	terminal_open(&t, 80, 24);
	fixture_trainer(&fx, 4242, 0, 2);
	setenv("NO_COLOR", "1", 1);
	assert_int_equal(live_open(&l, t.slave, t.slave), 0);
	live_draw(l, &fx.s);
	assert_null(strstr(terminal_read(&t), "\033[32m"));
	live_close(l);
	terminal_close(&t);
}

/* ^S, as a person presses it: nothing waits until the end, which resumes the output. */
static void a_held_terminal_holds_nothing_up(void **state)
{
	const struct winsize w = {.ws_col = 80, .ws_row = 24};
	static struct terminal t;
	int status;
	size_t at = 0;
	ssize_t n;
	struct live *l;
	pid_t pid;

	(void)state;
	fixture_trainer(&fx, 4242, 0, 2);
	pid = forkpty(&t.master, NULL, NULL, &w);
	assert_true(pid >= 0);
	if (!pid) {
		alarm(20);
		if (live_open(&l, 0, 0))
			_exit(1);
		live_draw(l, &fx.s);
		tcflow(0, TCOOFF);
		live_resize(l);
		live_draw(l, &fx.s);
		tcflow(0, TCOON);
		live_draw(l, &fx.s);
		tcflow(0, TCOOFF);
		live_close(l);
		_exit(0);
	}
	while (at + 1 < sizeof(t.text) &&
	       (n = read(t.master, t.text + at, sizeof(t.text) - 1 - at)) > 0)
		at += (size_t)n;
	t.text[at] = '\0';
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(count(t.text, "\033[2J"), 2); /* the first frame, and the new size */
	assert_int_equal(count(t.text, "\033[?1049l"), 1);
	close(t.master);
}

static int overflow(int depth)
{
	volatile char room[4096] = {0};

	return depth < 0 ? 0 : overflow(depth + 1) + room[0];
}

/* What is logged while frames are shown follows them, in full, also where the view has crashed. */
static void logged_lines_follow(void **state)
{
	static struct terminal t;
	int was = dup(STDERR_FILENO), status;
	const char *text, *left;
	struct live *l;

	(void)state;
	terminal_open(&t, 80, 24);
	fixture_trainer(&fx, 4242, 0, 2);
	dup2(t.slave, STDERR_FILENO);
	assert_int_equal(live_open(&l, t.slave, t.slave), 0);
	log_warn("before");
	live_draw(l, &fx.s);
	for (int i = 0; i < 100; i++)
		log_warn("line %d", i);
	log_error("the reason");
	for (int i = 100; i < 200; i++)
		log_warn("line %d", i);
	text = terminal_read(&t);
	has(text, "before\r\n\033[?");
	assert_null(strstr(text, "line 0"));
	live_close(l);
	text = terminal_read(&t);
	left = strstr(text, "\033[?1049l");
	assert_non_null(left);
	for (const char *const *line =
		     (const char *const[]){"line 0\r", "line 31\r", "the reason\r", "line 199\r",
					   "137 more messages", NULL};
	     *line; line++)
		has(left, *line);
	assert_null(strstr(text, "line 60\r"));
	for (int deep = 0; deep < 2; deep++) {
		if (!fork()) {
			live_open(&l, t.slave, t.slave);
			live_draw(l, &fx.s);
			log_error("why");
			if (deep)
				overflow(0);
			abort();
		}
		wait(&status);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == (deep ? SIGSEGV : SIGABRT));
		text = terminal_read(&t);
		left = strstr(text, "\033[?1049l");
		assert_non_null(left);
		has(left, "why\r\n");
	}
	dup2(was, STDERR_FILENO);
	close(was);
	terminal_close(&t);
}

static void dumb_terminals_have_no_view(void **state)
{
	static struct terminal t;
	struct live *l;

	(void)state;
	terminal_open(&t, 80, 24);
	log_sink(unheard, NULL);
	setenv("TERM", "dumb", 1);
	assert_int_equal(live_open(&l, t.slave, t.slave), -ENOTTY);
	unsetenv("TERM");
	assert_int_equal(live_open(&l, t.slave, t.slave), -ENOTTY);
	log_sink(NULL, NULL);
	assert_string_equal(terminal_read(&t), "");
	terminal_close(&t);
}

static void needs_a_terminal(void **state)
{
	struct live *l;
	int fd = open("/dev/null", O_RDWR);

	(void)state;
	log_sink(unheard, NULL);
	assert_true(live_open(&l, fd, fd) < 0);
	log_sink(NULL, NULL);
	close(fd);
	live_close(NULL);
}

static void plain_lines(void **state)
{
	struct step_state st = {.state = STATE_LOCKED,
				.tier = TIER_A,
				.steps = 3,
				.marker = "Optimizer.step#AdamW"};
	struct fact_checkpoint c = {.start_ns = 1 * S,
				    .end_ns = 1 * S + 41 * MS,
				    .closed = true,
				    .step = 500,
				    .file = "ckpt\n.pt"};
	struct job_disruption d = {.why = {.cause = CAUSE_killed,
					   .exit_code = -1,
					   .signal = 9,
					   .sender = 77,
					   .sender_comm = "ba\033sh"},
				   .d.step = 12};
	struct fact_health h = {.kind = "hang",
				.size_ns = 42 * S,
				.why = "input",
				.phase = "data",
				.evidence = "reads a\033b"};
	struct gp_loss loss = {.cause = GP_LOSS_ring_call, .count = 4};
	struct fact f = {
		.type = FACT_RANK, .real_ns = fx.s.real_ns, .pid = 4242, .rank = 0, .job = ""};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	f.state = &st;
	plain_fact(out, &f);
	plain_event(out, &f);
	st.state = STATE_LEARNING;
	plain_event(out, &f);
	f.type = FACT_CHECKPOINT;
	f.checkpoint = &c;
	plain_fact(out, &f);
	f.type = FACT_DISRUPTION;
	f.disruption = &d;
	plain_fact(out, &f);
	f.type = FACT_HEALTH;
	f.health = &h;
	plain_fact(out, &f);
	h.over = true;
	h.evidence = "";
	plain_fact(out, &f);
	f = (struct fact){.type = FACT_LOSS, .rank = -1, .loss = &loss};
	plain_fact(out, &f);
	f.type = FACT_STEP;
	plain_fact(out, &f);
	fixture_trainer(&fx, 4242, 0, 2);
	plain_snapshot(out, &fx.s);
	plain_snapshot(out, &fx.s); /* not twice in ten seconds */
	fclose(out);
	assert_string_equal(
		text,
		"12:01:40 rank 0 pid 4242 locked (tier A by Optimizer.step#AdamW) after 3 steps\n"
		"gp-bpf: 12:01:40 rank 0 pid 4242 locked (tier A by Optimizer.step#AdamW) after 3 steps\n"
		"12:01:40 rank 0 pid 4242 checkpoint saved in 41.0 ms after step 500: ckpt?.pt\n"
		"12:01:40 rank 0 pid 4242 disruption: killed by signal 9 (Killed) sent by pid 77 (ba?sh), last step 12\n"
		"12:01:40 rank 0 pid 4242 hangs for 42.0 s: input (reads a?b)\n"
		"12:01:40 rank 0 pid 4242 hung 42.0 s: input; over now\n"
		"--:--:-- 4 records lost: ring_call\n"
		"12:01:40 rank 0 pid 4242 step 2000, median 31.2 ms, p99 301 ms, goodput 72.4 %\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_rank, setup),
		cmocka_unit_test_setup(hangs, setup),
		cmocka_unit_test_setup(what_matters_stays_when_small, setup),
		cmocka_unit_test_setup(any_size, setup),
		cmocka_unit_test_setup(ranks_can_be_chosen, setup),
		cmocka_unit_test_setup(a_job_that_was_restarted, setup),
		cmocka_unit_test_setup(without_training, setup),
		cmocka_unit_test_setup(two_loops, setup),
		cmocka_unit_test_setup(color_is_optional, setup),
		cmocka_unit_test_setup(only_changes_are_written, setup),
		cmocka_unit_test_setup(no_color_is_honoured, setup),
		cmocka_unit_test_setup(a_held_terminal_holds_nothing_up, setup),
		cmocka_unit_test_setup(logged_lines_follow, setup),
		cmocka_unit_test_setup(dumb_terminals_have_no_view, setup),
		cmocka_unit_test_setup(needs_a_terminal, setup),
		cmocka_unit_test_setup(plain_lines, setup),
	};

	return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
