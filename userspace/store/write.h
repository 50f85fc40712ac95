/* SPDX-License-Identifier: Apache-2.0 */
/* write.h - writes ranks, minutes and notes of an intake (intake.h) to the store. Call each
 * function within a transaction. All return 0 or -errno. */
#ifndef STORE_WRITE_H
#define STORE_WRITE_H

#include "userspace/store/store.h"
#include "userspace/store/intake.h"

struct write_session {
	char key[96];
	char boot_id[40], version[24], command[256];
};

/* Finds the session in the store, or adds it. *ret_id: number of the session. */
int write_session(struct store *st, const struct write_session *s, int64_t *ret_id);
int write_last_fact(struct store *st, const struct write_session *s, uint64_t last_fact);
/* Records that the session's watch ended. A later write_session() makes the session active
 * again. */
int write_session_ended(struct store *st, const struct write_session *s, int64_t now_ns);
struct write_ended { /* A rank whose end is known but not written yet */
	int64_t rank;
	uint64_t end_mono_ns;
};

/* Finds the stored state of a rank or a job. Adds rows for the job, the run and the rank if they
 * are missing. */
int write_place(struct store *st, int64_t session, const char *boot_id,
		const struct intake_about *a, const struct write_ended *ended, uint32_t nended,
		struct intake_place *ret);
/* Adds a run after the other runs of the job. *ret_id: number of the run's row. */
int write_run_make(struct store *st, int64_t job, const char *boot_id, const struct intake_about *a,
		   int64_t *ret_id);
/* Adds a row in which no time is booked yet, for a rank of a run or for the job itself. */
int write_rank_make(struct store *st, int64_t session, int64_t job, int64_t run,
		    const struct intake_about *a, int64_t *ret_id);
/* Writes the current state of the rank, and the sum of its closed minutes. If it is the last rank
 * of its run to end, also writes the end of the run. */
int write_about(struct store *st, const struct intake_rank *r);
/* Moves the data of a job from the key that it had earlier in this session to its current key, and
 * adds it to data that is stored there. Call before a rank of the job gets a row. */
int write_former_names(struct store *st, int64_t session, const struct intake_about *a);
/* Writes n closed minutes of the rank, which the caller has copied to `closed`, and the minute that
 * is still running. The last of them has number r->taken. */
int write_rank(struct store *st, const struct intake_rank *r, const struct intake_minute *closed,
	       uint32_t n);
/* Writes a minute. If its row exists, the minute is added to the stored one. */
int write_minute(struct store *st, int64_t rank, const struct intake_minute *closed);
int write_note(struct store *st, const struct intake_note *n, int64_t rank);

/* (retain.c) Removes data that is more than keep_ns older than now_ns, then the oldest data until
 * the file has about size_bytes. 0: no such limit. Call outside of a transaction. */
int store_retain(struct store *st, int64_t now_ns, int64_t keep_ns, uint64_t size_bytes);

#endif
