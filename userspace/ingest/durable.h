/* SPDX-License-Identifier: Apache-2.0 */
/* durable.h - the part of a live run that outlives the process: a state directory with a lock, the
 * state of stream and model at one moment, and the tape since then. Together they give the whole
 * state.
 *
 * DIR/lock: locked while a process watches. DIR/state: stream and model, and where the tape
 * continues; replaced as a whole. DIR/tape-NUMBER: segments; those older than the state are
 * removed, so the tape is bounded.
 *
 * The directory is consistent even if the process is killed at any moment: a segment begins before
 * the state that needs it, and is removed after the last state that needed it. Not thread-safe.
 * Functions return 0, or -errno after one line, unless said otherwise. */
#ifndef INGEST_DURABLE_H
#define INGEST_DURABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "userspace/base/buffer.h"
#include "userspace/ingest/tape.h"

#define DURABLE_DIR "/var/lib/gp-bpf"

struct durable;

struct durable_state { /* content of the saved state */
	struct buffer stream, model;
	struct buffer exports; /* bytes not yet written to the files of exports */
	uint64_t upto_ns;      /* all earlier records are included */
	uint64_t last_fact; /* number of the last fact, including those sent at the end, after the
			       model was saved */
};

/* Makes the directory if needed and locks it. -EBUSY: another process has the lock. takeover: ask
 * that process to hand over, and kill it if it has not within 10 s. */
int durable_open(struct durable **ret, const char *dir, bool takeover);
/* Releases the lock and keeps the state. NULL is fine. */
void durable_close(struct durable *d);
const char *durable_dir(const struct durable *d); /* an absolute path */
/* Returns the process that watches with this directory; 0: none. */
pid_t durable_owner(const char *dir);

/* Returns the state that an earlier run of this boot left. NULL: there is none, or it is unusable
 * (of another boot or version, or damaged), which was logged. */
const struct durable_state *durable_state(const struct durable *d);
/* Removes the state and its tape, because they cannot be used. */
void durable_discard(struct durable *d);
/* Calls fn for each frame of the tape since the state. */
typedef void durable_frame_fn(void *ctx, const struct tape_frame *f);
int durable_replay(struct durable *d, durable_frame_fn *fn, void *ctx);
/* Returns the position up to which a ring was read, from the last frame or the state; 0: unknown.
 */
uint64_t durable_ring_at(const struct durable *d, enum tape_source source);
/* Forgets the positions of the rings. Call when the rings are new. */
void durable_rings_anew(struct durable *d);

/* Writes a frame to the tape. -errno: the frame is not on the tape, and the saved state is
 * incomplete until the next durable_save(). */
int durable_append(struct durable *d, const struct tape_frame *f);
bool durable_whole(const struct durable *d);
uint64_t durable_tape_bytes(const struct durable *d); /* bytes in the present segment */
/* Replaces the state; the tape continues from it. Logs one line when saving fails, and one when it
 * works again. */
int durable_save(struct durable *d, const struct durable_state *now);

#endif
