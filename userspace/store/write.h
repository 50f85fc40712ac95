/* SPDX-License-Identifier: Apache-2.0 */
/* write.h - rows of an intake. Each function is to be called within a transaction; 0 or -errno. */
#ifndef STORE_WRITE_H
#define STORE_WRITE_H

#include "userspace/store/store.h"
#include "userspace/store/intake.h"

struct write_session {
	char key[96];
	char boot_id[40], version[24], command[256];
};

/* *ret_id is the session's number; it is made where it is not there. */
int write_session(struct store *st, const struct write_session *s, int64_t *ret_id);
int write_last_fact(struct store *st, const struct write_session *s, uint64_t last_fact);
/* Its watch ended; told of again, it goes on. */
int write_session_ended(struct store *st, const struct write_session *s, int64_t now_ns);
struct write_ended { /* a rank that is known to have ended, which the store does not have yet */
	int64_t rank;
	uint64_t end_mono_ns;
};

/* What the store has of a process; its job, run and rank are made where they are not there. */
int write_place(struct store *st, int64_t session, const char *boot_id,
		const struct intake_about *a, const struct write_ended *ended, uint32_t nended,
		struct intake_place *ret);
/* What the store has of a job by a key that it had before in this session goes by its key from here
 * on, added to what there is of that. Before any of its ranks gets a place. */
int write_formers(struct store *st, int64_t session, const struct intake_about *a);
/* Minutes of the rank up to r->taken, which were copied to `closed`, and the running one. */
int write_rank(struct store *st, const struct intake_rank *r, const struct intake_minute *closed,
	       uint32_t n);
/* A minute that is there already holds both then. */
int write_minute(struct store *st, int64_t rank, const struct intake_minute *closed);
int write_note(struct store *st, const struct intake_note *n, int64_t rank);

/* retain.c: takes away what is older than keep_ns before now_ns, then the oldest until the file is
 * about size_bytes; outside of a transaction. 0: no bound. */
int store_retain(struct store *st, int64_t now_ns, int64_t keep_ns, uint64_t size_bytes);

#endif
