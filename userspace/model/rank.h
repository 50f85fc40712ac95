/* SPDX-License-Identifier: Apache-2.0 */
/* rank.h - one process: its markers, its steps, its ledger, and the facts that come of them.
 *
 *   rank.c       life: made, identified, fed, ended
 *   rank_loop.c  a finished step: statistics, ledger, FACT_STEP
 *   rank_fact.c  facts, and the events that people are shown
 *   rank_view.c  its part of a snapshot
 *   rank_save.c  its state as bytes
 *
 * A process that never shows a marker costs a few hundred bytes: the rest is made at the first one.
 */
#ifndef MODEL_RANK_H
#define MODEL_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/ingest/event.h"
#include "userspace/model/anchor.h"
#include "userspace/model/deviation.h"
#include "userspace/model/fact.h"
#include "userspace/model/ledger.h"
#include "userspace/model/phase.h"
#include "userspace/model/snapshot.h"
#include "userspace/model/step.h"

#define RANK_LOOPS 16 /* as many as the step finder tells apart */
#define RANK_NOTES 16 /* checkpoints and ranges that wait for the steps before them */

struct rank_env {      /* what all ranks of a model share */
	fact_fn *sink; /* may be NULL */
	void *ctx;
	struct anchors anchors;
	struct step_config step; /* of processes that show their first marker from here on */
	uint64_t ideal_ns;	 /* the user's; 0: found */
	uint64_t ledger_violations;
	uint64_t facts; /* told so far: the number of the last one */
};

struct rank_loop {
	struct step_state state; /* as last told */
	struct deviation *time;
	uint64_t ideal_ns, mad_ns; /* refreshed now and then */
	uint64_t steps, updates;   /* given out, and what they hold */
	uint64_t last_number, last_end_ns, resume_ns;
	uint32_t tid;
	uint64_t recent_ns[SNAPSHOT_RECENT];
	uint64_t recent; /* ever */
	uint64_t phase_ns[PHASE_COUNT];
	uint32_t phases_known;
	uint64_t flagged[8];
};

struct rank_note { /* a span whose fact is told after the steps before it */
	struct span span;
	char file[GP_PATH_MAX];
};

struct rank {
	struct rank_env *env;
	uint32_t pid;
	struct gp_process process; /* texts escaped */
	uint64_t start_ns;	   /* on CLOCK_MONOTONIC */
	uint64_t observed_ns;	   /* watched since */
	uint64_t end_ns;	   /* when not alive */
	bool from_start;
	bool settled; /* a tick passed: attaching is over */
	bool missed;  /* nobody watched for a while before its first marker */
	bool alive, trainer, target;
	bool accelerated; /* called an accelerator's runtime */
	int status;

	struct marker *marker; /* from the first marker to the end */
	struct step_finder *finder;
	struct phase_finder *phase;
	struct ledger *ledger;
	struct rank_loop *loops[RANK_LOOPS];
	uint32_t nloops;
	uint32_t seen; /* bit per signal_kind */
	int error;     /* of the call in progress */

	struct rank_note notes[RANK_NOTES];
	uint32_t nnotes;
	uint64_t ledger_told_ns;
	bool ledger_due;

	uint64_t checkpoints, restores, save_ns;
	uint64_t hits, cost_ns, lost, disruptions;
	struct gp_signal killed; /* last fatal signal that was sent */
	bool oom;
	struct event_view events[SNAPSHOT_EVENTS];
	uint64_t nevents; /* ever */
};

struct rank *rank_new(struct rank_env *env, uint32_t pid, uint64_t now_ns, bool from_start);
void rank_free(struct rank *r); /* NULL is fine */

/* Is this record about the same process (not another one that got its pid)? */
bool rank_is(const struct rank *r, uint64_t start_ns);
void rank_identify(struct rank *r, const struct gp_process *p);
/* Probes were attached: what a process that ran before did until then was not observed. */
void rank_attached(struct rank *r, uint64_t now_ns);
/* Records of its probes, ticks, losses, exec. hits: 0 when it is no probe's. 0 or -ENOMEM. */
int rank_feed(struct rank *r, const struct event *ev, const struct gp_probe *probe, uint64_t hits,
	      uint64_t price_ns);
void rank_exit(struct rank *r, const struct event *ev);
/* Its pid is another process's now: its end was not seen. */
void rank_gone(struct rank *r, uint64_t now_ns);
/* We stop watching: what is known is final. */
void rank_stop(struct rank *r, uint64_t now_ns);
bool rank_shown(const struct rank *r);

/* rank_loop.c */
void rank_step(struct rank *r, const struct step *s);
struct rank_loop *rank_loop(struct rank *r, uint32_t i); /* NULL: no memory */
void rank_states(struct rank *r, uint64_t now_ns);
void rank_ideal(struct rank *r, bool final);
void rank_ledger_checked(struct rank *r);

/* rank_fact.c */
void rank_fact(const struct rank *r, struct fact *f, uint64_t mono_ns); /* fills who and when, and tells it */
void rank_span(void *ctx, const struct span *s);
void rank_notes(struct rank *r, uint64_t before_ns); /* tells those that began before */
void rank_tell_gap(struct rank *r, uint64_t from_ns, uint64_t now_ns);
void rank_tell_ledger(struct rank *r, uint64_t now_ns);
void rank_tell_disruption(struct rank *r, uint64_t now_ns);
void rank_event(struct rank *r, uint64_t mono_ns, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* rank_view.c */
int rank_view(const struct rank *r, uint64_t now_ns, struct rank_view *ret); /* 0 or -ENOMEM */

/* rank_save.c */
void rank_archive(struct archive *a, struct rank **r, struct rank_env *env);
void rank_env_archive(struct archive *a, struct rank_env *env); /* all but whom to tell */

#endif
