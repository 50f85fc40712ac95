/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>

#include <cmocka.h>

#include "userspace/base/clock.h"
#include "userspace/base/worker.h"

#define MS 1000000ull

struct desk {
	struct worker worker;
	int asked, answered; /* under the lock, as all below */
	bool masked, slept_through, deaf;
	char name[16];
};

static void answer(void *ctx)
{
	struct desk *d = ctx;
	sigset_t mask;

	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	worker_lock(&d->worker);
	d->masked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGCHLD) == 1;
	prctl(PR_GET_NAME, d->name, 0, 0, 0);
	while (!d->worker.stop || d->deaf) {
		if (d->asked == d->answered) {
			worker_wait(&d->worker, WORKER_FOREVER);
			continue;
		}
		d->answered++;
		worker_wake(&d->worker);
	}
	worker_unlock(&d->worker);
}

static void doze(void *ctx)
{
	struct desk *d = ctx;
	bool through = worker_sleep(&d->worker, 3600000 * MS);

	worker_lock(&d->worker);
	d->slept_through = through;
	worker_unlock(&d->worker);
}

static bool ask(struct desk *d, uint64_t within_ns)
{
	uint64_t until_ns = clock_mono_ns() + within_ns;
	bool answered;

	worker_lock(&d->worker);
	d->asked++;
	worker_wake(&d->worker);
	while (d->answered < d->asked && worker_wait(&d->worker, until_ns))
		;
	answered = d->answered == d->asked;
	worker_unlock(&d->worker);
	return answered;
}

static void test_asked_and_answered(void **state)
{
	struct desk d = {0};
	sigset_t mask;

	(void)state;
	worker_init(&d.worker);
	assert_int_equal(worker_start(&d.worker, "a name that is too long", answer, &d), 0);
	for (int i = 0; i < 1000; i++)
		assert_true(ask(&d, 60000 * MS));
	worker_free(&d.worker);
	assert_true(d.masked);
	assert_string_equal(d.name, "a name that is ");
	assert_int_equal(d.answered, 1000);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	assert_int_equal(sigismember(&mask, SIGTERM), 0);
}

static void test_wait_has_a_limit(void **state)
{
	struct desk d = {0};
	uint64_t start_ns;

	(void)state;
	worker_init(&d.worker);
	start_ns = clock_mono_ns();
	assert_false(ask(&d, 20 * MS)); /* no thread answers */
	assert_true(clock_mono_ns() - start_ns >= 20 * MS);
	worker_lock(&d.worker);
	assert_false(worker_wait(&d.worker, 0));
	worker_unlock(&d.worker);
	worker_free(&d.worker);
}

static void test_sleep_ends_early(void **state)
{
	struct desk d = {.slept_through = true};
	uint64_t start_ns = clock_mono_ns();

	(void)state;
	worker_init(&d.worker);
	assert_true(worker_sleep(&d.worker, MS));
	assert_true(clock_mono_ns() - start_ns >= MS);
	assert_int_equal(worker_start(&d.worker, "doze", doze, &d), 0);
	worker_join(&d.worker); /* an hour, if sleeping did not end */
	assert_false(d.slept_through);
	assert_false(worker_sleep(&d.worker, 3600000 * MS));
	worker_free(&d.worker);
}

static void test_end_has_a_limit(void **state)
{
	struct desk d = {.deaf = true};

	(void)state;
	worker_init(&d.worker);
	assert_true(worker_ended(&d.worker, 0)); /* none was started */
	assert_int_equal(worker_start(&d.worker, "deaf", answer, &d), 0);
	assert_false(worker_stops(&d.worker));
	worker_stop(&d.worker);
	assert_true(worker_stops(&d.worker));
	assert_false(worker_ended(&d.worker, clock_mono_ns() + 20 * MS));
	worker_lock(&d.worker);
	d.deaf = false;
	worker_wake(&d.worker);
	worker_unlock(&d.worker);
	assert_true(worker_ended(&d.worker, clock_mono_ns() + 60000 * MS));
	worker_join(&d.worker);
	worker_lock(&d.worker); /* it can still be used */
	worker_unlock(&d.worker);
	worker_free(&d.worker);
}

static void test_several_threads(void **state)
{
	struct desk d = {0};

	(void)state;
	worker_init(&d.worker);
	for (int i = 0; i < WORKER_THREADS; i++)
		assert_int_equal(worker_start(&d.worker, "many", answer, &d), 0);
	assert_int_equal(worker_start(&d.worker, "many", answer, &d), -EAGAIN);
	assert_true(ask(&d, 60000 * MS));
	worker_free(&d.worker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asked_and_answered), cmocka_unit_test(test_wait_has_a_limit),
		cmocka_unit_test(test_sleep_ends_early),   cmocka_unit_test(test_end_has_a_limit),
		cmocka_unit_test(test_several_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
