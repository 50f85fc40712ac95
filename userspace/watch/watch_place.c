/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/watch_place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/backoff.h"
#include "userspace/base/clock.h"
#include "userspace/base/table.h"
#include "userspace/identity/place.h"
#include "userspace/kubernetes/pods.h"

/* Number of pods that are remembered after their processes ended: the event that says why a pod
 * ended usually arrives later. */
#define GONE_PODS  64
#define RESUMED_NS 60000000000ull

/* Intervals of attempts to get the data of a pod that the list of pods does not have yet. */
static const struct backoff_rule places_again = {.first_ns = 500000000, .most_ns = 64000000000};

/* The location of a process and of its children */
struct placed {
	/* Number of processes that share this entry: the process whose location was read, and its
	 * children. */
	unsigned int owners;
	struct backoff tries; /* consecutive failed attempts to get the pod */
	uint64_t due_ns;      /* time of the next attempt; 0: the data of the pod is complete */
	bool reported;
	bool kept; /* keep the location that a predecessor recorded until the pods' data arrives */
	struct place_facts facts;
	struct gp_place place; /* the location that was recorded last */
};

struct places {
	struct places_config cfg;
	struct table *of; /* pid -> struct placed */
	char gone[GONE_PODS][sizeof(((struct cgroup_place *)NULL)->pod_uid)];
	uint32_t ngone; /* number of pods that were added to `gone` since the start */
	uint64_t resumed_ns;
};

static void places_placed_unref(void *placed)
{
	struct placed *p = placed;

	if (p && !--p->owners)
		free(p);
}

int places_new(struct places **ret, const struct places_config *cfg)
{
	struct places *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return -ENOMEM;
	ps->cfg = *cfg;
	ps->of = table_new();
	if (!ps->of) {
		free(ps);
		return -ENOMEM;
	}
	*ret = ps;
	return 0;
}

void places_free(struct places *ps)
{
	if (!ps)
		return;
	table_free(ps->of, places_placed_unref);
	free(ps);
}

/* Gives the process its own entry instead of the one shared with its parent. Returns NULL if there
 * is no memory. */
static struct placed *places_placed_own(struct places *ps, pid_t pid)
{
	struct placed *p = table_get(ps->of, (uint64_t)pid), *own;

	if (p && p->owners == 1)
		return p;
	own = malloc(sizeof(*own));
	if (!own)
		return NULL;
	*own = p ? *p : (struct placed){0};
	own->owners = 1;
	if (table_put(ps->of, (uint64_t)pid, own)) {
		free(own);
		return NULL;
	}
	places_placed_unref(p);
	return own;
}

static void places_placed_report(struct places *ps, struct placed *p, pid_t pid)
{
	struct gp_place place;

	if (place_make(&p->facts, ps->cfg.job, ps->cfg.pods, &place) == -EAGAIN) {
		p->due_ns = clock_mono_ns() +
			    backoff_next(&p->tries, &places_again, BACKOFF_UNASKED, 0);
	} else {
		p->due_ns = p->tries.failures = 0;
		p->kept = false;
	}
	if (p->kept)
		return;
	if (p->reported ? !memcmp(&p->place, &place, sizeof(place)) : place_empty(&place))
		return;
	p->reported = true;
	p->place = place;
	ps->cfg.fn(ps->cfg.ctx, pid, &place);
}

static int places_placed_read(struct places *ps, pid_t pid, bool kept)
{
	struct place_facts facts;
	struct placed *p;
	int err = ps ? place_read_facts_by_helper(ps->cfg.helper, ps->cfg.root, pid, &facts) : 0;

	if (err || !ps)
		return err;
	p = places_placed_own(ps, pid);
	if (!p)
		return -ENOMEM;
	p->facts = facts;
	p->tries.failures = 0;
	p->kept = kept;
	places_placed_report(ps, p, pid);
	return 0;
}

int places_read(struct places *ps, pid_t pid)
{
	return places_placed_read(ps, pid, false);
}

int places_adopt(struct places *ps, pid_t pid)
{
	return places_placed_read(ps, pid, true);
}

void places_resumed(struct places *ps, uint64_t now_ns)
{
	if (ps)
		ps->resumed_ns = now_ns;
}

void places_child(struct places *ps, pid_t parent, pid_t child)
{
	struct placed *p = ps ? table_get(ps->of, (uint64_t)parent) : NULL;

	if (!p || table_get(ps->of, (uint64_t)child))
		return;
	if (!table_put(ps->of, (uint64_t)child, p))
		p->owners++;
}

static bool places_pod_gone(const struct places *ps, const char *uid)
{
	for (uint32_t i = 0; i < GONE_PODS; i++)
		if (!strcmp(ps->gone[i], uid))
			return true;
	return false;
}

void places_gone(struct places *ps, pid_t pid)
{
	struct placed *p = ps ? table_take(ps->of, (uint64_t)pid) : NULL;

	if (p && !places_pod_gone(ps, p->facts.cgroup.pod_uid))
		memcpy(ps->gone[ps->ngone++ % GONE_PODS], p->facts.cgroup.pod_uid,
		       sizeof(ps->gone[0]));
	places_placed_unref(p);
}

const struct gp_place *places_get(const struct places *ps, pid_t pid)
{
	const struct placed *p = ps ? table_get(ps->of, (uint64_t)pid) : NULL;

	return p && p->reported ? &p->place : NULL;
}

/* Records the location of one process, which first gets its own entry. Call it for each process of
 * a pod. */
static void places_placed_ask(struct places *ps, pid_t pid)
{
	struct placed *p = places_placed_own(ps, pid);

	if (p)
		places_placed_report(ps, p, pid);
}

static void places_due(struct places *ps, uint64_t now_ns)
{
	const struct placed *p;
	uint64_t pid;

	for (size_t at = 0; (p = table_next(ps->of, &at, &pid));)
		if (p->due_ns && p->due_ns <= now_ns)
			places_placed_ask(ps, (pid_t)pid);
}

static void places_pod_changed(void *ctx, const struct pod *pod)
{
	struct places *ps = ctx;
	const struct placed *p;
	uint64_t pid;

	for (size_t at = 0; *pod->uid && (p = table_next(ps->of, &at, &pid));)
		if (!strcmp(p->facts.cgroup.pod_uid, pod->uid))
			places_placed_ask(ps, (pid_t)pid);
}

static void places_on_notice(void *ctx, const struct gp_notice *n)
{
	struct places *ps = ctx;
	const struct placed *p;
	char uid[sizeof(n->pod_uid) + 1] = "";
	bool ours;

	memcpy(uid, n->pod_uid, sizeof(n->pod_uid));
	ours = !*uid || places_pod_gone(ps, uid) ||
	       (ps->resumed_ns && clock_mono_ns() - ps->resumed_ns < RESUMED_NS);
	for (size_t at = 0; !ours && (p = table_next(ps->of, &at, NULL));)
		ours = !strcmp(p->facts.cgroup.pod_uid, uid);
	if (ours)
		ps->cfg.notice(ps->cfg.ctx, n);
}

void places_tick(struct places *ps, uint64_t now_ns)
{
	if (!ps || !ps->cfg.pods)
		return;
	pods_changes(ps->cfg.pods, places_pod_changed, ps);
	pods_notices(ps->cfg.pods, places_on_notice, ps);
	places_due(ps, now_ns);
}
