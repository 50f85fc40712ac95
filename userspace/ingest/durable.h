/* SPDX-License-Identifier: Apache-2.0 */
/* durable.h - what of a live run outlives this process: a state directory with a lock, the state of
 * stream and model as it was at one moment, and the tape since then. A reader of both has the whole
 * state.
 *
 *   DIR/lock             held while somebody watches
 *   DIR/state            stream and model, and where the tape goes on; replaced as a whole
 *   DIR/tape-NUMBER      segments; those that a newer state covers are removed, so the tape has
 *                        a bound
 *
 * Killed at any moment, the directory is whole: a segment begins before the state that needs it,
 * and goes after the state that does not. Not thread-safe. Errors: 0 or -errno after one line. */
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

struct durable_state { /* as it was saved */
	struct buffer stream, model;
	struct buffer exports; /* what their files are still owed */
	uint64_t upto_ns;      /* all that came before is known */
	uint64_t last_fact; /* number of the last fact, those of an end included that are not in the
			  model */
};

/* Makes the directory where needed and locks it. Somebody else has the lock: -EBUSY; with takeover
 * they are asked to hand over, and killed when they do not within 10 s. */
int durable_open(struct durable **ret, const char *dir, bool takeover);
/* The lock goes, the state stays. NULL is fine. */
void durable_close(struct durable *d);
const char *durable_dir(const struct durable *d); /* absolute */
/* Process that watches with this directory; 0: none. */
pid_t durable_owner(const char *dir);

/* What an earlier run of this boot left; NULL: nothing that can be used (of another boot or
 * version, or damaged: that was said). */
const struct durable_state *durable_state(const struct durable *d);
/* The state cannot be used after all: it goes, with its tape. */
void durable_discard(struct durable *d);
/* Each frame of the tape since the state. */
typedef void durable_frame_fn(void *ctx, const struct tape_frame *f);
int durable_replay(struct durable *d, durable_frame_fn *fn, void *ctx);
/* How far a ring had been read by the last of its frames, or by the state; 0: neither knows. */
uint64_t durable_ring_at(const struct durable *d, enum tape_source source);
/* The rings are other ones than those that were read. */
void durable_rings_anew(struct durable *d);

/* -errno: the frame is not on the tape, and the state is no longer whole until the next
 * durable_save(). */
int durable_append(struct durable *d, const struct tape_frame *f);
bool durable_whole(const struct durable *d);
uint64_t durable_tape_bytes(const struct durable *d); /* of this segment */
/* From here on the tape goes on from this state. Said once when it fails, and once when it works
 * again. */
int durable_save(struct durable *d, const struct durable_state *now);

#endif
