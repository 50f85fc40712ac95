/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h - reads a BPF ring buffer, and lets the caller save a batch before the kernel may
 * overwrite it: kill -9 between the two loses nothing (libbpf's reader advances first). Layout:
 * kernel/bpf/ringbuf.c and include/uapi/linux/bpf.h of Linux (BPF_RINGBUF_BUSY_BIT, _DISCARD_BIT,
 * _HDR_SZ). */
#ifndef INGEST_RING_H
#define INGEST_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

struct ring;

int ring_open(struct ring **ret, int map_fd, size_t bytes); /* map_fd remains the caller's */
/* For tests: reads memory laid out as by the kernel, with the data mapped twice in a row. */
int ring_over(struct ring **ret, uint64_t *consumer, const uint64_t *producer, const void *data,
	      size_t bytes);
void ring_close(struct ring *r);

/* Appends the available records to out: at most max_bytes (but at least one record), back to back,
 * each padded to 8. Returns bytes added or -errno. *ret_busy: reading stopped at a record that is
 * still being written, so the ring may not be empty. Consumes nothing, not even discarded records,
 * because a reader that continues from a tape must count them too. A record whose gp_rec.len
 * differs from its length in the ring becomes a bare header of kind 0. */
long ring_peek(struct ring *r, struct buffer *out, size_t max_bytes, bool *ret_busy);
/* Position before and after the last peek, to be saved in a tape frame. */
void ring_position(const struct ring *r, uint64_t *ret_from, uint64_t *ret_to);
/* Lets the kernel overwrite the records of the last peek. Call when they are saved. */
void ring_advance(struct ring *r);
/* Returns the reader's position. */
uint64_t ring_at(const struct ring *r);
/* Skips to pos, because a predecessor read the bytes before it without advancing. Returns 0 or
 * -EINVAL: pos is before the reader, or after the end. */
int ring_skip(struct ring *r, uint64_t pos);
/* Returns the number of bytes that can be read now. */
size_t ring_pending(const struct ring *r);

#endif
