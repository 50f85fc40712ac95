/* SPDX-License-Identifier: Apache-2.0 */
/* Links replaced while they are being hit: each hit counts exactly once. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "tests/unit/probed.h"
#include "userspace/base/clock.h"

#define SWAPS	    12	   /* at least */
#define HITS	    500000 /* likewise: a machine that is busy needs more swaps for them */
#define PATIENCE_NS UINT64_C(20000000000)
#define THREADS	    2
#define NOPS_EACH   4 /* the cheapest hits there are: for as many as a machine can make */
#define HITS_APART                                                                                 \
	64 /* hits that are sent, not counted, are made this rarely: the ring must hold them */

/* Shared with the child: what it did, and when to stop. */
struct tally {
	uint64_t counts[THREADS], nops[THREADS], hits[THREADS], calls[THREADS];
	int stop, running;
};

static struct tally *tally;

static void *hammer(void *arg)
{
	size_t me = (size_t)arg;

	__atomic_add_fetch(&tally->running, 1, __ATOMIC_RELEASE);
	for (uint64_t i = 0; !__atomic_load_n(&tally->stop, __ATOMIC_ACQUIRE); i++) {
		gpt_count();
		tally->counts[me]++;
		for (int n = 0; n < NOPS_EACH; n++)
			gpt_nop5();
		tally->nops[me] += NOPS_EACH;
		if (i % HITS_APART)
			continue;
		gpt_hit(1, 2);
		tally->hits[me]++;
		gpt_call(3, 4);
		tally->calls[me]++;
	}
	return NULL;
}

static void body_hammer(void)
{
	pthread_t threads[THREADS];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, hammer, (void *)i);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void tally_new(void)
{
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	assert_true(tally != MAP_FAILED);
}

static void wait_running(void)
{
	while (__atomic_load_n(&tally->running, __ATOMIC_ACQUIRE) < THREADS)
		usleep(1000);
}

static uint64_t sum(const uint64_t *parts)
{
	return parts[0] + parts[1];
}

static uint64_t hits(void)
{
	return sum(tally->counts) + sum(tally->nops) + sum(tally->hits) + sum(tally->calls);
}

static void expect_exact(struct watch *w, pid_t pid)
{
	watch_collect(w);
	assert_true(hits() >= HITS);
	assert_int_equal(w->losses[GP_LOSS_ring_call], 0);
	assert_int_equal(counted(w, "test.count", pid), sum(tally->counts));
	assert_int_equal(counted(w, "test.nop5", pid), sum(tally->nops));
	assert_int_equal(records_count(w, GP_KIND_hit, "test.hit", pid), sum(tally->hits));
	assert_int_equal(records_count(w, GP_KIND_call, "test.call", pid), sum(tally->calls));
	assert_int_equal(w->losses[GP_LOSS_unpaired], 0);
}

/* For the table of tests/torture. */
static void tally_print(int swaps, uint64_t took_ns)
{
	uint64_t all = hits();

	print_message("# %d swaps, %llu hits, %.2f million a second\n", swaps,
		      (unsigned long long)all, (double)all * 1e3 / (double)took_ns);
}

/* While the child runs a record may be half written: then the rest comes next time. */
static void drain(struct watch *w)
{
	bool busy;

	for (int i = 0; i < 2; i++)
		while (ring_peek(w->rings[i], &w->records, 1 << 20, &busy) > 0)
			ring_advance(w->rings[i]);
}

static void each_hit_counts_once_while_links_are_replaced(void **state)
{
	uint64_t start_ns;
	struct watch *w;
	struct child c;
	int swaps = 0;

	(void)state;
	need_root();
	tally_new();
	w = watch_open(NULL);
	c = child_start(w, body_hammer);
	assert_int_equal(write(c.go, "g", 1), 1);
	wait_running();
	start_ns = clock_mono_ns();
	while (swaps < SWAPS || (hits() < HITS && clock_mono_ns() - start_ns < PATIENCE_NS)) {
		assert_int_equal(loader_relink(w->loader), 0);
		drain(w);
		swaps++;
	}
	__atomic_store_n(&tally->stop, 1, __ATOMIC_RELEASE);
	assert_int_equal(waitpid(c.pid, NULL, 0), c.pid);
	close(c.go);
	expect_exact(w, c.pid);
	tally_print(swaps, clock_mono_ns() - start_ns);
	watch_close(w);
	munmap(tally, sizeof(*tally));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_hit_counts_once_while_links_are_replaced),
	};

	if (probed_setup())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
