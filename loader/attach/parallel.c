/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>

#include "loader/attach/parallel.h"

#define THREADS_MAX 64 /* limit of threads; they only sleep, so each costs its stack */
#define STACK_BYTES (256 << 10)

struct work {
	size_t count;
	atomic_size_t next;
	parallel_fn *one;
	void *ctx;
};

static void *parallel_thread(void *arg)
{
	struct work *w = arg;
	size_t i;

	while ((i = atomic_fetch_add(&w->next, 1)) < w->count)
		w->one(w->ctx, i);
	return NULL;
}

void parallel_each(size_t count, parallel_fn *one, parallel_progress_fn *progress, void *ctx)
{
	struct work w = {.count = count, .one = one, .ctx = ctx};
	pthread_t threads[THREADS_MAX];
	size_t started = 0, i;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	while (started < THREADS_MAX && started + 1 < count &&
	       !pthread_create(&threads[started], &attr, parallel_thread, &w))
		started++;
	while ((i = atomic_fetch_add(&w.next, 1)) < count) {
		one(ctx, i);
		if (progress)
			progress(ctx, atomic_load(&w.next));
	}
	while (started)
		pthread_join(threads[--started], NULL);
	pthread_attr_destroy(&attr);
}
