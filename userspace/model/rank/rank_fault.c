/* SPDX-License-Identifier: Apache-2.0 */
/* rank_fault.c - errors of a process's device and communicators. Each different error is reported
 * once, and all are counted. If the process fails soon after an error, the error is taken as the
 * cause. */
#include <inttypes.h>

#include "userspace/base/hash.h"
#include "userspace/model/rank/rank_private.h"

/* If a process fails within this time (ns) after an error, the error is the cause. It is this long
 * because PyTorch's watchdog checks every 100 ms and then gives its other threads a minute to dump
 * their state (TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC). After that, Python unwinds its stack and joins
 * threads. */
#define CAUSE_NS 120000000000ull

struct fault_report { /* an error, in the form in which it is reported */
	enum fault_kind kind;
	int64_t code;
	const char *name, *origin, *evidence;
	bool weak;
};

/* Stores the fault as a possible cause of a failure. Only the first fault is kept, because later
 * faults usually follow from it. A fault of a kind that also occurs in normal operation (weak) is
 * replaced. */
static void fault_remember(struct rank_fault *f, const struct fault_report *t, uint64_t now_ns)
{
	if (f->at_ns && (!f->weak || t->weak))
		return;
	f->at_ns = now_ns;
	f->kind = t->kind;
	f->weak = t->weak;
	snprintf(f->name, sizeof(f->name), "%s", t->name);
}

/* Returns true if this fault was not reported before, and adds it to the reported ones. A linear
 * search is enough: there are at most RANK_FAULTS of them, and errors are rare. */
static bool fault_first(struct rank_fault *f, const struct fault_report *t)
{
	uint64_t hash = hash_bytes(hash_word(HASH_START, (uint64_t)t->code), t->name,
				   strlen(t->name));

	for (uint32_t i = 0; i < f->nreported; i++) {
		if (f->reported[i] == hash)
			return false;
	}
	if (f->nreported == RANK_FAULTS)
		return false;
	f->reported[f->nreported++] = hash;
	return true;
}

static void fault_send(struct rank *r, const struct fault_report *t, uint64_t now_ns)
{
	const struct fact_health health = {
		.kind = fault_name[t->kind],
		.onset_ns = now_ns,
		.over = true,
		.why = t->kind == FAULT_communicator ? "collective" : "device",
		.phase = "",
		.evidence = t->evidence,
		.name = t->name,
		.code = t->code,
		.origin = t->origin,
		.step = r->nloops ? r->loops[0]->last_number : 0,
	};
	struct fact f = {.type = FACT_HEALTH, .health = &health};

	rank_event(r, now_ns, "%s: %s", fault_name[t->kind], t->name);
	rank_fact(r, &f, now_ns);
}

/* Returns the entry for the error code that a call of the probe's runtime returned; NULL: the code
 * is not a fault. */
static const struct gp_code *fault_code(const struct rank *r, const struct signal *s)
{
	char runtime[sizeof(((struct gp_code *)0)->runtime)];
	size_t len = s->origin ? strcspn(s->origin, ".") : 0;

	snprintf(runtime, sizeof(runtime), "%.*s", (int)len, s->origin ? s->origin : "");
	return device_codes_find(&r->member.env->probes->codes, runtime, (int64_t)s->ident);
}

void rank_fault_signal(struct rank *r, const struct signal *s)
{
	char evidence[160], asked[40] = "";
	const struct gp_code *code = s->ident ? fault_code(r, s) : NULL;
	const struct fault_report t = {
		.kind = code			 ? (enum fault_kind)code->kind
			: s->fault < FAULT_COUNT ? (enum fault_kind)s->fault
						 : FAULT_device,
		.code = (int64_t)s->ident,
		.name = code ? code->name : s->text,
		.origin = s->origin ? s->origin : "",
		.evidence = evidence,
		.weak = !s->ident,
	};

	if (s->ident && !code)
		return;
	fault_remember(&r->fault, &t, s->ts_ns);
	if (t.weak)
		return;
	r->fault.count[t.kind]++;
	if (!fault_first(&r->fault, &t))
		return;
	if (s->count)
		snprintf(asked, sizeof(asked), "; asked for %" PRIu64 " bytes;", s->count);
	snprintf(evidence, sizeof(evidence), "%s: %s (%" PRId64 ")%s on thread %u", t.origin,
		 t.name, t.code, asked, s->tid);
	fault_send(r, &t, s->ts_ns);
}

/* Returns true for Xid codes that are not errors by themselves according to NVIDIA's list: 45
 * (cleanup after another error), 63 (a remapped row), 92 (a high rate of corrected errors). */
static bool rank_fault_xid_weak(int64_t code)
{
	return code == 45 || code == 63 || code == 92;
}

void rank_fault_kernel(struct rank *r, const struct event *ev, bool mine)
{
	const struct gp_fault *f = ev->fault;
	char text[176], device[40], driver[24], name[48], evidence[320];
	const struct fault_report t = {
		.kind = FAULT_device,
		.code = f->code,
		.name = name,
		.origin = "kernel log",
		.evidence = evidence,
		.weak = rank_fault_xid_weak(f->code),
	};

	event_copy(text, f->text);
	event_copy(device, f->device);
	event_copy(driver, f->driver);
	if (f->code >= 0)
		snprintf(name, sizeof(name), "Xid %" PRId64, (int64_t)f->code);
	else
		snprintf(name, sizeof(name), "%s", driver);
	snprintf(evidence, sizeof(evidence), "%s%s%s%s: %s", mine ? "" : "a device of this host; ",
		 driver, *device ? " " : "", device, text);
	if (mine) {
		if (!t.weak) /* an error stored earlier was caused by this one: replace it */
			r->fault.at_ns = 0;
		fault_remember(&r->fault, &t, ev->rec->ts_ns);
		r->fault.count[t.kind]++;
	}
	if (fault_first(&r->fault, &t))
		fault_send(r, &t, ev->rec->ts_ns);
}

void rank_fault_device(struct rank *r, const struct device_view *d, uint64_t errors,
		       uint64_t now_ns)
{
	char evidence[160];
	const struct fault_report t = {
		.kind = FAULT_device,
		.code = -1,
		.name = "uncorrected ECC errors",
		.origin = "device",
		.evidence = evidence,
	};

	snprintf(evidence, sizeof(evidence),
		 "%s: %" PRIu64 " new uncorrected memory errors (ECC), %" PRIu64
		 " since its driver was loaded",
		 d->name, errors, d->errors);
	fault_remember(&r->fault, &t, now_ns);
	r->fault.count[t.kind] += errors;
	if (fault_first(&r->fault, &t))
		fault_send(r, &t, now_ns);
}

void rank_fault_step(struct rank *r, uint64_t start_ns)
{
	if (r->fault.at_ns && start_ns >= r->fault.at_ns)
		r->fault.at_ns = 0;
}

void rank_fault_cause(const struct rank *r, uint64_t now_ns, struct job_cause *why)
{
	const struct rank_fault *f = &r->fault;

	if (!f->at_ns || now_ns - f->at_ns > CAUSE_NS)
		return;
	if (!disruption_cause_is(why->cause, CAUSE_YIELDS_FAULT))
		return;
	why->cause = disruption_cause_of_fault(f->kind);
	snprintf(why->fault, sizeof(why->fault), "%s", f->name);
}

void rank_fault_archive(struct archive *a, struct rank_fault *f)
{
	archive_struct(a, sizeof(*f));
	archive_field(a, f->count);
	archive_below(a, &f->nreported, RANK_FAULTS + 1);
	archive_fields(a, f, reported, at_ns);
	archive_below(a, &f->kind, FAULT_COUNT);
	archive_fields(a, f, weak, name);
}
