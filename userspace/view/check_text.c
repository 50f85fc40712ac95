/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "loader/loader.h"
#include "userspace/ingest/event.h"
#include "userspace/view/check.h"

static const char *paint(bool color, const char *code)
{
	return color ? code : "";
}

static void text_feature(struct buffer *out, const struct feature *f, bool color)
{
	const char *mark = f->have ? "yes" : f->off ? "off" : "no";
	const char *code = f->have ? "\033[32m" : f->required ? "\033[31m" : "\033[33m";

	buffer_printf(out, "  %-12s %s%-4s%s %s\n", f->name, paint(color, code), mark,
		      paint(color, "\033[0m"), f->purpose);
	buffer_printf(out, "  %-17s tested: %s%s%s%s%s; without it: %s\n", "", f->how,
		      f->error ? " (" : "", f->error ? strerror(-f->error) : "",
		      f->kernel_has ? "; this kernel has it" : "", f->error ? ")" : "", f->without);
}

static void text_budget(struct buffer *out, const struct check_host *h)
{
	uint32_t usual = 0;

	for (size_t i = 0; i < h->nprices; i++)
		if (!strcmp(h->prices[i].insn, event_insn_name(GP_INSN_emulated)))
			usual = h->prices[i].enter_ns;
	if (!h->budget_ns) {
		buffer_printf(out, "overhead budget: none, nothing is ever given up\n");
		return;
	}
	buffer_printf(out, "overhead budget: %g %% of a process's time",
		      (double)h->budget_ns / 1e7);
	if (usual)
		buffer_printf(out, " (%" PRIu64 " emulated hits a second)", h->budget_ns / usual);
	buffer_printf(
		out,
		" for probes beyond the marker;\n"
		"  over it, of a runtime: bulk is detached, then confirm is counted instead of sent, then "
		"detached;\n"
		"  what finds steps (marker) and what is rare (fault) never\n");
}

void check_text_host(struct buffer *out, const struct check_host *h, bool color)
{
	buffer_printf(out, "kernel and privileges\n");
	for (int i = 0; i < h->nfeatures; i++)
		text_feature(out, &h->features[i], color);
	if (!h->nprices)
		return;
	buffer_printf(out, "\nprice of one empty hit on this host       entry     entry+return\n");
	for (size_t i = 0; i < h->nprices; i++)
		buffer_printf(out, "  %-32s %8u ns %10u ns\n", h->prices[i].insn,
			      h->prices[i].enter_ns, h->prices[i].return_ns);
	text_budget(out, h);
}

static void text_runtimes(struct buffer *out, const struct check_target *t)
{
	for (size_t i = 0; i < t->nruntimes; i++) {
		const struct check_runtime *r = &t->runtimes[i];

		buffer_printf(out, "  %-14s %-16s %s\n", r->runtime, *r->version ? r->version : "?",
			      r->library);
	}
}

static void text_probe(struct buffer *out, const struct check_target *t,
		       const struct check_probe *p)
{
	const char *state = check_state_name(t, p);
	char cost[32] = "-";

	if (p->price_ns)
		snprintf(cost, sizeof(cost), "%u ns", p->price_ns);
	if (p->a.state == GP_ATTACH_attached)
		buffer_printf(out, "  %-34s %-9s %-9s %9s %c %s+0x%llx\n", p->id, state,
			      event_insn_name(p->a.insn), cost, p->verified ? ' ' : '*',
			      p->a.library, (unsigned long long)p->a.offset);
	else
		buffer_printf(out, "  %-34s %-9s %s%s%s%s%s%s\n", p->id, state, p->a.library,
			      *p->why ? ": " : "", p->why, *p->versions ? " (it is for: " : "",
			      p->versions, *p->versions ? ")" : "");
}

static void text_sums(struct buffer *out, const struct check_target *t)
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
	buffer_printf(out, "  %u can be probed, %u not in this version of the library, %u failed\n",
		      attached, absent, failed);
	if (unverified)
		buffer_printf(out,
			      "  * %u: nobody has seen this one work on the real library yet\n",
			      unverified);
}

static void text_verdict(struct buffer *out, const struct check_target *t, size_t n, const char *of,
			 bool color)
{
	struct check_verdict v;
	const char *code;

	check_judge(t, n, &v);
	code = v.tier == CHECK_NONE ? "\033[31m" : v.tier == CHECK_CYCLE ? "\033[33m" : "\033[32m";
	buffer_printf(out, "%s%s%s%s\n", of, paint(color, code), v.text, paint(color, "\033[0m"));
}

static void text_target(struct buffer *out, const struct check_target *t, bool color)
{
	buffer_printf(out, "\n%s%s%s\n", paint(color, "\033[1m"), t->name, paint(color, "\033[0m"));
	if (t->error) {
		buffer_printf(out, "  %s\n", t->error);
		return;
	}
	text_runtimes(out, t);
	if (t->nprobes)
		buffer_printf(out, "  %-34s %-9s %-9s %9s   %s\n", "probe", "state", "class",
			      "price", "place");
	for (size_t i = 0; i < t->nprobes; i++)
		text_probe(out, t, &t->probes[i]);
	text_sums(out, t);
	if (t->pid)
		text_verdict(out, t, 1, "  ", color);
}

void check_text_targets(struct buffer *out, const struct check_target *targets, size_t n,
			bool color)
{
	size_t files = 0;

	while (files < n && !targets[files].pid)
		files++;
	for (size_t i = 0; i < n; i++) {
		text_target(out, &targets[i], color);
		if (i + 1 == files)
			text_verdict(out, targets, files,
				     files == 1 ? "with this library: " : "with these libraries: ",
				     color);
	}
}
