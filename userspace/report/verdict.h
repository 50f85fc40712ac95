/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.h - finds what limits a job. Each finding is one line: what it is, how much of the time
 * it costs, the evidence, and what to try. The rules and their limits are in verdict.c;
 * docs/verdicts.md explains them. Pure; durations in ns, shares from 0 to 1. */
#ifndef REPORT_VERDICT_H
#define REPORT_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/model/snapshot.h"

struct report_document; /* document.h */

/* Id and label of each kind of finding. Ids are values in JSON outputs: append new ones, never
 * rename. Kinds before `steady` cost time; the others are used if nothing else is found. */
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
	X(cpu_contention, "CPU contention")                                                        \
	X(cpu_throttled, "CPU quota")                                                              \
	X(kernel, "kernel time")                                                                   \
	X(memory_pressure, "memory pressure")                                                      \
	X(disk, "disk")                                                                            \
	X(garbage_collection, "garbage collection")                                                \
	X(own_code, "own code")                                                                    \
	X(interpreter_lock, "interpreter lock")                                                    \
	X(blocked, "blocked")                                                                      \
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

/* The input of the rules: facts about a rank or a job, from a snapshot or a store. 0 and false:
 * unknown. */
struct verdict_facts {
	uint64_t ns[BUCKET_COUNT]; /* time by bucket */
	/* Sum of all buckets except UNOBSERVED and EXCLUDED, and, in a run of less than 10 min,
	 * without its startup. Shares are parts of this time. */
	uint64_t judged_ns;
	uint64_t startup_ns; /* startup time; 0 in a run of less than 10 min */
	uint64_t steps, p50_ns, p99_ns, disruptions;
	double mean_ns; /* mean time of a step */
	/* Mean time of a step in each phase; the last element is the time in no phase. */
	double phase_ns[CHANGE_PARTS];
	uint32_t phases_known; /* a bit for each phase whose time is known */
	uint32_t futile_runs;  /* number of failed runs in a row that did not save a further step */
	struct {
		bool now;
		uint64_t for_ns; /* how long the hang has lasted; 0: unknown */
		int rank;	 /* rank that hangs; -1: unknown, or the job has one rank */
		enum gp_why why;
		char evidence[FACT_EVIDENCE_MAX];
	} hang;
	/* The thing outside the job for which the training thread slept longest, according to its
	 * last examination. */
	struct {
		/* share of the examined time; 0: it slept for nothing outside the job */
		double share;
		int rank;
		enum gp_wait wait;
		/* "waits for a file (/data/shard-3) at train.py:31 in step()" */
		char text[228];
	} blocked;
	/* Figures of the last minute: what the loader's workers read, failures of the network. */
	char worker_reads[TRAFFIC_TEXT], network[TRAFFIC_TEXT];
	/* A rank of several whose collectives no probe sees: share of the last examination in which
	 * its training thread waited for a lock or another thread, at a line that is not itself the
	 * wait. 0: none. */
	struct {
		double share;
		int rank;
		char line[LINES_TEXT_MAX];
	} peers;
	char worker[256]; /* text like blocked.text for a worker of the data loader; "": unknown */
	/* Causes of the time in buckets of badput: for each bucket, those of the rank with most
	 * examined time. Unused elements come last. */
	struct badput_view badput[RANK_BADPUT];
	/* single long steps, of the rank that lost most by them; -1: there is one rank */
	struct long_steps_view long_steps;
	int long_rank;
	struct { /* a slowdown that has not ended */
		bool now;
		int rank;
		uint64_t since_step, before_ns, after_ns;
		struct time_causes causes;
		/* the main cause is a wait for another thread, as in verdict_facts.peers */
		bool peers;
		/* If the main cause is unknown: the line at which the thread is most. */
		struct lines_top where;
		/* evidence as text, used if the facts are from a store, which lacks the numbers
		 * above */
		char evidence[FACT_EVIDENCE_MAX];
	} slow;
	struct input_finding input; /* what explains most of the waits for data */
	/* share of the last minute that went into waits for data, by samples of the Python stack */
	double input_share;
	/* For each cause, the share of the last minute in which the cause delayed the training
	 * thread, although no loop is slow; of the rank with the largest share. */
	struct {
		double share;
		int rank;
		/* the process that ran most while the thread waited for a CPU belongs to the same
		 * job */
		bool own;
		char detail[160];	     /* "": none */
		char evidence[TRAFFIC_TEXT]; /* "": none */
	} lack[TIME_CAUSE_COUNT];
	struct {
		bool now;
		int rank;
		uint64_t size_ns; /* how long the other ranks wait in each step */
		char phase[16];
	} straggler;
};

struct verdict {
	enum verdict_kind kind;
	/* share of the judged time; for a slowdown or straggler that has not ended: share of
	 * each step */
	double share;
	char text[272]; /* without the label: "64 % of each step waits for data" */
	char evidence[FACT_EVIDENCE_MAX]; /* "": the text contains the evidence */
	char next[160];			  /* what to try; "": there is no advice */
};

#define VERDICTS_MAX VERDICT_COUNT
struct verdicts {
	uint32_t count; /* at least 1 after verdict_find() */
	struct verdict of[VERDICTS_MAX];
	double unexplained; /* share of the judged time that is neither goodput nor in a finding */
};

/* Applies the rules. Findings about the present come first, then the others by share. */
void verdict_find(struct verdicts *ret, const struct verdict_facts *f);
/* Collects facts about one rank of a snapshot. */
void verdict_facts_of_rank(struct verdict_facts *ret, const struct snapshot *s,
			   const struct rank_view *r);
/* Collects facts about a job of a snapshot: the job's time, the problems of all its ranks, and the
 * phases of its first rank. */
void verdict_facts_of_job(struct verdict_facts *ret, const struct snapshot *s,
			  const struct job_view *j);
/* Finds what limits the job of a rank, or a rank without a job. */
void verdict_of_trainer(struct verdicts *ret, const struct snapshot *s, const struct rank_view *r);
/* Collects facts about a job of a store. A store has no phases. */
void verdict_facts_of_document(struct verdict_facts *ret, const struct report_document *d);
/* Writes "input-bound: 64 % of each step waits for data; next: more loader workers" to out and
 * returns it. */
#define VERDICT_LINE_MAX 480
const char *verdict_line(char *out, size_t len, const struct verdict *v);
/* Appends "verdicts": [...] to a JSON object. */
void verdict_json(struct buffer *out, const struct verdicts *v);

#endif
