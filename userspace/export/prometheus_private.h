/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_private.h - a page of metrics in the making, as its parts see it: prometheus_text.c (what every
 * page, process and loop has), prometheus_job.c and prometheus_probe.c. */
#ifndef EXPORT_PROMETHEUS_PRIVATE_H
#define EXPORT_PROMETHEUS_PRIVATE_H

#include "userspace/export/prometheus_text.h"

struct page {
	struct buffer *out;
	const struct snapshot *s;
	const struct rank_view *ranks[PROMETHEUS_RANKS];
	size_t nranks;
	/* Labels of each rank, made once: they are most of a page. */
	struct buffer labels;
	size_t label_end[PROMETHEUS_RANKS];
	const char *label; /* of the rank whose samples are being written */
	size_t label_len;
	const struct attach_view **attach; /* by id, then library */
	size_t nattach;
};

/* One family: header, then the samples of its one function. */
struct family {
	const char *name, *type, *help;
	void (*all)(struct page *p, const struct family *f);
	void (*rank)(struct page *p, const struct family *f, const struct rank_view *r);
	void (*loop)(struct page *p, const struct family *f, const struct rank_view *r,
		     const struct loop_view *l);
};

/* "name{" and the labels of the process, if r is one; the caller adds its own, then a value. */
struct buffer *page_sample(struct page *p, const char *name, const struct rank_view *r);

/* prometheus_job.c. As many jobs as ranks: beyond, the page would grow without bound. */
#define PAGE_JOBS PROMETHEUS_RANKS
#define PAGE_EACH_JOB(p, j)                                                                                  \
	for (uint32_t i_ = 0; (p)->s && i_ < (p)->s->njobs && i_ < PAGE_JOBS; i_++)                          \
		for (const struct job_view *j = page_job_shown((p)->s, i_) ? &(p)->s->jobs[i_] : NULL; j;    \
		     j = NULL)
bool page_job_shown(const struct snapshot *s, uint32_t at);
/* The family's name, "{", and the labels of the job. */
struct buffer *page_job(struct page *p, const struct family *f, const struct job_view *j);
void page_job_time(struct page *p, const struct family *f);
void page_job_goodput(struct page *p, const struct family *f);
void page_job_window_goodput(struct page *p, const struct family *f);
void page_job_excluded(struct page *p, const struct family *f);
void page_job_elapsed(struct page *p, const struct family *f);
void page_job_productive(struct page *p, const struct family *f);
void page_job_wasted(struct page *p, const struct family *f);
void page_job_disruptions(struct page *p, const struct family *f);
void page_job_runs(struct page *p, const struct family *f);
void page_job_starts(struct page *p, const struct family *f);
void page_job_step(struct page *p, const struct family *f);
void page_job_state(struct page *p, const struct family *f);

/* The same and the loop. */
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
#define PAGE_PROGRAM_FAMILIES 7
extern const struct family page_program_families[PAGE_PROGRAM_FAMILIES];

/* prometheus_store.c */
#define PAGE_STORE_FAMILIES 7
extern const struct family page_store_families[PAGE_STORE_FAMILIES];

/* prometheus_probe.c */
int page_attach_order(const void *a, const void *b); /* of page.attach */
void page_probe_hits(struct page *p, const struct family *f);
void page_probe_unsent(struct page *p, const struct family *f);
void page_probe_states(struct page *p, const struct family *f);
void page_probe_attached(struct page *p, const struct family *f);

#endif
