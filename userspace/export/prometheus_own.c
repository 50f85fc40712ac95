/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_own.c - gp-bpf itself: what it is, what it lost, what it costs. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/proc_file.h"
#include "userspace/export/metric.h"
#include "userspace/export/prometheus_private.h"
#include "userspace/ingest/event.h"

#define NS_PER_S 1000000000ull

/* ---- read
 * ---------------------------------------------------------------------------------------- */

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
	return n ? n - 1 : 0; /* the folder's own is closed again */
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

/* ---- told
 * ---------------------------------------------------------------------------------------- */

static void build_info(struct page *p, const struct family *f)
{
	metric_label(page_sample(p, f->name, NULL), "version", GP_VERSION);
	page_value_uint(p, p->out, 1);
}

static void up(struct page *p, const struct family *f)
{
	page_plain(p, f, 1);
}

static void events(struct page *p, const struct family *f)
{
	if (p->s)
		page_plain(p, f, p->s->events);
}

static void violations(struct page *p, const struct family *f)
{
	if (p->s)
		page_plain(p, f, p->s->ledger_violations);
}

static void lost(struct page *p, const struct family *f)
{
	for (int i = 0; p->s && i < GP_LOSS_CAUSE_COUNT; i++) {
		metric_label(page_sample(p, f->name, NULL), "cause", event_loss_name((unsigned)i));
		page_value_uint(p, p->out, p->s->lost[i]);
	}
}

static void overhead_budget(struct page *p, const struct family *f)
{
	if (!p->s || !p->s->budget_ppm)
		return;
	metric_name(p->out, f->name);
	buffer_printf(p->out, " %g\n", (double)p->s->budget_ppm / 1e6);
}

static void cpu(struct page *p, const struct family *f)
{
	if (p->own && p->own->cpu_ns)
		page_plain_real(p, f, (double)p->own->cpu_ns / (double)NS_PER_S, 6);
}

static void resident(struct page *p, const struct family *f)
{
	if (p->own && p->own->resident_bytes)
		page_plain(p, f, p->own->resident_bytes);
}

static void fds(struct page *p, const struct family *f)
{
	if (p->own && p->own->fds)
		page_plain(p, f, p->own->fds);
}

static void start(struct page *p, const struct family *f)
{
	if (p->own && p->own->start_ns > 0)
		page_plain_real(p, f, (double)p->own->start_ns / (double)NS_PER_S, 2);
}

static void duration(struct page *p, const struct family *f)
{
	if (p->own && p->own->began_ns)
		page_plain_real(p, f,
				(double)(clock_mono_ns() - p->own->began_ns) / (double)NS_PER_S, 6);
}

static const struct family own_families[] = {
	{"gpbpf_build_info", INFO, "version", "Version of gp-bpf.", .all = build_info},
	{"gpbpf_up", GAUGE, "", "1 while gp-bpf observes.", .all = up},
	{"gpbpf_events_total", COUNTER, "", "Records the model was given.", .all = events},
	{"gpbpf_records_lost_total", COUNTER, "cause", "Records that did not arrive.", .all = lost},
	{"gpbpf_ledger_violations_total", COUNTER, "",
	 "Times that the buckets did not add up to elapsed.", .all = violations},
	{"gpbpf_overhead_budget_ratio", GAUGE, "",
	 "What probes beyond the marker may cost before some are given up; absent: no bound.",
	 .all = overhead_budget},
	{"gpbpf_jobs_unshown", GAUGE, "cause",
	 "Jobs that have no series: no room (128 have), or another job of the same name has them.",
	 .all = page_jobs_unshown},
	{"gpbpf_ranks_unshown", GAUGE, "cause",
	 "Processes that have no series: no room (512 have), or another one of the same job and rank has "
	 "them.",
	 .all = page_ranks_unshown},
	{"process_cpu_seconds_total", COUNTER, "", "CPU time of gp-bpf itself.", .all = cpu},
	{"process_resident_memory_bytes", GAUGE, "", "Resident memory of gp-bpf itself.",
	 .all = resident},
	{"process_open_fds", GAUGE, "", "Open file descriptors of gp-bpf itself.", .all = fds},
	{"process_start_time_seconds", GAUGE, "", "When gp-bpf started, UTC since 1970.",
	 .all = start},
};
const struct family_list page_own_families = FAMILY_LIST(own_families);

static const struct family last_families[] = {
	{"gpbpf_scrape_duration_seconds", GAUGE, "",
	 "Time that making this page took; compressing and sending it comes on top.",
	 .all = duration},
};
const struct family_list page_last_families = FAMILY_LIST(last_families);
