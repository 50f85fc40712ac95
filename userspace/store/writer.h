/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h - puts what a model tells into a store, from a thread of its own: at most one
 * transaction a second, and who feeds it never waits for the disk.
 *
 * What cannot be written (no room, read-only, locked, gone) is kept and tried again, bounded as
 * intake.h says, warned of once, and counted. A store that turns out to be damaged is set aside,
 * and a new one gets all that is known. Killed at any moment, the store holds what was known a
 * second before. */
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
	int64_t keep_ns;     /* what is older goes; 0: all is kept */
	uint64_t size_bytes; /* of the file, about; 0: no bound */
	bool named;	     /* by a person: one that may not be opened is an error */
	uint32_t pages_max;  /* tests: the disk is full beyond; 0: no bound */
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
	bool up;	  /* the last attempt worked */
	uint64_t written; /* transactions */
	int64_t last_ns;  /* of the last one, UTC; 0: none */
	uint64_t bytes;	  /* of the file and its journal; 0: not known */
	uint64_t waiting; /* minutes that are not written yet */
	uint64_t failed[STORE_TROUBLE_COUNT];
	uint64_t lost_ranks, lost_notes, lost_facts;
	uint64_t merged; /* minutes that became one with a neighbour */
};

struct store_writer;
/* Opens the store and starts the thread. A store that cannot be opened now is warned of and tried
 * again; -EMEDIUMTYPE, -EUCLEAN and -EPROTO, which stay, and -ENOMEM are errors, after one line. */
int store_writer_open(struct store_writer **ret, const struct store_writer_options *o);
/* Source of the facts; a store that knows this source is continued. Also told by FACT_START. */
void store_writer_session(struct store_writer *w, const struct gp_session *s,
			  uint64_t start_mono_ns);
/* Number of the last fact that the store has of this session. */
uint64_t store_writer_last_written(struct store_writer *w);
void store_writer_fact(struct store_writer *w, const struct fact *f);
/* wait: until it is written, where nothing comes in real time. */
void store_writer_snapshot(struct store_writer *w, const struct snapshot *s, bool wait);
/* Writes what waits, then calls fn with the store; nobody else uses it meanwhile. What fn returns;
 * -errno of the store. */
int store_writer_read(struct store_writer *w, int (*fn)(void *ctx, struct store *st), void *ctx);
void store_writer_stats(struct store_writer *w, struct store_writer_stats *ret);
/* A successor waits for the file: store_hand_over() when it is closed. */
void store_writer_hand_over(struct store_writer *w);
/* Writes what is left, within half a second where another process locks the file. -EIO when
 * something was lost, after one line. NULL is fine. */
int store_writer_close(struct store_writer *w);

#endif
