/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_rank.c - processes: where their time went, what befell them. */
#include "userspace/export/metric.h"
#include "userspace/export/prometheus_private.h"
#include "userspace/model/hang.h"

static void rank_place_labels(struct page *p, const struct gp_place *at)
{
	const struct {
		const char *name, *value;
	} labels[] = {{"namespace", at->namespace},
		      {"pod", at->pod},
		      {"container", *at->container_name ? at->container_name : at->container_id},
		      {"node", at->node}};

	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		if (*labels[i].value)
			metric_label(p->out, labels[i].name, labels[i].value);
}

/* What is told here may change: whoever joins it on has it all, and no other series breaks. The
 * command is not told: it may hold secrets. */
static void rank_info(struct page *p, const struct family *f, const struct rank_view *r)
{
	page_sample(p, f->name, r);
	if (!p->label_pid)
		metric_label_uint(p->out, "pid", r->pid);
	metric_label(p->out, "comm", r->comm);
	if (r->world_size >= 0)
		metric_label_uint(p->out, "world_size", (uint64_t)r->world_size);
	if (r->accelerators)
		metric_label_uint(p->out, "accelerators", r->accelerators);
	if (r->placed)
		rank_place_labels(p, &r->place);
	page_value_uint(p, p->out, 1);
}

static void rank_excluded(struct page *p, const struct family *f, const struct rank_view *r)
{
	if (r->ledger.ns[BUCKET_EXCLUDED])
		page_value_ns(p, page_sample(p, f->name, r), r->ledger.ns[BUCKET_EXCLUDED]);
}

static void rank_time(struct page *p, const struct family *f, const struct rank_view *r)
{
	char room[LEDGER_NAME_MAX];
	const char *name;
	uint64_t ns;

	for (uint32_t i = 0; (name = ledger_part(&r->ledger, &p->s->types, i, room, &ns)); i++) {
		if (!ns)
			continue;
		metric_label(page_sample(p, f->name, r), "bucket", name);
		page_value_ns(p, p->out, ns);
	}
}

static void rank_goodput(struct page *p, const struct family *f, const struct rank_view *r)
{
	uint64_t observed = ledger_elapsed(&r->ledger) - r->ledger.ns[BUCKET_UNOBSERVED];

	if (r->trainer && !p->label_job && observed)
		page_value_real(p, page_sample(p, f->name, r),
				(double)r->ledger.ns[BUCKET_GOODPUT] / (double)observed);
}

static void rank_productive(struct page *p, const struct family *f, const struct rank_view *r)
{
	page_value_ns(p, page_sample(p, f->name, r), r->ledger.productive_gross_ns);
	page_created(p);
}

static void rank_late(struct page *p, const struct family *f, const struct rank_view *r)
{
	if (r->ledger.late_ns)
		page_value_ns(p, page_sample(p, f->name, r), r->ledger.late_ns);
}

static void rank_checkpoints(struct page *p, const struct family *f, const struct rank_view *r)
{
	metric_label(page_sample(p, f->name, r), "op", "save");
	page_value_uint(p, p->out, r->checkpoints);
	metric_label(page_sample(p, f->name, r), "op", "restore");
	page_value_uint(p, p->out, r->restores);
}

static void rank_checkpoint_time(struct page *p, const struct family *f, const struct rank_view *r)
{
	page_value_ns(p, page_sample(p, f->name, r), r->checkpoint_save_ns);
}

static void rank_disruptions(struct page *p, const struct family *f, const struct rank_view *r)
{
	page_value_uint(p, page_sample(p, f->name, r), r->ledger.disruptions);
}

/* One series a rank: its why changes. */
static void rank_hung(struct page *p, const struct family *f, const struct rank_view *r)
{
	if (!r->trainer)
		return;
	page_sample(p, f->name, r);
	if (r->hang.hung)
		metric_label(p->out, "why", hang_why_name[r->hang.why]);
	page_value_uint(p, p->out, r->hang.hung);
}

static void rank_hangs(struct page *p, const struct family *f, const struct rank_view *r)
{
	if (r->trainer)
		page_value_uint(p, page_sample(p, f->name, r), r->hang.count);
}

static void rank_hang_time(struct page *p, const struct family *f, const struct rank_view *r)
{
	if (r->trainer)
		page_value_ns(p, page_sample(p, f->name, r), r->hang.total_ns);
}

static void rank_overhead(struct page *p, const struct family *f, const struct rank_view *r)
{
	const struct overhead_sum *o = &r->overhead.sum;

	metric_label(page_sample(p, f->name, r), "part", "marker");
	page_value_ns(p, p->out, o->marker_ns);
	metric_label(page_sample(p, f->name, r), "part", "other");
	page_value_ns(p, p->out, o->all_ns - o->marker_ns);
}

static const struct family rank_families[] = {
	{"gpbpf_rank_info", INFO,
	 OF_RANK ", pid, comm, world_size, accelerators, namespace, pod, container, node",
	 "A process: what it is, to be joined to its other series.", .rank = rank_info},
	{"gpbpf_time_seconds", GAUGE, OF_RANK ", bucket",
	 "Where the time of a process went; its buckets add up to its age, or its life when it has ended; "
	 "one "
	 "that is absent has nothing.",
	 .rank = rank_time},
	{"gpbpf_excluded_seconds", GAUGE, OF_RANK,
	 "Time of a process that is left out: it is in no bucket.", .rank = rank_excluded},
	{"gpbpf_goodput_ratio", GAUGE, OF_RANK,
	 "Of a process whose job is not told on this page: share of its observed time that became training "
	 "progress; "
	 "else gpbpf_job_goodput_ratio.",
	 .rank = rank_goodput},
	{"gpbpf_window_goodput_ratio", GAUGE, OF_RANK ", window",
	 "Of a process whose job is not told on this page: share of its observed time of late that became "
	 "training "
	 "progress, silence counted.",
	 .rank = page_rank_window_goodput},
	{"gpbpf_window_observed_seconds", GAUGE, OF_RANK ", window",
	 "Observed time behind it where that is less than the window: the process is younger, or was not "
	 "watched.",
	 .rank = page_rank_window_observed},
	{"gpbpf_productive_seconds_total", COUNTER, OF_RANK,
	 "Time ever booked as training progress; what a restart disproves is not taken back here.",
	 .rank = rank_productive},
	{"gpbpf_ledger_late_seconds_total", COUNTER, OF_RANK,
	 "Time that was claimed after it had been settled for another bucket; absent: none was.",
	 .rank = rank_late},
	{"gpbpf_checkpoints_total", COUNTER, OF_RANK ", op", "Checkpoints written and read.",
	 .rank = rank_checkpoints},
	{"gpbpf_checkpoint_save_seconds_total", COUNTER, OF_RANK, "Time spent writing checkpoints.",
	 .rank = rank_checkpoint_time},
	{"gpbpf_disruptions_total", COUNTER, OF_RANK, "Ends other than by finishing.",
	 .rank = rank_disruptions},
	{"gpbpf_rank_hung", GAUGE, OF_RANK ", why",
	 "1 while a rank hangs; why: collective, stopped, input...", .rank = rank_hung},
	{"gpbpf_hangs_total", COUNTER, OF_RANK, "Hangs.", .rank = rank_hangs},
	{"gpbpf_hang_seconds_total", COUNTER, OF_RANK,
	 "Time in hangs, each from its first instant.", .rank = rank_hang_time},
	{"gpbpf_overhead_seconds_total", COUNTER, OF_RANK ", part",
	 "Estimated price of observing: hits times the price of an empty one, measured at start; of what "
	 "finds steps (marker), and of all else (other).",
	 .rank = rank_overhead},
};
const struct family_list page_rank_families = FAMILY_LIST(rank_families);
