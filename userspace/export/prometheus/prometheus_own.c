/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_own.c - writes the series about gp-bpf itself: version, losses, cost, probes, store
 * and exporters. */
#include "userspace/export/prometheus/prometheus_private.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/proc_file.h"
#include "userspace/ingest/event.h"

#define NS_PER_S 1000000000ull

/* ---- reading --------------------------------------------------------------------------------- */

static uint64_t own_cpu(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u))
		return 0;
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_S +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static uint64_t own_resident(void)
{
	unsigned long long size, resident;
	char text[128];
	ssize_t n;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	n = proc_read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return sscanf(text, "%llu %llu", &size, &resident) == 2
		       ? resident * (uint64_t)sysconf(_SC_PAGESIZE)
		       : 0;
}

static uint64_t own_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint64_t n = 0;

	if (!dir)
		return 0;
	for (const struct dirent *e; (e = readdir(dir));)
		n += *e->d_name != '.';
	closedir(dir);
	return n ? n - 1 : 0; /* minus the descriptor of the folder itself */
}

static int64_t own_start(void)
{
	struct proc_stat st;

	if (proc_stat("", getpid(), &st))
		return 0;
	return clock_real_ns() - (int64_t)(clock_boot_ns() - st.start_ns);
}

void prometheus_own_read(struct prometheus_own *own)
{
	own->began_ns = clock_mono_ns();
	own->cpu_ns = own_cpu();
	own->resident_bytes = own_resident();
	own->fds = own_fds();
	if (!own->start_ns)
		own->start_ns = own_start();
}

/* ---- writing --------------------------------------------------------------------------------- */

static void prometheus_own_self_build_info(struct page *p, const struct metric_family *f)
{
	metric_label(page_sample(p, f->name, NULL), "version", GP_VERSION);
	page_value_uint(p, p->out, 1);
}

static void prometheus_own_self_up(struct page *p, const struct metric_family *f)
{
	page_plain(p, f, 1);
}

static void prometheus_own_self_lost(struct page *p, const struct metric_family *f)
{
	for (int i = 0; p->s && i < GP_LOSS_CAUSE_COUNT; i++) {
		metric_label(page_sample(p, f->name, NULL), "cause", event_loss_name((unsigned)i));
		page_value_uint(p, p->out, p->s->lost[i]);
	}
}

static void prometheus_own_self_overhead_budget(struct page *p, const struct metric_family *f)
{
	if (!p->s || !p->s->budget_ppm)
		return;
	metric_name(p->out, f->name);
	buffer_printf(p->out, " %g\n", (double)p->s->budget_ppm / 1e6);
}

static void prometheus_own_self_cpu(struct page *p, const struct metric_family *f)
{
	if (p->own && p->own->cpu_ns)
		page_plain_real(p, f, (double)p->own->cpu_ns / (double)NS_PER_S, 6);
}

static void prometheus_own_start(struct page *p, const struct metric_family *f)
{
	if (p->own && p->own->start_ns > 0)
		page_plain_real(p, f, (double)p->own->start_ns / (double)NS_PER_S, 2);
}

static void prometheus_own_self_duration(struct page *p, const struct metric_family *f)
{
	if (p->own && p->own->began_ns)
		page_plain_real(p, f,
				(double)(clock_mono_ns() - p->own->began_ns) / (double)NS_PER_S, 6);
}

static const struct metric_family own_families[] = {
	{"gpbpf_build_info", INFO, "version", "Version of gp-bpf.",
	 .all = prometheus_own_self_build_info},
	{"gpbpf_up", GAUGE, "", "1 while gp-bpf observes.", .all = prometheus_own_self_up},
	{"gpbpf_events_total", COUNTER, "", "Records that the model received.",
	 .all = page_snapshot_member, MEMBER(struct snapshot, events)},
	{"gpbpf_records_lost_total", COUNTER, "cause", "Records that did not arrive.",
	 .all = prometheus_own_self_lost},
	{"gpbpf_ledger_violations_total", COUNTER, "",
	 "Times that the buckets did not add up to elapsed.", .all = page_snapshot_member,
	 MEMBER(struct snapshot, ledger_violations)},
	{"gpbpf_overhead_budget_ratio", GAUGE, "",
	 "Bound on the overhead of probes other than the marker, beyond which probes are detached; absent: no bound.",
	 .all = prometheus_own_self_overhead_budget},
	{"gpbpf_jobs_unshown", GAUGE, "cause",
	 "Jobs without series: no room (limit 128), or another job of the same name has the series.",
	 .all = page_jobs_unshown},
	{"gpbpf_ranks_unshown", GAUGE, "cause",
	 "Processes without series: no room (limit 512), or another process of the same job and rank has the series.",
	 .all = page_ranks_unshown},
	{"process_cpu_seconds_total", COUNTER, "", "CPU time of gp-bpf itself.",
	 .all = prometheus_own_self_cpu},
	{"process_resident_memory_bytes", GAUGE, "", "Resident memory of gp-bpf itself.",
	 .all = page_own_member, MEMBER(struct prometheus_own, resident_bytes), .sparse = true},
	{"process_open_fds", GAUGE, "", "Open file descriptors of gp-bpf itself.",
	 .all = page_own_member, MEMBER(struct prometheus_own, fds), .sparse = true},
	{"process_start_time_seconds", GAUGE, "", "When gp-bpf started, UTC since 1970.",
	 .all = prometheus_own_start},
};
const struct metric_family_list page_own_families = FAMILY_LIST(own_families);

static const struct metric_family last_families[] = {
	{"gpbpf_scrape_duration_seconds", GAUGE, "",
	 "Time to write this page, without compressing and sending.",
	 .all = prometheus_own_self_duration},
};
const struct metric_family_list page_last_families = FAMILY_LIST(last_families);

/* ---- probes: hits, attached or not ----------------------------------------------------------- */

/* Hits are counted for each probe, not for each library: all attachments of a probe have the same
 * count. */
static void prometheus_own_probe_hits(struct page *p, const struct metric_family *f)
{
	uint64_t hits = 0;

	for (size_t i = 0; i < p->nattach; i++) {
		const struct attach_view *a = p->attach[i];

		hits = a->hits > hits ? a->hits : hits;
		if (i + 1 < p->nattach && !strcmp(a->id, p->attach[i + 1]->id))
			continue;
		metric_label(page_sample(p, f->name, NULL), "probe", a->id);
		page_value_uint(p, p->out, hits);
		hits = 0;
	}
}

static void prometheus_own_probe_unsent(struct page *p, const struct metric_family *f)
{
	for (size_t i = 0; i < p->nattach; i++) {
		const struct attach_view *a = p->attach[i];

		if (a->flags & GP_PROBE_COUNTED || (i && !strcmp(a->id, p->attach[i - 1]->id)))
			continue;
		metric_label(page_sample(p, f->name, NULL), "probe", a->id);
		page_value_uint(p, p->out, a->unsent);
	}
}

static void prometheus_own_probe_states(struct page *p, const struct metric_family *f)
{
	uint64_t n[GP_GROUP_measure + 1][GP_ATTACH_idle + 1] = {0};

	for (size_t i = 0; i < p->nattach; i++)
		if (p->attach[i]->group <= GP_GROUP_measure &&
		    p->attach[i]->at.state <= GP_ATTACH_idle)
			n[p->attach[i]->group][p->attach[i]->at.state]++;
	for (int g = 0; p->nattach && g <= GP_GROUP_measure; g++) {
		for (int st = GP_ATTACH_attached; st <= GP_ATTACH_idle; st++) {
			metric_label(page_sample(p, f->name, NULL), "group",
				     event_group_name((unsigned)g));
			metric_label(p->out, "state", event_attach_state_name((unsigned)st));
			page_value_uint(p, p->out, n[g][st]);
		}
	}
}

/* Two copies of a library can have one name, as in two containers: the probe counts as attached if
 * it is attached in either copy. Probes that only measurements need have no sample between these.
 */
static void prometheus_own_probe_attached(struct page *p, const struct metric_family *f)
{
	bool attached = false, meant = false;

	for (size_t i = 0; i < p->nattach; i++) {
		const struct attach_view *a = p->attach[i];

		attached |= a->at.state == GP_ATTACH_attached;
		meant |= a->at.state != GP_ATTACH_absent && a->at.state != GP_ATTACH_idle;
		if (i + 1 < p->nattach && !page_attach_order(&p->attach[i], &p->attach[i + 1]))
			continue;
		if (meant) {
			metric_label(page_sample(p, f->name, NULL), "probe", a->id);
			metric_label(p->out, "library", a->at.library);
			page_value_uint(p, p->out, attached);
		}
		attached = meant = false;
	}
}

static const struct metric_family probe_families[] = {
	{"gpbpf_probe_hits_total", COUNTER, "probe", "Hits of a probe.",
	 .all = prometheus_own_probe_hits},
	{"gpbpf_probe_unsent_total", COUNTER, "probe",
	 "Hits that were counted but not sent: repeated, unmatched, over a bound, or over the overhead budget.",
	 .all = prometheus_own_probe_unsent},
	{"gpbpf_probes", GAUGE, "group, state", "Number of probe sites, by group and state.",
	 .all = prometheus_own_probe_states},
	{"gpbpf_probe_attached", GAUGE, "probe, library",
	 "1 if a probe is attached to a library, 0 if it could not be attached.",
	 .all = prometheus_own_probe_attached},
};
const struct metric_family_list page_probe_families = FAMILY_LIST(probe_families);

/* ---- the store of history -------------------------------------------------------------------- */

static const struct store_view *prometheus_own_store_kept(const struct page *p)
{
	return p->s && p->s->store.kept ? &p->s->store : NULL;
}

static void prometheus_own_store_counted(struct page *p, const struct metric_family *f,
					 const char *label, const char *what, uint64_t count)
{
	metric_label(page_sample(p, f->name, NULL), label, what);
	page_value_uint(p, p->out, count);
}

static void prometheus_own_store_failures(struct page *p, const struct metric_family *f)
{
	const struct store_view *s = prometheus_own_store_kept(p);

	for (uint32_t i = 0; s && i < s->nfailed; i++)
		prometheus_own_store_counted(p, f, "cause", s->failed[i].cause, s->failed[i].count);
}

static void prometheus_own_store_last_success(struct page *p, const struct metric_family *f)
{
	if (prometheus_own_store_kept(p) && prometheus_own_store_kept(p)->last_ns > 0)
		page_plain_real(p, f, (double)prometheus_own_store_kept(p)->last_ns / 1e9, 3);
}

static void prometheus_own_store_lost(struct page *p, const struct metric_family *f)
{
	const struct store_view *s = prometheus_own_store_kept(p);

	if (!s)
		return;
	prometheus_own_store_counted(p, f, "what", "ranks", s->lost_ranks);
	prometheus_own_store_counted(p, f, "what", "notes", s->lost_notes);
	prometheus_own_store_counted(p, f, "what", "facts", s->lost_facts);
}

static const struct metric_family store_families[] = {
	{"gpbpf_store_up", GAUGE, "",
	 "1 where the last attempt to write the store worked, 0 where it did not; absent: none is kept.",
	 .all = page_store_member, MEMBER(struct store_view, up)},
	{"gpbpf_store_transactions_total", COUNTER, "", "Transactions written to the store.",
	 .all = page_store_member, MEMBER(struct store_view, transactions), .anew = true},
	{"gpbpf_store_failures_total", COUNTER, "cause",
	 "Failed attempts to write the store; their rows are kept in memory and retried.",
	 .all = prometheus_own_store_failures, .anew = true},
	{"gpbpf_store_bytes", GAUGE, "", "Size of the store with its journal.",
	 .all = page_store_member, MEMBER(struct store_view, bytes), .sparse = true},
	{"gpbpf_store_last_success_timestamp_seconds", GAUGE, "",
	 "Time of the last successful write to the store.",
	 .all = prometheus_own_store_last_success},
	{"gpbpf_store_waiting_rows", GAUGE, "",
	 "Rows (a minute of a rank each) in memory that are not written yet.",
	 .all = page_store_member, MEMBER(struct store_view, waiting)},
	{"gpbpf_store_lost_total", COUNTER, "what",
	 "Rows and events lost because memory was full while the store could not be written.",
	 .all = prometheus_own_store_lost, .anew = true},
};
const struct metric_family_list page_store_families = FAMILY_LIST(store_families);

/* ---- exporters ------------------------------------------------------------------------------- */

static void prometheus_own_export_dropped(struct page *p, const struct metric_family *f,
					  const struct export_view *e)
{
	for (uint32_t i = 0; i < e->ndropped && i < EXPORT_CAUSES; i++) {
		metric_label(page_sample(p, f->name, NULL), "exporter", e->name);
		metric_label(p->out, "cause", e->dropped[i].cause);
		page_value_uint(p, p->out, e->dropped[i].count);
	}
}

static const struct metric_family export_families[] = {
	{"gpbpf_export_up", GAUGE, "exporter",
	 "1 where the last attempt to send worked, 0 where it did not.",
	 .exporter = page_export_member, MEMBER(struct export_view, up)},
	{"gpbpf_export_sent_total", COUNTER, "exporter",
	 "Points, records or files that an exporter sent.", .exporter = page_export_member,
	 MEMBER(struct export_view, sent), .anew = true},
	{"gpbpf_export_dropped_total", COUNTER, "exporter, cause",
	 "Points, records or files that an exporter dropped, by cause.",
	 .exporter = prometheus_own_export_dropped, .anew = true},
	{"gpbpf_export_superseded_total", COUNTER, "exporter",
	 "Intervals that passed while an earlier write of the exporter had not ended.",
	 .exporter = page_export_member, MEMBER(struct export_view, superseded), .anew = true},
	{"gpbpf_export_waiting", GAUGE, "exporter",
	 "Points, records or files that are kept to be sent later.", .exporter = page_export_member,
	 MEMBER(struct export_view, waiting)},
	{"gpbpf_export_waiting_bytes", GAUGE, "exporter", "Size of what is kept to be sent later.",
	 .exporter = page_export_member, MEMBER(struct export_view, waiting_bytes)},
	{"gpbpf_export_last_success_timestamp_seconds", GAUGE, "exporter",
	 "When an exporter's last attempt worked.", .exporter = page_export_member,
	 MEMBER(struct export_view, last_ns), .ns = true, .sparse = true},
};
const struct metric_family_list page_export_families = FAMILY_LIST(export_families);
