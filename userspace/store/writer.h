/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h - writes the model's results to a store on a separate thread, in at most one transaction
 * a second, so that the caller never waits for the disk.
 *
 * Data that cannot be written (no space, read-only, locked, removed) is kept within the limits of
 * intake.h and retried. The user is warned once, and losses are counted. A damaged store is
 * renamed, and everything that is still known is written to a new one. If gp-bpf is killed, at most
 * the last second is missing in the store. */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "userspace/model/job/fact.h"
#include "userspace/model/snapshot.h"
#include "userspace/store/store.h"

struct store_writer_options {
	const char *path;
	int64_t keep_ns;     /* data older than this is removed; 0: no limit of age */
	uint64_t size_bytes; /* approximate limit of the file size; 0: no limit */
	/* The user named the file: return an error if it cannot be opened. */
	bool named;
	/* for tests: the disk counts as full if the file has more than this many pages; 0: no
	 * limit */
	uint32_t pages_max;
};

#define STORE_TROUBLES(X)                                                                          \
	X(room, -ENOSPC)                                                                           \
	X(read_only, -EROFS)                                                                       \
	X(denied, -EACCES)                                                                         \
	X(locked, -EBUSY)                                                                          \
	X(damaged, -EBADMSG)                                                                       \
	X(other, 0)

enum store_trouble {
#define X(name, err) STORE_TROUBLE_##name,
	STORE_TROUBLES(X)
#undef X
		STORE_TROUBLE_COUNT
};

extern const char *const store_trouble_name[STORE_TROUBLE_COUNT];

struct store_writer_stats {
	bool up;	  /* the last attempt to write succeeded */
	uint64_t written; /* transactions */
	int64_t last_ns;  /* UTC time of the last transaction; 0: none */
	uint64_t bytes;	  /* size of the file and its write-ahead log; 0: unknown */
	uint64_t waiting; /* minutes that are not written yet */
	uint64_t failed[STORE_TROUBLE_COUNT];
	uint64_t lost_ranks, lost_notes, lost_facts;
	uint64_t merged; /* minutes that were merged with a neighbour */
};

struct store_writer;
/* Opens the store and starts the thread. If the store cannot be opened now, logs a warning and
 * retries later. Errors that do not go away are logged and returned: -EMEDIUMTYPE, -EUCLEAN,
 * -EPROTO, -ENOMEM. */
int store_writer_open(struct store_writer **ret, const struct store_writer_options *o);
/* Sets the session that the following facts belong to. If the store has the session, it is
 * continued. A fact FACT_START has the same effect. */
void store_writer_session(struct store_writer *w, const struct gp_session *s,
			  uint64_t start_mono_ns);
/* Returns the number of the last fact of this session that the store has. */
uint64_t store_writer_last_written(struct store_writer *w);
void store_writer_fact(struct store_writer *w, const struct fact *f);
/* Takes a snapshot of the model. wait: return only when it is written (for a replay). */
void store_writer_snapshot(struct store_writer *w, const struct snapshot *s, bool wait);
/* Writes all data that is not written yet, then calls fn with exclusive use of the store. Returns
 * the result of fn, or -errno of the store. */
int store_writer_read(struct store_writer *w, int (*fn)(void *ctx, struct store *st), void *ctx);
void store_writer_stats(struct store_writer *w, struct store_writer_stats *ret);
/* Call before store_writer_close() if a process that takes over waits for the file. Makes closing
 * quick (store_hand_over()). */
void store_writer_hand_over(struct store_writer *w);
/* Writes the remaining data and frees w (NULL is fine). Waits at most half a second if another
 * process locks the file. Returns 0, or -EIO after logging that data was lost. */
int store_writer_close(struct store_writer *w);

#endif
