/* SPDX-License-Identifier: Apache-2.0 */
/* pods_metadata.c - asks the metadata server of Compute Engine for events of the machine.
 * Maintenance is announced a minute ahead, but only to clients that ask (see Google's documentation
 * of "maintenance-event"); preemption half a minute ahead. The request for maintenance is a long
 * poll; preemption is requested between two polls. GKE's own metadata server, which pods with
 * Workload Identity get, has neither value: then the thread ends. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/cloud/metadata.h"
#include "userspace/kubernetes/pods_private.h"

#define METADATA_MS 3000 /* time limit for an answer, in addition to the time of a long poll */

/* Gets a value that is one word. Returns 0, or -errno as metadata_get() does. */
static int metadata_word(struct pods_worker *w, const char *path, double wait_s, char *out,
			 size_t cap)
{
	struct web_reply r = {0};
	char whole[128], why[256];
	int err;

	snprintf(whole, sizeof(whole), wait_s > 0 ? "%s?wait_for_change=true&timeout_sec=%d" : "%s",
		 path, wait_s > 1 ? (int)wait_s : 1);
	err = metadata_get(w->access.web, whole, METADATA_MS + (uint64_t)(wait_s * 1000), &r, why,
			   sizeof(why));
	if (!err) {
		log_escape(out, cap, r.body.data ? r.body.data : "", r.body.len);
		out[strcspn(out, " ?")] = '\0';
	} else {
		log_debug("metadata server: %s: %s", path, why);
	}
	web_reply_free(&r);
	return err;
}

static void metadata_signal(struct pods_signal *signals, uint32_t *n, const char *key, uint8_t what,
			    const char *word)
{
	struct pods_signal *s = &signals[(*n)++];

	memset(s, 0, sizeof(*s));
	snprintf(s->key, sizeof(s->key), "%s", key);
	s->notice.what = what;
	s->notice.at_ns = clock_real_ns();
	pods_say(&s->notice, "Compute Engine: %s %s", key, word);
}

void pods_watch_metadata(void *worker)
{
	struct pods_worker *w = worker;
	struct pods *p = w->pods;
	struct pods_signal signals[2];
	char word[64] = "";
	bool first = true;
	struct backoff failures = {0};
	uint64_t start_ns;
	int preempted, maintenance;
	uint32_t n;

	while (!pods_stops(p)) {
		start_ns = clock_mono_ns();
		n = 0;
		preempted = metadata_word(w, "instance/preempted", 0, word, sizeof(word));
		if (!preempted && !strcmp(word, "TRUE"))
			metadata_signal(signals, &n, "preempted", GP_NOTICE_preempted, word);
		/* A long poll, which returns when the value changes. The first request returns at
		 * once. */
		maintenance = metadata_word(w, "instance/maintenance-event",
					    first ? 0 : p->intervals.metadata_s, word,
					    sizeof(word));
		if (!maintenance && strcmp(word, "NONE") != 0 && word[0])
			metadata_signal(signals, &n, "maintenance-event", GP_NOTICE_maintenance,
					word);
		if (preempted == -ENOENT || (preempted == -ENODATA && maintenance == -ENODATA))
			break;
		if (preempted && maintenance) {
			pods_wait_longer(p, &failures, BACKOFF_UNASKED);
			continue;
		}
		failures = (struct backoff){0};
		first = false;
		pods_signals(p, 1, signals, n);
		/* A server without long polls answers at once: pause before the next request. */
		if ((double)(clock_mono_ns() - start_ns) < p->intervals.metadata_s * 5e8)
			pods_sleep(p, p->intervals.metadata_s / 2);
	}
}
