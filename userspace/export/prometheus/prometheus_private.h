/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_private.h - a page of metrics in the making, as its parts see it. */
#ifndef EXPORT_PROMETHEUS_PRIVATE_H
#define EXPORT_PROMETHEUS_PRIVATE_H

#include "userspace/export/prometheus/prometheus_text.h"

enum metric_family_type {
	GAUGE,
	COUNTER, /* its name ends in _total */
	HISTOGRAM,
	SUMMARY,
	INFO, /* a gauge that is 1: its labels tell; its name ends in _info */
};

struct page {
	struct buffer *out;
	const struct snapshot *s;
	enum prometheus_format format;
	const struct prometheus_own *own;   /* NULL: not asked for */
	const struct metric_family *family; /* that is being written */
	size_t labels_at, labels_end;	    /* of its last sample, in out */
	uint64_t since_ns;     /* when what that counts began, on the monotonic clock; 0: unknown */
	int64_t since_real_ns; /* the same in UTC, as it stays; 0: by since_ns */
	/* page_who(): in the snapshot's order, those that live first. */
	const struct job_view *jobs[PROMETHEUS_JOBS];
	size_t njobs, jobs_no_room, jobs_same_name;
	const struct rank_view *ranks[PROMETHEUS_RANKS];
	size_t nranks, ranks_no_room, ranks_same_rank;
	/* By job: who trains, or did, with the lowest rank in its last run. */
	const struct rank_view *first[PROMETHEUS_JOBS];
	const struct rank_view *job_first; /* of the job whose samples are being written */
	/* Labels of each rank, made once: they are most of a page. */
	struct buffer labels;
	size_t label_end[PROMETHEUS_RANKS];
	bool by_pid[PROMETHEUS_RANKS]; /* the pid is among them */
	bool of_job[PROMETHEUS_RANKS]; /* its job is told here too */
	const char *label;	       /* of the rank whose samples are being written */
	size_t label_len;
	bool label_pid, label_job;
	const struct attach_view **attach; /* by id, then library */
	size_t nattach;
	size_t figures, figures_left_out; /* of the jobs' own */
	size_t range_samples;
};

/* One family: header, then the samples of its one function. This is the one place of a metric's
 * name: pages and the list of metrics (prometheus_metrics()) are made of these rows. */
struct metric_family {
	const char *name;
	enum metric_family_type type;
	const char *labels; /* as people read them, separated by ", " */
	const char *help;   /* without quotes, backslashes or line breaks */
	void (*all)(struct page *p, const struct metric_family *f);
	/* Writes the samples of one job. job: only on the node of its reference rank. job_part: on
	 * every node, for values that add up over nodes. */
	void (*job)(struct page *p, const struct metric_family *f, const struct job_view *j);
	void (*job_part)(struct page *p, const struct metric_family *f, const struct job_view *j);
	/* Writes the samples of one exporter. */
	void (*way)(struct page *p, const struct metric_family *f, const struct export_view *e);
	void (*rank)(struct page *p, const struct metric_family *f, const struct rank_view *r);
	void (*loop)(struct page *p, const struct metric_family *f, const struct rank_view *r,
		     const struct loop_view *l);
	bool anew; /* what it counts begins with this process of gp-bpf, whatever went before */
};

struct metric_family_list { /* as many as there are */
	const struct metric_family *family;
	size_t count;
};
#define FAMILY_LIST(all)                                                                           \
	{                                                                                          \
		all, sizeof(all) / sizeof((all)[0])                                                \
	}
#define OF_JOB	"job_id"
#define OF_RANK "job_id, rank"
#define OF_LOOP OF_RANK ", loop"

/* ---- prometheus_page.c ----------------------------------------------------------------------- */

/* Samples in the Prometheus text format: name{label="value",...} value. */
void metric_name(struct buffer *out, const char *name);
/* After "{" or another label. Bytes that are no printable UTF-8 become '?'. */
void metric_label(struct buffer *out, const char *name, const char *value);
void metric_label_uint(struct buffer *out, const char *name, uint64_t value);
/* Seconds, exact, in the one form that OpenMetrics has for a number: "0.0005", "1.0". */
void metric_label_seconds(struct buffer *out, const char *name, uint64_t ns);

/* A sample is begun (its name, "{", and labels), the caller adds labels of its own, and ends it
 * with a value: page_value_uint(p, page_sample(p, f->name, r), 1). r: of that process; NULL: of
 * none. */
struct buffer *page_sample(struct page *p, const char *name, const struct rank_view *r);
/* For a histogram or summary: the name gets an ending. */
struct buffer *page_part(struct page *p, const char *name, const char *ending,
			 const struct rank_view *r);
void page_value_uint(struct page *p, struct buffer *out, uint64_t value);
void page_value_ns(struct page *p, struct buffer *out, uint64_t ns);
void page_value_real(struct page *p, struct buffer *out, double value);
/* Whole samples without labels. */
void page_plain(struct page *p, const struct metric_family *f, uint64_t value);
void page_plain_real(struct page *p, const struct metric_family *f, double value, int decimals);
/* In OpenMetrics: NAME_created of the sample just written. Counters of gp-bpf and of jobs have it
 * by themselves. Those of a process all begin at one instant, which one of them tells: of each they
 * would be a quarter of the page. */
void page_created(struct page *p);
/* Which loop, after other labels: of the first, 0, none, as most processes have no other. */
void page_loop_label(struct page *p, const struct loop_view *l);
/* As page_sample(), and the loop. */
struct buffer *page_loop(struct page *p, const char *name, const struct rank_view *r,
			 const struct loop_view *l);
/* Returns true if the steps of the loop are certain enough that their times mean something. */
bool page_loop_known(const struct loop_view *l);
/* Bytes of the name of the family in OpenMetrics: without what the names of its samples end in. */
size_t page_family_len(const struct metric_family *f);

/* Which jobs and processes have series. 0 or -ENOMEM. */
int page_who(struct page *p);
int page_attach_order(const void *a, const void *b); /* of page.attach, for qsort() */
void page_jobs_unshown(struct page *p, const struct metric_family *f);
void page_ranks_unshown(struct page *p, const struct metric_family *f);

/* ---- tables of series: prometheus_job.c, prometheus_rank.c, prometheus_own.c ----------------- */

extern const struct metric_family_list page_job_families;
extern const struct metric_family_list page_program_families;
extern const struct metric_family_list page_rank_families;
extern const struct metric_family_list page_loop_families;
extern const struct metric_family_list page_monitor_families;
extern const struct metric_family_list page_health_families;
extern const struct metric_family_list page_own_families;  /* of gp-bpf itself */
extern const struct metric_family_list page_last_families; /* likewise, at the end of the page */
extern const struct metric_family_list page_probe_families;
extern const struct metric_family_list page_store_families;
extern const struct metric_family_list page_export_families;

#endif
