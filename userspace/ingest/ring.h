/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h - reads a BPF ring buffer. The caller can save a batch of records before the kernel may
 * overwrite them, so that nothing is lost if this process is killed in between. (libbpf's reader
 * releases the records before its caller has them.) The layout is defined in kernel/bpf/ringbuf.c
 * and include/uapi/linux/bpf.h of Linux (BPF_RINGBUF_BUSY_BIT, _DISCARD_BIT, _HDR_SZ). */
#ifndef INGEST_RING_H
#define INGEST_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

struct ring;

int ring_open(struct ring **ret, int map_fd, size_t bytes); /* map_fd is borrowed */
/* For tests: reads a ring in memory that has the layout of the kernel's, with the data mapped twice
 * in a row. */
int ring_over(struct ring **ret, uint64_t *consumer, const uint64_t *producer, const void *data,
	      size_t bytes);
void ring_close(struct ring *r);

/* Appends the available records to out, each padded to a multiple of 8 bytes: at most max_bytes,
 * but at least one record. Returns the number of bytes added, or -errno. *ret_busy: reading stopped
 * at a record that is still being written, so the ring may not be empty.
 *
 * The records, even discarded ones, stay in the ring until ring_advance(), because a reader that
 * continues from a tape needs their positions. A record whose gp_rec.len differs from its length in
 * the ring is replaced by a header of kind 0. */
long ring_peek(struct ring *r, struct buffer *out, size_t max_bytes, bool *ret_busy);
/* Returns the positions before and after the records of the last ring_peek(). They are saved in a
 * tape frame. */
void ring_position(const struct ring *r, uint64_t *ret_from, uint64_t *ret_to);
/* Releases the records of the last ring_peek() to the kernel. Call after the records were saved. */
void ring_advance(struct ring *r);
/* Returns the position of the next record to read. */
uint64_t ring_at(const struct ring *r);
/* Moves the reading position to pos, if an earlier process read the bytes before pos without
 * releasing them. Returns 0, or -EINVAL if pos is before the current position or after the end. */
int ring_skip(struct ring *r, uint64_t pos);
/* Returns the number of bytes available for reading. */
size_t ring_pending(const struct ring *r);

#endif
