/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h - reader of a BPF ring buffer that lets the caller keep a batch before the kernel may
 * reuse it: kill -9 between the two loses nothing (libbpf's reader advances first). Layout: kernel
 * kernel/bpf/ringbuf.c, include/uapi/linux/bpf.h (BPF_RINGBUF_BUSY_BIT, _DISCARD_BIT, _HDR_SZ). */
#ifndef INGEST_RING_H
#define INGEST_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

struct ring;

int ring_open(struct ring **ret, int map_fd, size_t bytes); /* fd stays the caller's */
/* Over memory that the caller has laid out as the kernel does, data mapped twice in a row: for
 * tests. */
int ring_over(struct ring **ret, uint64_t *consumer, const uint64_t *producer, const void *data,
	      size_t bytes);
void ring_close(struct ring *r);

/* Copies what is ready, at most max_bytes of records (but at least one; each 8-aligned, back to
 * back, gp_rec.len rounded up to 8), to the end of out. Returns bytes added or -errno. *ret_busy:
 * stopped at a record that is still being written, so the ring is not known to be drained. Nothing
 * is consumed yet, not even where all was discarded and nothing is copied: who reads on from a tape
 * must know of that too. A record whose gp_rec.len is not its length in the ring is handed on as a
 * bare header of kind 0. */
long ring_peek(struct ring *r, struct buffer *out, size_t max_bytes, bool *ret_busy);
/* Position before and after the last peek: what a tape frame remembers. */
void ring_position(const struct ring *r, uint64_t *ret_from, uint64_t *ret_to);
/* The last peek is safe: the kernel may reuse it. */
void ring_advance(struct ring *r);
/* Where the reader stands. */
uint64_t ring_at(const struct ring *r);
/* What lies before pos was read by a predecessor who could not say so any more. -EINVAL: pos is not
 * ahead of the reader, or not there yet. */
int ring_skip(struct ring *r, uint64_t pos);
/* Bytes waiting now. */
size_t ring_pending(const struct ring *r);

#endif
