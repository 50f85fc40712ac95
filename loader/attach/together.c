/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>

#include "loader/attach/together.h"

#define THREADS_MAX 64 /* that sleep cost nothing but their stacks */
#define STACK_BYTES (256 << 10)

struct work {
	size_t count;
	atomic_size_t next;
	together_fn *one;
	void *ctx;
};

static void *together_run(void *arg)
{
	struct work *w = arg;
	size_t i;

	while ((i = atomic_fetch_add(&w->next, 1)) < w->count)
		w->one(w->ctx, i);
	return NULL;
}

void together(size_t count, together_fn *one, together_tell_fn *tell, void *ctx)
{
	struct work w = {.count = count, .one = one, .ctx = ctx};
	pthread_t threads[THREADS_MAX];
	size_t started = 0, i;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	while (started < THREADS_MAX && started + 1 < count &&
	       !pthread_create(&threads[started], &attr, together_run, &w))
		started++;
	while ((i = atomic_fetch_add(&w.next, 1)) < count) {
		one(ctx, i);
		if (tell)
			tell(ctx, atomic_load(&w.next));
	}
	while (started)
		pthread_join(threads[--started], NULL);
	pthread_attr_destroy(&attr);
}
