/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h - writes the model's results to a store, on a thread of its own: at most one transaction
 * a second, so the caller never waits for the disk. What cannot be written (no room, read-only,
 * locked, removed) is kept and retried, bounded as intake.h says; the user is warned once, and
 * losses are counted. A damaged store is renamed, and a new one gets everything that is known. If
 * gp-bpf is killed, the store lacks the last second at most. */
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
	int64_t keep_ns;     /* older data is removed; 0: keep all */
	uint64_t size_bytes; /* approximate bound of the file; 0: none */
	bool named;	     /* named by the user: an error if it may not be opened */
	uint32_t pages_max;  /* for tests: the disk is full beyond this; 0: no bound */
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
	bool up;	  /* the last attempt succeeded */
	uint64_t written; /* transactions */
	int64_t last_ns;  /* UTC, the last one; 0: none */
	uint64_t bytes;	  /* of the file and its journal; 0: unknown */
	uint64_t waiting; /* minutes not written yet */
	uint64_t failed[STORE_TROUBLE_COUNT];
	uint64_t lost_ranks, lost_notes, lost_facts;
	uint64_t merged; /* minutes merged with a neighbour */
};

struct store_writer;
/* Opens the store and starts the thread. If the store cannot be opened now, a warning is logged and
 * it is retried; -EMEDIUMTYPE, -EUCLEAN and -EPROTO, which are permanent, and -ENOMEM are errors,
 * after one line. */
int store_writer_open(struct store_writer **ret, const struct store_writer_options *o);
/* Sets the source of the facts; a store that knows it is continued. FACT_START does the same. */
void store_writer_session(struct store_writer *w, const struct gp_session *s,
			  uint64_t start_mono_ns);
/* Returns the number of the last fact that the store has of this session. */
uint64_t store_writer_last_written(struct store_writer *w);
void store_writer_fact(struct store_writer *w, const struct fact *f);
/* wait: returns when it is written, for a replay. */
void store_writer_snapshot(struct store_writer *w, const struct snapshot *s, bool wait);
/* Writes everything that waits, then calls fn with exclusive use of the store. Returns the result
 * of fn, or -errno of the store. */
int store_writer_read(struct store_writer *w, int (*fn)(void *ctx, struct store *st), void *ctx);
void store_writer_stats(struct store_writer *w, struct store_writer_stats *ret);
/* A successor waits for the file: calls store_hand_over() before closing. */
void store_writer_hand_over(struct store_writer *w);
/* Writes the rest, within half a second if another process locks the file. Returns -EIO after one
 * line if something was lost. w may be NULL. */
int store_writer_close(struct store_writer *w);

#endif
