/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_private.h - a page of metrics in the making, as its parts see it: prometheus_text.c
 * (what every page and process has), prometheus_loop.c (steps), and those below. */
#ifndef EXPORT_PROMETHEUS_PRIVATE_H
#define EXPORT_PROMETHEUS_PRIVATE_H

#include "userspace/export/prometheus_text.h"

enum family_type {
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
	const struct prometheus_own *own; /* NULL: not asked for */
	const struct family *family;	  /* that is being written */
	size_t labels_at, labels_end;	  /* of its last sample, in out */
	uint64_t since_ns;     /* when what that counts began, on the monotonic clock; 0: unknown */
	int64_t since_real_ns; /* the same in UTC, as it stays; 0: by since_ns */
	/* prometheus_who.c: in the snapshot's order, those that live first. */
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
struct family {
	const char *name;
	enum family_type type;
	const char *labels; /* as people read them, separated by ", " */
	const char *help;   /* without quotes, backslashes or line breaks */
	void (*all)(struct page *p, const struct family *f);
	/* Of one of these, for each: what is a job's is told by the node of its reference alone;
	 * its part on this node, which adds up over nodes, by every node. */
	void (*job)(struct page *p, const struct family *f, const struct job_view *j);
	void (*job_part)(struct page *p, const struct family *f, const struct job_view *j);
	/* Of an exporter. */
	void (*way)(struct page *p, const struct family *f, const struct export_view *e);
	void (*rank)(struct page *p, const struct family *f, const struct rank_view *r);
	void (*loop)(struct page *p, const struct family *f, const struct rank_view *r,
		     const struct loop_view *l);
	bool anew; /* what it counts begins with this process of gp-bpf, whatever went before */
};

struct family_list { /* as many as there are */
	const struct family *family;
	size_t count;
};
#define FAMILY_LIST(all)                                                                           \
	{                                                                                          \
		all, sizeof(all) / sizeof((all)[0])                                                \
	}
#define OF_JOB	"job_id"
#define OF_RANK "job_id, rank"
#define OF_LOOP OF_RANK ", loop"

/* A sample is begun (its name, "{", and labels), the caller adds labels of its own, and ends it
 * with a value: page_value_uint(p, page_sample(p, f->name, r), 1). */
/* r: of that process; NULL: of none. */
struct buffer *page_sample(struct page *p, const char *name, const struct rank_view *r);
/* Of a histogram or summary: name and ending. */
struct buffer *page_part(struct page *p, const char *name, const char *ending,
			 const struct rank_view *r);
void page_value_uint(struct page *p, struct buffer *out, uint64_t value);
void page_value_ns(struct page *p, struct buffer *out, uint64_t ns);
void page_value_real(struct page *p, struct buffer *out, double value);
/* Whole samples without labels. */
void page_plain(struct page *p, const struct family *f, uint64_t value);
void page_plain_real(struct page *p, const struct family *f, double value, int decimals);
/* In OpenMetrics: NAME_created of the sample just written. Counters of gp-bpf and of
 * jobs have it by themselves. Those of a process all begin at one instant, which one of them tells:
 * of each they would be a quarter of the page. */
void page_created(struct page *p);

/* prometheus_who.c: who has series. 0 or -ENOMEM. */
int page_who(struct page *p);
#define PAGE_JOB_MAX 72
/* job_id: whoever gives no name is called by its first process. Returns the name, or room. */
const char *page_job_name(const struct job_view *j, char room[PAGE_JOB_MAX]);
void page_jobs_unshown(struct page *p, const struct family *f);
void page_ranks_unshown(struct page *p, const struct family *f);

/* prometheus_job.c */
extern const struct family_list page_job_families;
/* The family's name, "{", and the labels of the job. */
struct buffer *page_job(struct page *p, const struct family *f, const struct job_view *j);

/* prometheus_rank.c */
extern const struct family_list page_rank_families;

/* prometheus_own.c: of gp-bpf itself */
extern const struct family_list page_own_families;
extern const struct family_list page_last_families;

/* prometheus_export.c */
extern const struct family_list page_export_families;

/* prometheus_loop.c */
extern const struct family_list page_loop_families;
/* Which loop, after other labels: of the first, 0, none, as most processes have no other. */
void page_loop_label(struct page *p, const struct loop_view *l);
/* As page_sample(), and the loop. */
struct buffer *page_loop(struct page *p, const char *name, const struct rank_view *r,
			 const struct loop_view *l);
/* Its steps are certain enough that their times mean something. */
bool page_loop_known(const struct loop_view *l);

/* prometheus_window.c */
void page_loop_slow(struct page *p, const struct family *f, const struct rank_view *r,
		    const struct loop_view *l);
void page_loop_slow_ratio(struct page *p, const struct family *f, const struct rank_view *r,
			  const struct loop_view *l);
void page_rank_window_goodput(struct page *p, const struct family *f, const struct rank_view *r);
void page_rank_window_observed(struct page *p, const struct family *f, const struct rank_view *r);
void page_loop_minute(struct page *p, const struct family *f, const struct rank_view *r,
		      const struct loop_view *l);
void page_loop_minute_steps(struct page *p, const struct family *f, const struct rank_view *r,
			    const struct loop_view *l);
void page_loop_signed(struct page *p, const struct family *f, const struct rank_view *r,
		      const struct loop_view *l);
void page_loop_slowdowns(struct page *p, const struct family *f, const struct rank_view *r,
			 const struct loop_view *l);

/* prometheus_program.c */
extern const struct family_list page_program_families;

/* prometheus_monitor.c */
extern const struct family_list page_monitor_families;

/* prometheus_health.c */
extern const struct family_list page_health_families;

/* prometheus_store.c */
extern const struct family_list page_store_families;

/* prometheus_probe.c */
extern const struct family_list page_probe_families;
int page_attach_order(const void *a, const void *b); /* of page.attach */

#endif
