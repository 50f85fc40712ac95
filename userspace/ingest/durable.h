/* SPDX-License-Identifier: Apache-2.0 */
/* durable.h - keeps the state of a live run on disk, so that a restart loses nothing. The state
 * directory contains a snapshot of stream and model, and a tape with all records since the
 * snapshot. Loading the snapshot and replaying the tape restores the state at the end of the
 * previous process.
 *
 * DIR/lock: locked while a process uses the directory. DIR/state: the snapshot and the number of
 * the next tape segment; replaced atomically. DIR/tape-NUMBER: tape segments; those older than the
 * snapshot are removed, so the tape is bounded.
 *
 * The directory is consistent even if the process is killed at any moment: a segment is created
 * before the snapshot that needs it, and removed after the last snapshot that needed it. Not
 * thread-safe. Functions return 0, or -errno after logging the reason, unless stated otherwise. */
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

struct durable_state { /* contents of DIR/state */
	struct buffer stream, model;
	struct buffer exports; /* bytes of export files that could not be written yet */
	uint64_t upto_ns;      /* time of the snapshot, which includes all earlier records */
	/* Number of the last fact. It may have been sent after the model was saved. */
	uint64_t last_fact;
};

/* Creates the directory if it is missing, and locks it. Returns -EBUSY if another process has
 * locked it. takeover: asks that process to hand over, and kills it if it has not done so within 10
 * s. */
int durable_open(struct durable **ret, const char *dir, bool takeover);
/* Unlocks the directory, whose files remain. d may be NULL. */
void durable_close(struct durable *d);
const char *durable_dir(const struct durable *d); /* an absolute path */
/* Returns the process that has locked the state directory `dir`; 0: none. */
pid_t durable_owner(const char *dir);

/* Returns the state that an earlier process saved after the host was booted. NULL: there is none,
 * or it cannot be used (older than the boot, of another version, or damaged), which was logged. */
const struct durable_state *durable_state(const struct durable *d);
/* Removes the saved state and its tape. Call if they cannot be used. */
void durable_discard(struct durable *d);
/* Calls fn for each frame that was written to the tape after the saved state. */
typedef void durable_frame_fn(void *ctx, const struct tape_frame *f);
int durable_replay(struct durable *d, durable_frame_fn *fn, void *ctx);
/* Returns the position up to which a ring was read, as recorded in the last frame or in the saved
 * state; 0: unknown. */
uint64_t durable_ring_at(const struct durable *d, enum tape_source source);
/* Sets the saved positions of the rings to 0. Call after creating new rings. */
void durable_rings_anew(struct durable *d);

/* Writes a frame to the tape. If it returns -errno, the frame is not on the tape, and is lost in a
 * restart before the next durable_save(). */
int durable_append(struct durable *d, const struct tape_frame *f);
bool durable_whole(const struct durable *d);
uint64_t durable_tape_bytes(const struct durable *d); /* size of the current tape segment */
/* Replaces the saved state and begins a new tape segment. Logs when saving fails, and when it works
 * again. */
int durable_save(struct durable *d, const struct durable_state *now);

#endif
