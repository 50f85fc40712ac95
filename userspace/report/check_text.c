/* SPDX-License-Identifier: Apache-2.0 */
/* check_text.c - the result of gp-bpf check as text. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "loader/loader.h"
#include "userspace/ingest/event.h"
#include "userspace/text/canvas.h"
#include "userspace/report/check.h"

#define COL_FACT 20 /* column at which a wrapped line continues */

static void check_text_open(struct canvas *c, int cols, bool color)
{
	canvas_open(c, cols ? cols : INT_MAX, color);
	canvas_wrap(c, COL_FACT);
}

static void check_text_feature(struct canvas *c, const struct feature *f)
{
	enum style style = f->have ? STYLE_GREEN : f->required ? STYLE_RED : STYLE_YELLOW;

	canvas_line(c, 0);
	canvas_put(c, STYLE_PLAIN, "  %-12s ", f->name);
	canvas_put(c, style, "%s", f->have ? "yes" : f->off ? "off" : "no");
	canvas_at(c, COL_FACT);
	canvas_put(c, STYLE_PLAIN, "%s", f->purpose);
	canvas_line(c, 0);
	canvas_at(c, COL_FACT);
	canvas_put(c, STYLE_PLAIN, "tested: %s", f->how);
	if (f->error)
		canvas_put(c, STYLE_PLAIN, " (%s%s)", strerror(-f->error),
			   f->kernel_has ? "; this kernel has it" : "");
	canvas_put(c, STYLE_PLAIN, "; without it: %s", f->without);
}

/* Returns true for features that the kernel's lockdown mode "confidentiality" blocks; mode
 * "integrity" blocks none of the features used here. */
static bool check_text_feature_locked(const struct feature *f)
{
	static const char *const names[] = {"tracefs", "syscall_tp", "kernel_read", "file"};

	for (size_t i = 0; !f->have && !f->off && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(f->name, names[i]))
			return true;
	return false;
}

static void check_text_lockdown(struct canvas *c, const struct check_host *h)
{
	const bool locked = !strcmp(h->lockdown, "confidentiality");
	int lost = 0;

	if (!*h->lockdown)
		return;
	canvas_line(c, 0);
	canvas_put(c, STYLE_PLAIN, "kernel lockdown: %s; lost by it: ", h->lockdown);
	for (int i = 0; locked && i < h->nfeatures; i++)
		if (check_text_feature_locked(&h->features[i]))
			canvas_put(c, STYLE_PLAIN, "%s%s", lost++ ? ", " : "", h->features[i].name);
	if (!lost)
		canvas_put(c, STYLE_PLAIN, "nothing");
}

static void check_text_budget(struct canvas *c, const struct check_host *h)
{
	uint32_t usual = 0;

	for (size_t i = 0; i < h->nprices; i++)
		if (!strcmp(h->prices[i].insn, event_insn_name(GP_INSN_emulated)))
			usual = h->prices[i].enter_ns;
	canvas_wrap(c, 4);
	canvas_line(c, 0);
	if (!h->budget_ns) {
		canvas_put(c, STYLE_PLAIN,
			   "overhead budget: none, probes are never detached for their cost");
		return;
	}
	canvas_put(c, STYLE_PLAIN, "overhead budget: %g %% of a process's time",
		   (double)h->budget_ns / 1e7);
	if (usual)
		canvas_put(c, STYLE_PLAIN, " (%" PRIu64 " emulated hits a second)",
			   h->budget_ns / usual);
	canvas_put(c, STYLE_PLAIN, " for probes beyond the marker;");
	canvas_line(c, 0);
	canvas_put(
		c, STYLE_PLAIN,
		"  beyond the budget, for each runtime: bulk is detached; then confirm is only counted, then detached;");
	canvas_line(c, 0);
	canvas_put(c, STYLE_PLAIN, "  probes that find steps (marker) and rare ones (fault) stay");
}

void check_text_host(struct buffer *out, const struct check_host *h, int cols, bool color)
{
	struct canvas c;

	check_text_open(&c, cols, color);
	canvas_line(&c, 0);
	canvas_put(&c, STYLE_PLAIN, "kernel and privileges");
	for (int i = 0; i < h->nfeatures; i++)
		check_text_feature(&c, &h->features[i]);
	check_text_lockdown(&c, h);
	if (h->gvisor) {
		canvas_line(&c, 0);
		canvas_put(&c, STYLE_PLAIN,
			   "gVisor: %u sandbox%s here; processes in gVisor cannot be observed",
			   h->gvisor, h->gvisor == 1 ? "" : "es");
	}
	if (*h->accelerators) {
		canvas_line(&c, 0);
		canvas_put(&c, STYLE_PLAIN, "accelerator clocks: %s", h->accelerators);
	}
	if (h->nprices) {
		canvas_line(&c, 0);
		canvas_line(&c, 0);
		canvas_put(&c, STYLE_PLAIN,
			   "price of one empty hit on this host       entry     entry+return");
	}
	for (size_t i = 0; i < h->nprices; i++) {
		canvas_line(&c, 0);
		canvas_put(&c, STYLE_PLAIN, "  %-32s %8u ns %10u ns", h->prices[i].insn,
			   h->prices[i].enter_ns, h->prices[i].return_ns);
	}
	if (h->nprices)
		check_text_budget(&c, h);
	canvas_finish(&c, out, INT_MAX);
}

void check_text_verdict(struct buffer *out, const struct check_host *h, int cols, bool color)
{
	struct check_host_verdict v;
	struct canvas c;

	check_classify_host(h, &v);
	check_text_open(&c, cols, color);
	canvas_wrap(&c, 2);
	canvas_line(&c, 0);
	canvas_line(&c, 0);
	canvas_put(&c, STYLE_PLAIN, "on this host: ");
	canvas_put(&c, !v.able ? STYLE_RED : v.lacking ? STYLE_YELLOW : STYLE_GREEN, "%s", v.text);
	canvas_finish(&c, out, INT_MAX);
}

static void check_text_runtimes(struct canvas *c, const struct check_target *t)
{
	for (size_t i = 0; i < t->nruntimes; i++) {
		const struct check_runtime *r = &t->runtimes[i];

		canvas_line(c, 0);
		canvas_put(c, STYLE_PLAIN, "  %-14s %-16s %s", r->runtime,
			   *r->version ? r->version : "?", r->library);
	}
}

static void check_text_probe(struct canvas *c, const struct check_target *t,
			     const struct check_probe *p)
{
	const char *state = check_state_name(t, p);
	char cost[32] = "-";

	canvas_line(c, 0);
	if (p->hit_cost_ns)
		snprintf(cost, sizeof(cost), "%u ns", p->hit_cost_ns);
	if (p->a.state == GP_ATTACH_attached)
		canvas_put(c, STYLE_PLAIN, "  %-34s %-9s %-9s %9s %c %s+0x%llx", p->id, state,
			   event_insn_name(p->a.insn), cost, p->verified ? ' ' : '*', p->a.library,
			   (unsigned long long)p->a.offset);
	else
		canvas_put(c, STYLE_PLAIN, "  %-34s %-9s %s%s%s%s%s%s", p->id, state, p->a.library,
			   *p->why ? ": " : "", p->why, *p->versions ? " (it is for: " : "",
			   p->versions, *p->versions ? ")" : "");
}

static void check_text_sums(struct canvas *c, const struct check_target *t)
{
	unsigned attached = 0, absent = 0, failed = 0, unverified = 0;

	for (size_t i = 0; i < t->nprobes; i++) {
		const struct check_probe *p = &t->probes[i];

		attached += p->a.state == GP_ATTACH_attached;
		unverified += p->a.state == GP_ATTACH_attached && !p->verified;
		absent += p->a.state == GP_ATTACH_absent;
		failed += p->a.state == GP_ATTACH_failed || p->a.state == GP_ATTACH_refused;
	}
	if (!t->nprobes)
		return;
	canvas_line(c, 0);
	canvas_put(c, STYLE_PLAIN,
		   "  %u can be probed, %u not in this version of the library, %u failed", attached,
		   absent, failed);
	if (!unverified)
		return;
	canvas_line(c, 0);
	canvas_put(c, STYLE_PLAIN, "  * %u: not yet verified on the real library", unverified);
}

static void check_text_one_verdict(struct canvas *c, const struct check_target *t, size_t n,
				   const char *of)
{
	struct check_verdict v;

	check_classify(t, n, &v);
	canvas_line(c, 0);
	canvas_put(c, STYLE_PLAIN, "%s", of);
	canvas_put(c,
		   v.tier == CHECK_NONE	   ? STYLE_RED
		   : v.tier == CHECK_CYCLE ? STYLE_YELLOW
					   : STYLE_GREEN,
		   "%s", v.text);
}

static void check_text_target(struct canvas *c, const struct check_target *t)
{
	canvas_line(c, 0);
	canvas_line(c, 0);
	canvas_put(c, STYLE_BOLD, "%s", t->name);
	if (t->error) {
		canvas_line(c, 0);
		canvas_put(c, STYLE_PLAIN, "  %s", t->error);
		return;
	}
	check_text_runtimes(c, t);
	if (t->nprobes) {
		canvas_line(c, 0);
		canvas_put(c, STYLE_PLAIN, "  %-34s %-9s %-9s %9s   %s", "probe", "state", "class",
			   "price", "place");
	}
	for (size_t i = 0; i < t->nprobes; i++)
		check_text_probe(c, t, &t->probes[i]);
	check_text_sums(c, t);
	if (t->pid)
		check_text_one_verdict(c, t, 1, "  ");
}

void check_text_targets(struct buffer *out, const struct check_target *targets, size_t n, int cols,
			bool color)
{
	struct canvas c;
	size_t files = 0;

	check_text_open(&c, cols, color);
	while (files < n && !targets[files].pid)
		files++;
	for (size_t i = 0; i < n; i++) {
		check_text_target(&c, &targets[i]);
		if (i + 1 == files)
			check_text_one_verdict(&c, targets, files,
					       files == 1 ? "with this library: "
							  : "with these libraries: ");
		canvas_flush(&c, out);
	}
	canvas_finish(&c, out, INT_MAX);
}
