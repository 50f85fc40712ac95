/* SPDX-License-Identifier: Apache-2.0 */
/* check_classify.c - decides how steps can be found from the attached probes. The table lists the
 * methods in the model's order of preference, with tiers as in family_row[] (model/step). */
#include <stdio.h>
#include <string.h>

#include "loader/loader.h"
#include "userspace/ingest/event.h"
#include "userspace/report/check.h"

const char *check_state_name(const struct check_target *t, const struct check_probe *p)
{
	return t->pid || p->a.state != GP_ATTACH_attached ? event_attach_state_name(p->a.state)
							  : "resolved";
}

struct rung {
	/* roles of probes that must both be attached; `with` is GP_ROLE_none if one role
	 * suffices */
	enum gp_role role, with;
	bool anonymous;
	bool nameless; /* applies to programs whose names and data flow are unknown */
	enum check_tier tier;
	const char *text; /* %s: ID of the probe */
};

/* Returns true if the probe reports programs without names: recorded graphs, and programs whose
 * runtime reports no name at execution or compilation. */
static bool classify_nameless(const struct check_probe *p)
{
	return p->role == GP_ROLE_graph_launch ||
	       (p->role == GP_ROLE_execute && !p->names && !p->compiles);
}

static const struct check_probe *classify_one(const struct check_target *t, enum gp_role role,
					      const struct rung *r)
{
	for (size_t i = 0; i < t->nprobes; i++) {
		const struct check_probe *p = &t->probes[i];

		if (p->a.state == GP_ATTACH_attached && p->role == role &&
		    (role != r->role ||
		     (p->anonymous == r->anonymous && classify_nameless(p) == r->nameless)))
			return p;
	}
	return NULL;
}

static const struct check_probe *classify_find(const struct check_target *t, size_t n,
					       enum gp_role role, const struct rung *r)
{
	const struct check_probe *p = NULL;

	for (size_t i = 0; i < n && !p; i++)
		p = classify_one(&t[i], role, r);
	return p;
}

#define BY_MARKER "name what ends a step with --marker ID, and steps are exact"
static const struct rung rungs[] = {
	/* Only torch 1.13 has both of these probes. It can also report names of ranges, but
	 * optimizers and data loaders name none, so the next row does not apply to it. */
	{GP_ROLE_range_begin, GP_ROLE_backward, true, false, CHECK_B,
	 "steps can be found: by the operators of Adam and its relatives (tier A), else by the order of backward passes and ranges without names (tier B; %s); loading and evaluation cannot be seen"},
	{GP_ROLE_range_begin, GP_ROLE_range_end, false, false, CHECK_A,
	 "steps can be found, tier A (exact): by the names of optimizers and loaders (%s)"},
	{GP_ROLE_execute, GP_ROLE_none, false, false, CHECK_B,
	 "steps can be found, tier B: by the program that runs once a step (%s)"},
	{GP_ROLE_reducer, GP_ROLE_none, false, false, CHECK_A,
	 "steps can be found, tier A: by synchronised backward passes (%s)"},
	{GP_ROLE_backward, GP_ROLE_none, false, false, CHECK_B,
	 "steps can be found, tier B: each backward pass counts as a step (%s)"},
	{GP_ROLE_execute, GP_ROLE_none, false, true, CHECK_CYCLE,
	 "no step can be told from outside by itself: runs of programs are counted, which have no names (%s); " BY_MARKER},
	{GP_ROLE_graph_launch, GP_ROLE_none, false, true, CHECK_CYCLE,
	 "no step can be told from outside by itself: launches of recorded graphs are counted, if there are any, else waits for the device recur as cycles (%s); " BY_MARKER},
	{GP_ROLE_sync, GP_ROLE_none, false, false, CHECK_CYCLE,
	 "no step can be told from outside by itself: waits for the device recur as cycles (%s); " BY_MARKER},
};

/* Adds to the verdict's text that programs compiled before gp-bpf attached have no names. */
static void classify_late(const struct check_target *t, size_t n, const struct check_probe *by,
			  struct check_verdict *ret)
{
	size_t len = strlen(ret->text);

	if (n != 1 || !t->pid || by->role != GP_ROLE_execute || by->names)
		return;
	snprintf(
		ret->text + len, sizeof(ret->text) - len,
		"; of programs that this process has compiled already no name is known: their executions are counted, and are steps with --marker %s",
		by->id);
}

void check_classify(const struct check_target *t, size_t n, struct check_verdict *ret)
{
	const struct check_probe *by;
	size_t known = 0;

	*ret = (struct check_verdict){.by = ""};
	for (size_t i = 0; i < sizeof(rungs) / sizeof(rungs[0]); i++) {
		const struct rung *r = &rungs[i];

		by = classify_find(t, n, r->role, r);
		if (!by || (r->with && !classify_find(t, n, r->with, r)))
			continue;
		ret->tier = r->tier;
		ret->by = by->id;
		/* The table's texts are constants with exactly one %s, and the probe ID was checked
		 * when its file was read. */
		snprintf(ret->text, sizeof(ret->text), "%.*s%s%s",
			 (int)(strstr(r->text, "%s") - r->text), r->text, by->id,
			 strstr(r->text, "%s") + 2);
		classify_late(t, n, by, ret);
		return;
	}
	for (size_t i = 0; i < n; i++)
		known += t[i].nprobes;
	snprintf(
		ret->text, sizeof(ret->text), "%s",
		known ? "no step can be found: what is resolved here tells of errors, or of how a job starts, not of steps or waits"
		      : "no step can be found: no library of a known runtime (known: gp-bpf probes)");
}

/* Appends the names of missing features with reason or consequence, up to the size of v->text. */
static void check_classify_host_lacks(struct check_host_verdict *v, const struct check_host *h,
				      bool required)
{
	size_t used = strlen(v->text);

	for (int i = 0; i < h->nfeatures && used < sizeof(v->text); i++) {
		const struct feature *f = &h->features[i];

		/* The feature "session" is not used yet, so its absence is not reported. */
		if (f->have || f->required != required || !strcmp(f->name, "session"))
			continue;
		used += (size_t)snprintf(v->text + used, sizeof(v->text) - used, "%s%s (%s)",
					 v->lacking ? ", " : "", f->name,
					 !required  ? f->without
					 : f->off   ? "switched off"
					 : f->error ? strerror(-f->error)
						    : "needs another one");
		v->lacking = true;
	}
}

void check_classify_host(const struct check_host *h, struct check_host_verdict *ret)
{
	*ret = (struct check_host_verdict){.able = h->nprices};
	if (!ret->able) {
		snprintf(ret->text, sizeof(ret->text), "nothing can be watched; missing: ");
		check_classify_host_lacks(ret, h, true);
		if (!ret->lacking)
			snprintf(ret->text, sizeof(ret->text),
				 "nothing can be watched: see the error above");
		return;
	}
	snprintf(ret->text, sizeof(ret->text), "processes can be watched, without ");
	check_classify_host_lacks(ret, h, false);
	if (!ret->lacking)
		snprintf(
			ret->text, sizeof(ret->text),
			"processes can be watched; whether steps can be found: gp-bpf check --pid PID");
}
