/* SPDX-License-Identifier: Apache-2.0 */
/* pods_known.c - keeps the known pods, and the events that the caller has not fetched yet. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/kubernetes/pods_private.h"

/* ---- events; all under lock */

static void known_report(struct pods *p, const struct gp_notice *notice)
{
	/* The queue is full: drop the oldest event and count the loss. */
	if (p->notice_count == PODS_NOTICES) {
		p->notice_first = (p->notice_first + 1) % PODS_NOTICES;
		p->notice_count--;
		p->view.lost++;
	}
	p->notices[(p->notice_first + p->notice_count++) % PODS_NOTICES] = *notice;
}

static void known_report_pod(struct pods *p, const struct pod *pod, uint8_t what, int64_t at_ns,
			     const char *why, const char *more)
{
	struct gp_notice notice = {.at_ns = at_ns, .what = what};

	memcpy(notice.pod_uid, pod->uid, sizeof(notice.pod_uid));
	pods_say(&notice, "%s%s%s", why, *why && *more ? ": " : "", more);
	known_report(p, &notice);
}

/* Returns the event that a reason stands for. The reason was set by the scheduler, the eviction API
 * or the kubelet. */
static uint8_t known_cause(const char *reason)
{
	return strstr(reason, "reempt") ? GP_NOTICE_preempted : GP_NOTICE_evicted;
}

static const struct pod_container *known_container(const struct pod *pod, const char *name)
{
	for (uint32_t i = 0; pod && i < pod->ncontainers; i++)
		if (!strcmp(pod->containers[i].name, name))
			return &pod->containers[i];
	return NULL;
}

/* Queues the events that happened to a pod since `old`; old NULL: the pod is new. */
static void known_compare(struct pods *p, const struct pod *old, const struct pod *new)
{
	const struct pod_container *before, *c;
	bool was = old && (old->disrupted || !strcmp(old->reason, "Evicted"));

	if (!was && (new->disrupted || !strcmp(new->reason, "Evicted")))
		known_report_pod(p, new, known_cause(new->reason), new->disrupted_ns, new->reason,
				 "");
	if (new->deleted_ns && !(old && old->deleted_ns))
		known_report_pod(p, new, GP_NOTICE_deleted, new->deleted_ns, new->reason, "");
	for (uint32_t i = 0; i < new->ncontainers; i++) {
		c = &new->containers[i];
		before = known_container(old, c->name);
		/* Ignore an OOM kill in the first list: it happened before gp-bpf started. */
		if (strcmp(c->reason, "OOMKilled") != 0 || (!old && !p->listed) ||
		    (before && !strcmp(before->reason, c->reason) &&
		     before->restarts == c->restarts && before->exit_code == c->exit_code))
			continue;
		known_report_pod(p, new, GP_NOTICE_oom, c->ended_ns, c->reason, c->name);
	}
}

void pods_signals(struct pods *p, unsigned source, const struct pods_signal *signals, uint32_t n)
{
	struct pods_signal *have = p->signals[source];
	struct gp_notice over;
	uint32_t i, k;

	worker_lock(&p->threads);
	for (i = 0; i < n; i++) {
		for (k = 0; k < p->nsignals[source] && strcmp(have[k].key, signals[i].key) != 0;
		     k++)
			;
		if (k == p->nsignals[source] ||
		    strcmp(have[k].notice.text, signals[i].notice.text) != 0)
			known_report(p, &signals[i].notice);
	}
	for (k = 0; k < p->nsignals[source]; k++) {
		for (i = 0; i < n && strcmp(have[k].key, signals[i].key) != 0; i++)
			;
		if (i < n)
			continue;
		over = have[k].notice;
		over.over = 1;
		over.at_ns = clock_real_ns();
		known_report(p, &over);
	}
	memcpy(have, signals, n * sizeof(*have));
	p->nsignals[source] = n;
	worker_unlock(&p->threads);
}

/* ---- rows; all under lock */

static struct pods_row *known_find(const struct pods *p, const char *uid)
{
	for (uint32_t i = 0; i < p->nrows; i++)
		if (!strcmp(p->rows[i]->pod.uid, uid) ||
		    (p->rows[i]->alias[0] && !strcmp(p->rows[i]->alias, uid)))
			return p->rows[i];
	return NULL;
}

static void known_forget(struct pods *p, uint32_t i)
{
	free(p->rows[i]);
	p->rows[i] = p->rows[--p->nrows];
}

/* Removes pods that were deleted more than PODS_GONE_S ago. If that frees no row, removes the pod
 * that was deleted first. */
static void known_clean(struct pods *p)
{
	uint64_t now_ns = clock_mono_ns();
	uint32_t first = UINT32_MAX;

	for (uint32_t i = 0; i < p->nrows;) {
		const struct pods_row *row = p->rows[i];

		if (row->pod.gone &&
		    now_ns - row->gone_mono_ns > PODS_GONE_S * UINT64_C(1000000000))
			known_forget(p, i);
		else
			i++;
	}
	if (p->nrows < PODS_MAX)
		return;
	for (uint32_t i = 0; i < p->nrows; i++)
		if (p->rows[i]->pod.gone &&
		    (first == UINT32_MAX ||
		     p->rows[i]->gone_mono_ns < p->rows[first]->gone_mono_ns))
			first = i;
	if (first != UINT32_MAX)
		known_forget(p, first);
}

/* Adds a row for a pod. Returns NULL if there are too many pods or no memory. */
static struct pods_row *known_add(struct pods *p)
{
	struct pods_row *row;

	known_clean(p);
	row = p->nrows < PODS_MAX ? calloc(1, sizeof(*row)) : NULL;
	if (row)
		p->rows[p->nrows++] = row;
	else
		p->view.lost++;
	return row;
}

/* Returns true if the pods are equal. memcmp() is valid, because pods_parse() also sets the
 * padding. */
static bool known_same(const struct pod *a, const struct pod *b)
{
	// NOLINTNEXTLINE(*-memory-comparison,cert-exp42-c,cert-flp37-c)
	return !memcmp(a, b, sizeof(*a));
}

static struct pods_row *known_put(struct pods *p, const struct pod *pod, const char *alias)
{
	struct pods_row *row = known_find(p, pod->uid);
	bool new = !row;

	if (new)
		row = known_add(p);
	if (!row)
		return NULL;
	row->list = p->list;
	if (known_same(&row->pod, pod) && !new)
		return row;
	known_compare(p, new ? NULL : &row->pod, pod);
	memcpy(&row->pod, pod, sizeof(*pod));
	memcpy(row->alias, alias, sizeof(row->alias));
	row->changed = true;
	return row;
}

static void known_gone(struct pods *p, struct pods_row *row)
{
	if (row->pod.gone)
		return;
	row->pod.gone = true;
	row->gone_mono_ns = clock_mono_ns();
	row->changed = true;
	if (row->pod.deleted_ns)
		return;
	row->pod.deleted_ns = clock_real_ns();
	known_report_pod(p, &row->pod, GP_NOTICE_deleted, row->pod.deleted_ns, row->pod.reason, "");
}

/* ---- called by the threads */

void pods_list_begin(struct pods *p)
{
	worker_lock(&p->threads);
	p->list++;
	worker_unlock(&p->threads);
}

void pods_list_end(struct pods *p)
{
	worker_lock(&p->threads);
	for (uint32_t i = 0; i < p->nrows; i++)
		if (p->rows[i]->list != p->list)
			known_gone(p, p->rows[i]);
	p->listed = true;
	p->view.lists++;
	worker_unlock(&p->threads);
}

void pods_put(struct pods *p, const struct pod *pod, const char *alias, bool gone)
{
	struct pods_row *row;
	bool log_full;

	worker_lock(&p->threads);
	row = known_put(p, pod, alias);
	if (row && gone)
		known_gone(p, row);
	log_full = !row && !gone && !p->full_logged;
	p->full_logged |= log_full;
	worker_unlock(&p->threads);
	if (log_full)
		log_warn(
			"Kubernetes: this node has more than %d pods; jobs in the others are reported without pod names",
			PODS_MAX);
}

/* ---- queries; const for callers, which do not see the lock */

int pods_get(const struct pods *p, const char *uid, struct pod *ret)
{
	struct pods *q = (struct pods *)p;
	const struct pods_row *row;
	int err;

	worker_lock(&q->threads);
	row = known_find(p, uid);
	if (row)
		memcpy(ret, &row->pod, sizeof(*ret));
	err = row ? 0 : p->listed ? -ENOENT : -EAGAIN;
	worker_unlock(&q->threads);
	return err;
}

/* Do not hold the lock during the call of fn, which may take long. */
void pods_changes(struct pods *p, pods_change_fn *fn, void *ctx)
{
	struct pod pod;
	bool any;

	do {
		any = false;
		worker_lock(&p->threads);
		for (uint32_t i = 0; i < p->nrows && !any; i++) {
			if (!p->rows[i]->changed)
				continue;
			p->rows[i]->changed = false;
			memcpy(&pod, &p->rows[i]->pod, sizeof(pod));
			any = true;
		}
		worker_unlock(&p->threads);
		if (any)
			fn(ctx, &pod);
	} while (any);
}

void pods_notices(struct pods *p, pods_notice_fn *fn, void *ctx)
{
	struct gp_notice notice;
	bool any;

	do {
		worker_lock(&p->threads);
		any = p->notice_count > 0;
		if (any) {
			notice = p->notices[p->notice_first];
			p->notice_first = (p->notice_first + 1) % PODS_NOTICES;
			p->notice_count--;
		}
		worker_unlock(&p->threads);
		if (any)
			fn(ctx, &notice);
	} while (any);
}
