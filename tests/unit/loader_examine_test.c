/* SPDX-License-Identifier: Apache-2.0 */
/* Examinations by the real programs: waits of a thread, the process that runs instead, the end.
 * Needs root. */
#include <dirent.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "loader/examine.h"
#include "loader/kernel/feature.h"
#include "tests/unit/probed.h"

#define MS 1000000ull

static pid_t children[2];
static int before; /* links that the tests of features keep open */

/* A child on the last CPU that runs body() again and again. */
static pid_t child(int i, const char *name, void (*body)(void))
{
	pid_t pid = fork();
	cpu_set_t set;

	if (pid) {
		children[i] = pid;
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	CPU_ZERO(&set);
	CPU_SET((size_t)sysconf(_SC_NPROCESSORS_ONLN) - 1, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (;;)
		body();
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		if (children[i]) {
			kill(children[i], SIGKILL);
			waitpid(children[i], NULL, 0);
		}
		children[i] = 0;
	}
	return 0;
}

static void body_spin(void)
{
	for (volatile int i = 0; i < 1000; i++)
		;
}

static void body_nap(void)
{
	usleep(20000);
}

static void body_sleep(void)
{
	pause();
}

/* Returns the number of links to programs that this process has open. */
static int links(void)
{
	char path[300], link[64];
	DIR *d = opendir("/proc/self/fd");
	const struct dirent *e;
	int n = 0;

	while ((e = readdir(d))) {
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%s", e->d_name);
		len = readlink(path, link, sizeof(link) - 1);
		link[len > 0 ? len : 0] = '\0';
		n += strstr(link, "bpf_link") || strstr(link, "bpf-raw-tracepoint");
	}
	closedir(d);
	return n;
}

static struct examine *open_examine(uint64_t overhead_ns)
{
	const struct feature *f;
	struct examine *e;

	need_root();
	loader_features("", &f);
	if (!feature_have(FEATURE_TP_BTF))
		skip();
	assert_int_equal(examine_new(&e, overhead_ns), 0);
	before = links();
	return e;
}

static struct examine_request request(pid_t pid, uint64_t length_ns)
{
	struct examine_request r = {.count = 1, .length_ns = length_ns, .thread = {{pid, pid}}};

	r.call[SYS_read] = EXAMINE_CALL_FD;
	return r;
}

static const struct examine_result *finish(struct examine *e)
{
	const struct examine_result *r;

	while (!(r = examine_take(e)))
		usleep(1000);
	return r;
}

static void names_what_runs_instead(void **state)
{
	struct examine *e = open_examine(0);
	struct examine_request ask = request(child(0, "victim", body_spin), 1500 * MS);
	pid_t hog = child(1, "hog", body_spin);
	const struct examine_result *r;

	(void)state;
	assert_int_equal(examine_begin(e, &ask), 0);
	assert_int_equal(examine_begin(e, &ask), -EBUSY);
	while (links() == before) /* attached within the time of this test */
		usleep(1000);
	r = finish(e);
	assert_int_equal(r->error, 0);
	assert_int_equal(links(), before); /* detached */
	assert_null(examine_take(e));
	assert_false(examine_busy(e));
	assert_false(r->dear);
	assert_in_range(r->to_ns - r->from_ns, 1500 * MS, 10000 * MS);
	assert_true(r->done[0].runnable_ns > 150 * MS);
	assert_true(r->done[0].nran > 0);
	assert_int_equal(r->done[0].ran[0].pid, hog);
	assert_true(r->cost_ns && r->runs);
	examine_free(e);
}

static void sums_sleeps_by_call(void **state)
{
	struct examine *e = open_examine(0);
	struct examine_request ask = request(child(0, "napper", body_nap), 1000 * MS);
	const struct examine_wait *w;
	const struct examine_result *r;

	(void)state;
	for (int round = 0; round < 2; round++) { /* the second begins with empty maps */
		assert_int_equal(examine_begin(e, &ask), 0);
		r = finish(e);
		assert_int_equal(r->error, 0);
		assert_false(r->done[0].still);
		w = &r->done[0].wait[0];
		assert_true(w->syscall == SYS_clock_nanosleep || w->syscall == SYS_nanosleep);
		assert_in_range(w->count, 5, 60);
		assert_in_range(w->slow, 5, 60);
		assert_true(w->ns > 300 * MS && w->ns <= r->to_ns - r->from_ns);
		assert_true(w->worst_ns >= 15 * MS);
	}
	examine_free(e);
}

static void thread_without_events(void **state)
{
	struct examine *e = open_examine(0);
	struct examine_request ask = request(child(0, "sleeper", body_sleep), 300 * MS);
	const struct examine_result *r;

	(void)state;
	usleep(50000);
	assert_int_equal(examine_begin(e, &ask), 0);
	r = finish(e);
	assert_true(r->done[0].still);
	assert_int_equal(r->done[0].nwaits, 0);
	examine_free(e);
}

static void keeps_to_the_budget(void **state)
{
	struct examine *e = open_examine(1); /* 1 ns in a second */
	struct examine_request ask = request(child(0, "napper", body_nap), 9000 * MS);
	const struct examine_result *r;

	(void)state;
	assert_int_equal(examine_begin(e, &ask), 0);
	r = finish(e);
	assert_true(r->dear);
	assert_true(r->to_ns - r->from_ns < 5000 * MS);
	assert_int_equal(links(), before);
	examine_free(e);
}

static void ends_when_freed(void **state)
{
	struct examine *e = open_examine(0);
	struct examine_request ask = request(child(0, "napper", body_nap), 9000 * MS), wrong = ask;

	(void)state;
	wrong.count = EXAMINE_THREADS + 1;
	assert_int_equal(examine_begin(e, &wrong), -EINVAL);
	wrong = ask;
	wrong.length_ns = EXAMINE_MAX_NS + 1;
	assert_int_equal(examine_begin(e, &wrong), -EINVAL);
	assert_int_equal(examine_begin(e, &ask), 0);
	usleep(200000);
	examine_free(e);
	assert_int_equal(links(), before);
}

int main(void)
{
#define T(name) cmocka_unit_test_teardown(name, teardown)
	static const struct CMUnitTest tests[] = {
		T(names_what_runs_instead), T(sums_sleeps_by_call), T(thread_without_events),
		T(keeps_to_the_budget),	    T(ends_when_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
