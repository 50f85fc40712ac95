/* SPDX-License-Identifier: Apache-2.0 */
/* check_json.c - the result of gp-bpf check as JSON. */
#include <string.h>

#include "loader/loader.h"
#include "userspace/base/json_text.h"
#include "userspace/ingest/event.h"
#include "userspace/report/check.h"

static void json_host(struct buffer *b, const struct check_host *h)
{
	struct check_host_verdict v;

	json_open(b, "features", '[');
	for (int i = 0; i < h->nfeatures; i++) {
		const struct feature *f = &h->features[i];

		json_open(b, NULL, '{');
		json_string(b, "name", f->name);
		json_bool(b, "have", f->have);
		json_bool(b, "off", f->off);
		json_bool(b, "required", f->required);
		json_known(b, "error", f->error ? strerror(-f->error) : NULL);
		json_string(b, "purpose", f->purpose);
		json_string(b, "without", f->without);
		json_close(b, '}');
	}
	json_close(b, ']');
	json_known(b, "lockdown", h->lockdown);
	json_uint(b, "gvisor_sandboxes", h->gvisor);
	json_known(b, "accelerator_clocks", *h->accelerators ? h->accelerators : NULL);
	json_open(b, "prices", '[');
	for (size_t i = 0; i < h->nprices; i++) {
		json_open(b, NULL, '{');
		json_string(b, "class", h->prices[i].insn);
		json_nonzero(b, "entry_ns", h->prices[i].enter_ns);
		json_nonzero(b, "entry_and_return_ns", h->prices[i].return_ns);
		json_close(b, '}');
	}
	json_close(b, ']');
	json_nonzero(b, "budget_ns_per_s", h->budget_ns);
	check_classify_host(h, &v);
	json_open(b, "watch", '{');
	json_bool(b, "possible", v.able);
	json_string(b, "text", v.text);
	json_close(b, '}');
}

static void json_probe(struct buffer *b, const struct check_target *t, const struct check_probe *p)
{
	bool attached = p->a.state == GP_ATTACH_attached;

	json_open(b, NULL, '{');
	json_string(b, "probe", p->id);
	json_string(b, "runtime", p->runtime);
	json_string(b, "role", event_role_name(p->role));
	json_string(b, "state", check_state_name(t, p));
	json_known(b, "why", p->why);
	json_known(b, "versions", p->versions);
	json_bool(b, "verified", p->verified);
	json_string(b, "library", p->a.library);
	if (attached) {
		json_uint(b, "offset", p->a.offset);
		json_string(b, "class", event_insn_name(p->a.insn));
		json_nonzero(b, "price_ns", p->hit_cost_ns);
	}
	json_bool(b, "return", p->returns);
	json_close(b, '}');
}

static void json_verdict(struct buffer *b, const struct check_target *t, size_t n)
{
	static const char *const tiers[] = {
		[CHECK_NONE] = NULL, [CHECK_CYCLE] = "cycle", [CHECK_B] = "B", [CHECK_A] = "A"};
	struct check_verdict v;

	check_classify(t, n, &v);
	json_open(b, "steps", '{');
	json_bool(b, "can_be_found", v.tier == CHECK_A || v.tier == CHECK_B);
	json_string(b, "tier", tiers[v.tier]);
	json_known(b, "by", v.by);
	json_string(b, "text", v.text);
	json_close(b, '}');
}

static void json_target(struct buffer *b, const struct check_target *t)
{
	json_open(b, NULL, '{');
	json_string(b, "target", t->name);
	json_nonzero(b, "pid", t->pid);
	json_known(b, "error", t->error);
	json_open(b, "runtimes", '[');
	for (size_t i = 0; i < t->nruntimes; i++) {
		json_open(b, NULL, '{');
		json_string(b, "runtime", t->runtimes[i].runtime);
		json_string(b, "library", t->runtimes[i].library);
		json_known(b, "version", t->runtimes[i].version);
		json_known(b, "version_from", t->runtimes[i].version_from);
		json_close(b, '}');
	}
	json_close(b, ']');
	json_open(b, "probes", '[');
	for (size_t i = 0; i < t->nprobes; i++)
		json_probe(b, t, &t->probes[i]);
	json_close(b, ']');
	if (!t->error && t->pid)
		json_verdict(b, t, 1);
	json_close(b, '}');
}

void check_json(struct buffer *out, const struct check_host *h, const struct check_target *targets,
		size_t n)
{
	size_t files = 0;

	while (files < n && !targets[files].pid)
		files++;
	json_open(out, NULL, '{');
	json_host(out, h);
	json_open(out, "targets", '[');
	for (size_t i = 0; i < n; i++)
		json_target(out, &targets[i]);
	json_close(out, ']');
	if (files) /* verdict for one process that maps all the files */
		json_verdict(out, targets, files);
	json_close(out, '}');
}
