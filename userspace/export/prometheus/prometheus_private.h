/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_private.h - shared by the files that write a page of metrics: the state of the page,
 * and the tables of metrics. */
#ifndef EXPORT_PROMETHEUS_PRIVATE_H
#define EXPORT_PROMETHEUS_PRIVATE_H

#include "userspace/export/measure/owners.h"
#include "userspace/export/prometheus/prometheus_text.h"

enum metric_family_type {
	GAUGE,
	COUNTER, /* name ends in _total */
	HISTOGRAM,
	SUMMARY,
	INFO, /* a gauge that is 1 and whose labels are the information; name ends in _info */
};

struct page {
	struct buffer *out;
	const struct snapshot *s;
	enum prometheus_format format;
	const struct prometheus_own *own;   /* NULL: no metrics of gp-bpf itself */
	const struct metric_family *family; /* the family that is being written */
	bool of_process;		    /* the samples of `family` belong to processes */
	size_t labels_at, labels_end;	    /* labels of the last sample, as offsets in out */
	uint64_t since_ns; /* start (CLOCK_MONOTONIC) of the last sample's counter; 0: unknown */
	int64_t since_real_ns; /* since_ns in UTC, the same on every page; 0: convert since_ns */
	struct owners owners;  /* jobs and processes with series, from page_select() */
	/* first process of the job whose samples are being written */
	const struct rank_view *job_first;
	struct buffer labels; /* labels of all processes, written once for each page */
	size_t label_end[PROMETHEUS_RANKS];
	const char *label; /* labels of the process whose samples are being written */
	size_t label_len;
	bool label_pid, label_job;
	const struct attach_view **attach; /* attached probes, sorted by id, then library */
	size_t nattach;
	size_t figures, figures_left_out; /* values of torch.monitor written, and skipped */
	size_t range_samples;
};

/* A metric: its name, type and help, and the one function that writes its samples. Pages and the
 * list of metrics (prometheus_metrics()) are made from these rows. */
struct metric_family {
	const char *name;
	enum metric_family_type type;
	const char *labels; /* names of labels, separated by ", " */
	const char *help;   /* without quotes, backslashes or line breaks */
	void (*all)(struct page *p, const struct metric_family *f);
	/* Writes the samples of one job. job: only on the node of its reference rank. job_part: on
	 * every node, for values that add up over nodes. */
	void (*job)(struct page *p, const struct metric_family *f, const struct job_view *j);
	void (*job_part)(struct page *p, const struct metric_family *f, const struct job_view *j);
	/* Writes the samples of one exporter. */
	void (*exporter)(struct page *p, const struct metric_family *f,
			 const struct export_view *e);
	void (*rank)(struct page *p, const struct metric_family *f, const struct rank_view *r);
	void (*loop)(struct page *p, const struct metric_family *f, const struct rank_view *r,
		     const struct loop_view *l);
	/* The counter starts at 0 in each gp-bpf process; false: it continues after a takeover. */
	bool anew;
	/* For the functions page_*_member(): offset and size of the member whose value is written,
	 * an unsigned number or a bool. */
	size_t at, bytes;
	bool ns;     /* the member is in ns; it is written in seconds */
	bool sparse; /* no sample is written when the value is 0 */
};
#define MEMBER(type, member) .at = offsetof(type, member), .bytes = sizeof(((type *)0)->member)

struct metric_family_list { /* a table of metrics */
	const struct metric_family *family;
	size_t count;
};
#define FAMILY_LIST(all)                                                                           \
	{                                                                                          \
		all, sizeof(all) / sizeof((all)[0])                                                \
	}
/* A row that places a measure (measure.c) in the order of a page. Measures without such a row come
 * near the end of the page. */
#define MEASURED(of)                                                                               \
	{                                                                                          \
		.name = (of)                                                                       \
	}
#define OF_JOB	"job_id"
#define OF_RANK "job_id, rank"
#define OF_LOOP OF_RANK ", loop"

/* ---- prometheus_page.c ----------------------------------------------------------------------- */

/* Append parts of a sample in the Prometheus text format: name{label="value",...} value. */
void metric_name(struct buffer *out, const char *name);
/* Appends a label after "{" or another label. Bytes that are not printable UTF-8 become '?'. */
void metric_label(struct buffer *out, const char *name, const char *value);
void metric_label_uint(struct buffer *out, const char *name, uint64_t value);
/* Appends seconds, exactly, in the only number format that OpenMetrics allows: "0.0005", "1.0". */
void metric_label_seconds(struct buffer *out, const char *name, uint64_t ns);

/* Begins a sample (its name, "{", and labels). The caller adds its own labels and ends the sample
 * with a value: page_value_uint(p, page_sample(p, f->name, r), 1). r: the process of the sample;
 * NULL: none. */
struct buffer *page_sample(struct page *p, const char *name, const struct rank_view *r);
/* Like page_sample(), for a part of a histogram or summary. ending: "_bucket", "_sum"... */
struct buffer *page_part(struct page *p, const char *name, const char *ending,
			 const struct rank_view *r);
void page_value_uint(struct page *p, struct buffer *out, uint64_t value);
void page_value_ns(struct page *p, struct buffer *out, uint64_t ns);
void page_value_real(struct page *p, struct buffer *out, double value);
/* Write a whole sample without labels. */
void page_plain(struct page *p, const struct metric_family *f, uint64_t value);
void page_plain_real(struct page *p, const struct metric_family *f, double value, int decimals);
/* In OpenMetrics, adds NAME_created for the sample just written. Called for each counter of gp-bpf
 * and of jobs, but for only one of each process: all counters of a process begin at one instant,
 * and such lines would be a quarter of the page. */
void page_created(struct page *p);
/* Adds the label of the loop after other labels. The first loop has number 0 and no label, because
 * most processes have only one. */
void page_loop_label(struct page *p, const struct loop_view *l);
/* Like page_sample(), with the label of the loop. */
struct buffer *page_loop(struct page *p, const char *name, const struct rank_view *r,
			 const struct loop_view *l);
/* Begins a sample of a job. ending: "", or for a part of a histogram "_bucket", "_sum"... */
struct buffer *page_job(struct page *p, const struct metric_family *f, const char *ending,
			const struct job_view *j);
/* Write a sample whose value is a member of the job, process...; for rows of struct
 * metric_family. */
void page_job_member(struct page *p, const struct metric_family *f, const struct job_view *j);
void page_rank_member(struct page *p, const struct metric_family *f, const struct rank_view *r);
void page_loop_member(struct page *p, const struct metric_family *f, const struct rank_view *r,
		      const struct loop_view *l);
void page_export_member(struct page *p, const struct metric_family *f, const struct export_view *e);
void page_snapshot_member(struct page *p, const struct metric_family *f);
void page_store_member(struct page *p, const struct metric_family *f);
void page_own_member(struct page *p, const struct metric_family *f);
/* Writes the samples of a measure of one owner. r is NULL if the owner is a job; l is NULL unless
 * it is a loop. */
void page_measure(struct page *p, const struct measure *m, const struct job_view *j,
		  const struct rank_view *r, const struct loop_view *l);
/* Returns the length of the family's name in OpenMetrics, which excludes endings like _total. */
size_t page_family_len(const struct metric_family *f);

/* Selects the jobs and processes that have series. Returns 0 or -ENOMEM. */
int page_select(struct page *p);
int page_attach_order(const void *a, const void *b); /* order of page.attach, for qsort() */
void page_jobs_unshown(struct page *p, const struct metric_family *f);
void page_ranks_unshown(struct page *p, const struct metric_family *f);

/* ---- tables of series: prometheus_job.c, prometheus_rank.c, prometheus_own.c ----------------- */

extern const struct metric_family_list page_job_families;
extern const struct metric_family_list page_program_families;
extern const struct metric_family_list page_rank_families;
extern const struct metric_family_list page_loop_families;
extern const struct metric_family_list page_monitor_families;
extern const struct metric_family_list page_health_families;
extern const struct metric_family_list page_own_families;  /* metrics of gp-bpf itself */
extern const struct metric_family_list page_last_families; /* metrics of gp-bpf, written last */
extern const struct metric_family_list page_probe_families;
extern const struct metric_family_list page_store_families;
extern const struct metric_family_list page_export_families;

#endif
