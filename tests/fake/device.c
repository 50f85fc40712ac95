/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tests/fake/cuda.h"

#define QUEUE 1024

static struct work queue[QUEUE];
static uint64_t queued, done;
static bool started;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *device_main(void *unused)
{
	struct work w;

	(void)unused;
	pthread_mutex_lock(&lock);
	for (;;) {
		while (done == queued)
			pthread_cond_wait(&changed, &lock);
		w = queue[done % QUEUE];
		pthread_mutex_unlock(&lock);
		w.run(&w);
		pthread_mutex_lock(&lock);
		done++;
		pthread_cond_broadcast(&changed);
	}
	return NULL;
}

/* With the first work: a process that forks has not started it before. */
static void device_start(void)
{
	pthread_t thread;

	if (started)
		return;
	started = true;
	if (pthread_create(&thread, NULL, device_main, NULL))
		abort();
	pthread_detach(thread);
}

uint64_t device_queue(const struct work *w)
{
	uint64_t number;

	pthread_mutex_lock(&lock);
	device_start();
	while (queued - done == QUEUE)
		pthread_cond_wait(&changed, &lock);
	queue[queued % QUEUE] = *w;
	number = ++queued;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return number;
}

void device_wait(uint64_t number)
{
	pthread_mutex_lock(&lock);
	while (done < number)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

uint64_t device_last(void)
{
	uint64_t number;

	pthread_mutex_lock(&lock);
	number = queued;
	pthread_mutex_unlock(&lock);
	return number;
}
