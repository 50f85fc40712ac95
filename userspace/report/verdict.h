/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.h - what limits a job, in one line for each finding: how much of the time it costs, the
 * evidence, and what to try. The rules and their limits are in verdict.c; docs/verdicts.md explains
 * them. Pure; durations in ns, shares from 0 to 1. */
#ifndef REPORT_VERDICT_H
#define REPORT_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/model/snapshot.h"

struct report_document; /* document.h */

/* id and label of each kind. Ids are values of JSON outputs: append, never rename. Kinds before
 * `steady` cost time; the others are stated when nothing else is found. */
#define VERDICTS(X)                                                                                \
	X(hung, "hung")                                                                            \
	X(crash_loop, "crash loop")                                                                \
	X(slow, "slow")                                                                            \
	X(straggler, "straggler")                                                                  \
	X(restarts, "restarts")                                                                    \
	X(hangs, "hangs")                                                                          \
	X(input_bound, "input-bound")                                                              \
	X(communication_bound, "communication-bound")                                              \
	X(copy_bound, "copy-bound")                                                                \
	X(compilation, "compilation")                                                              \
	X(checkpoints, "checkpoints")                                                              \
	X(evaluation, "evaluation")                                                                \
	X(startup, "startup")                                                                      \
	X(uneven, "uneven steps")                                                                  \
	X(other, "other")                                                                          \
	X(steady, "steady")                                                                        \
	X(device_bound, "device-bound")                                                            \
	X(none, "no verdict")

enum verdict_kind {
#define X(id, label) VERDICT_##id,
	VERDICTS(X)
#undef X
		VERDICT_COUNT
};
extern const char *const verdict_name[VERDICT_COUNT];  /* "input_bound" */
extern const char *const verdict_label[VERDICT_COUNT]; /* "input-bound" */

/* What the rules look at: a rank or a job, from a snapshot or a store. 0 and false: unknown. */
struct verdict_facts {
	uint64_t ns[BUCKET_COUNT]; /* time by bucket */
	/* All buckets except UNOBSERVED and EXCLUDED, and in a run of less than 10 min except its
	 * startup. Shares are parts of this. */
	uint64_t judged_ns;
	uint64_t startup_ns; /* 0 in a run of less than 10 min */
	uint64_t steps, p50_ns, p99_ns, disruptions;
	double mean_ns; /* of a step */
	/* Mean time of a step by phase, and last the time of no phase. */
	double phase_ns[CHANGE_PARTS];
	uint32_t phases_known; /* bit per phase; 0: phases are unknown */
	uint32_t futile_runs;  /* failed runs in a row that saved no further step */
	struct {
		bool now;
		uint64_t for_ns; /* since its onset; 0: unknown */
		int rank;	 /* -1: unknown, or the job has one rank */
		enum gp_why why;
		char evidence[FACT_EVIDENCE_MAX];
	} hang;
	struct { /* the present slowdown */
		bool now;
		int rank;
		uint64_t since_step, before_ns, after_ns;
		struct time_causes causes;
		char evidence[FACT_EVIDENCE_MAX]; /* from a store, which has no figures */
	} slow;
	struct {
		bool now;
		int rank;
		uint64_t size_ns; /* wait of the other ranks in each step */
		char phase[16];
	} straggler;
};

struct verdict {
	enum verdict_kind kind;
	double share;	/* of the judged time; of a present slowdown or straggler: of each step */
	char text[240]; /* without the label: "64 % of each step waits for data" */
	char evidence[FACT_EVIDENCE_MAX]; /* "": the text says all */
	char next[160];			  /* what to try; "": nothing */
};

#define VERDICTS_MAX VERDICT_COUNT
struct verdicts {
	uint32_t count; /* at least 1 after verdict_find() */
	struct verdict of[VERDICTS_MAX];
	double unexplained; /* share of the judged time that is neither goodput nor a finding */
};

/* Finds what applies: troubles of this moment first, then the others by their share. */
void verdict_find(struct verdicts *ret, const struct verdict_facts *f);
/* Facts about one rank of a snapshot. */
void verdict_facts_of_rank(struct verdict_facts *ret, const struct snapshot *s,
			   const struct rank_view *r);
/* Facts about a job of a snapshot: its own time and troubles of all its ranks; phases are those of
 * its first rank. */
void verdict_facts_of_job(struct verdict_facts *ret, const struct snapshot *s,
			  const struct job_view *j);
/* Finds what applies to the job of a rank, or to a rank without a job. */
void verdict_of_trainer(struct verdicts *ret, const struct snapshot *s, const struct rank_view *r);
/* Facts about a document that was read from a store, which has no phases. */
void verdict_facts_of_document(struct verdict_facts *ret, const struct report_document *d);
/* Writes "input-bound: 64 % of each step waits for data; next: more loader workers" to out and
 * returns it. */
#define VERDICT_LINE_MAX 480
const char *verdict_line(char *out, size_t len, const struct verdict *v);
/* Appends "verdicts": [...]. */
void verdict_json(struct buffer *out, const struct verdicts *v);

#endif
