/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_job.h - which scalars a job has, and where they lie. Not thread-safe.
 *
 *   JOB/goodput       over all runs of the job, by wall time, with the goodput library's tags
 *                     (ml-goodput-measurement 0.2.3, src/monitoring.py): goodput/goodput and
 *                     badput/TYPE in percent of the observed time; and job/disruptions, and
 *                     performance/ideal_step_time_seconds of its reference rank
 *   JOB/run-K/rank-N  performance/step_time_seconds and step_deviation, each step once; K-th run
 *                     of the job, as jobs count them. Where only the queueing of work is known:
 *                     performance/step_queued_seconds. Further loops:
 *                     loop_I/performance/...
 *
 * Steps have numbers from 0, as the library's. A job without a name is "pid-PID", a rank whose
 * number is not known likewise. */
#ifndef EXPORT_TENSORBOARD_JOB_H
#define EXPORT_TENSORBOARD_JOB_H

#include "userspace/account/log/answer.h"
#include "userspace/export/tensorboard/tensorboard_board.h"
#include "userspace/model/job/fact.h"

struct tb_step { /* what is kept of a fact */
	char job[GP_JOB_MAX];
	int64_t real_ns; /* of its end; 0: unknown */
	uint64_t number, ns;
	uint32_t pid, run, loop, flags;
	int rank;
	bool repeated; /* by a predecessor, whose files may hold it */
	enum step_series series;
};

struct tb_jobs;
int tb_jobs_new(struct tb_jobs **ret, struct tb_board *board); /* borrowed */
void tb_jobs_free(struct tb_jobs *j);
/* false: no step of training. */
bool tb_step_of(struct tb_step *ret, const struct fact *f);
void tb_jobs_step(struct tb_jobs *j, const struct tb_step *s);
/* Many steps wait for a snapshot that tells the ideal of their rank. */
bool tb_jobs_wait(const struct tb_jobs *j);
void tb_jobs_snapshot(struct tb_jobs *j, const struct snapshot *s);

/* The same of a log of the instrumented library, as of the instant of the answer, with its
 * deviations: nothing where the library raises. names are the log's. false: there is nothing. */
struct goodput_names;
bool tb_answer(struct tb_board *board, const struct goodput_answer *a,
	       const struct goodput_names *names);

#endif
