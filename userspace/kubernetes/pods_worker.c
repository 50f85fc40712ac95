/* SPDX-License-Identifier: Apache-2.0 */
/* pods_worker.c - functions shared by the threads that follow Kubernetes: pauses, and recording of
 * success and failure. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/kubernetes/pods_private.h"

bool pods_stops(struct pods *p)
{
	return worker_stops(&p->threads);
}

bool pods_sleep(struct pods *p, double seconds)
{
	return worker_sleep(&p->threads, (uint64_t)(seconds * 1e9));
}

bool pods_wait_longer(struct pods *p, struct backoff *b, int64_t asked_ms)
{
	return worker_sleep(&p->threads,
			    backoff_next(b, &p->intervals.backoff, asked_ms, backoff_random()));
}

void pods_well(struct pods_worker *w, uint64_t changes)
{
	struct pods *p = w->pods;
	char before[sizeof(w->trouble)];

	worker_lock(&p->threads);
	memcpy(before, w->trouble, sizeof(before));
	w->trouble[0] = '\0';
	w->current = true;
	p->view.changes += changes;
	p->view.last_ns = clock_real_ns();
	worker_unlock(&p->threads);
	if (before[0])
		log_info("Kubernetes: requests succeed again, after: %s", before);
}

void pods_trouble(struct pods_worker *w, const char *fmt, ...)
{
	struct pods *p = w->pods;
	char text[512], shown[sizeof(w->trouble)];
	va_list ap;
	bool changed;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_escape(shown, sizeof(shown), text, strlen(text));
	worker_lock(&p->threads);
	changed = !p->threads.stop && strcmp(w->trouble, shown) != 0;
	memcpy(w->trouble, shown, sizeof(shown));
	w->current = false;
	p->view.failures++;
	worker_unlock(&p->threads);
	if (changed)
		log_warn("Kubernetes: %s; gp-bpf will try again", shown);
}

void pods_lost(struct pods *p, uint64_t n)
{
	worker_lock(&p->threads);
	p->view.lost += n;
	worker_unlock(&p->threads);
}
