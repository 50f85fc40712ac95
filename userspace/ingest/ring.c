/* SPDX-License-Identifier: Apache-2.0 */
/* ring.c - copies records out of the ring buffers that BPF programs fill. */
#include "userspace/ingest/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/gp_abi.h"

#define RING_LENGTH(header) ((header) & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT))
#define RING_ROUND_UP(len)  (((size_t)(len) + 7) & ~(size_t)7)

struct ring {
	uint64_t *consumer;
	const uint64_t *producer;
	/* The ring's data, mapped twice in a row, so that a record that wraps around the end is
	 * contiguous. */
	const char *data;
	size_t size;
	uint64_t from, to;
	/* Mappings to remove; NULL: the memory belongs to the caller of ring_over(). */
	void *maps[2];
	size_t map_bytes[2];
};

int ring_over(struct ring **ret, uint64_t *consumer, const uint64_t *producer, const void *data,
	      size_t bytes)
{
	struct ring *r;

	if (!bytes || bytes & (bytes - 1))
		return -EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->consumer = consumer;
	r->producer = producer;
	r->data = data;
	r->size = bytes;
	r->from = r->to = *consumer;
	*ret = r;
	return 0;
}

int ring_open(struct ring **ret, int map_fd, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *consumer, *producer = MAP_FAILED;
	int err;

	if (bytes % page || bytes > SIZE_MAX / 4)
		return -EINVAL;
	/* The kernel allows writing only to the page that contains the consumer's position
	 * (kernel/bpf/ringbuf.c, ringbuf_map_mmap_kern). */
	consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (consumer == MAP_FAILED)
		return -errno;
	producer = mmap(NULL, page + 2 * bytes, PROT_READ, MAP_SHARED, map_fd, (off_t)page);
	if (producer == MAP_FAILED) {
		err = -errno;
		goto fail;
	}
	err = ring_over(ret, consumer, producer, (const char *)producer + page, bytes);
	if (err)
		goto fail;
	/* Child processes must not inherit the mappings: a child that runs longer than this process
	 * would keep the ring in memory. */
	madvise(consumer, page, MADV_DONTFORK);
	madvise(producer, page + 2 * bytes, MADV_DONTFORK);
	(*ret)->maps[0] = consumer;
	(*ret)->map_bytes[0] = page;
	(*ret)->maps[1] = producer;
	(*ret)->map_bytes[1] = page + 2 * bytes;
	return 0;
fail:
	if (producer != MAP_FAILED)
		munmap(producer, page + 2 * bytes);
	munmap(consumer, page);
	return err;
}

void ring_close(struct ring *r)
{
	if (!r)
		return;
	for (int i = 0; i < 2; i++) {
		if (r->maps[i])
			munmap(r->maps[i], r->map_bytes[i]);
	}
	free(r);
}

/* Copies one record. If the length in its header differs from its length in the ring, copies only a
 * header of kind 0. The decoder rejects and counts this record, and still finds the records after
 * it. */
static int ring_copy(struct buffer *out, const char *record, uint32_t len)
{
	const struct gp_rec nothing = {.len = sizeof(nothing)};
	const struct gp_rec *rec = (const void *)record;
	bool sound = len >= sizeof(*rec) && rec->len == len;
	size_t padded = RING_ROUND_UP(sound ? len : sizeof(nothing));
	char *to = buffer_reserve(out, padded);

	if (!to)
		return -ENOMEM;
	memset(to + padded - 8, 0, 8);
	memcpy(to, sound ? record : (const char *)&nothing, sound ? len : sizeof(nothing));
	out->len += padded;
	return 0;
}

long ring_peek(struct ring *r, struct buffer *out, size_t max_bytes, bool *ret_busy)
{
	uint64_t at = *r->consumer, end = __atomic_load_n(r->producer, __ATOMIC_ACQUIRE);
	size_t start = out->len;
	bool busy = false;
	uint32_t header, len;
	int err = 0;
	const char *p;

	r->from = r->to = at;
	if (end - at > r->size)
		return -EBADMSG;
	while (at < end) {
		p = r->data + (at & (r->size - 1));
		header = __atomic_load_n((const uint32_t *)(const void *)p, __ATOMIC_ACQUIRE);
		busy = header & BPF_RINGBUF_BUSY_BIT;
		len = RING_LENGTH(header);
		if (busy)
			break;
		if (BPF_RINGBUF_HDR_SZ + RING_ROUND_UP(len) > end - at) {
			err = -EBADMSG;
			break;
		}
		if (!(header & BPF_RINGBUF_DISCARD_BIT)) {
			/* Always copy the first record: otherwise a record larger than max_bytes
			 * would block the ring forever. */
			if (out->len > start && out->len - start + RING_ROUND_UP(len) > max_bytes)
				break;
			err = ring_copy(out, p + BPF_RINGBUF_HDR_SZ, len);
			if (err)
				break;
		}
		at += BPF_RINGBUF_HDR_SZ + RING_ROUND_UP(len);
	}
	if (err) {
		out->len = start;
		return err;
	}
	r->to = at;
	*ret_busy = busy;
	return (long)(out->len - start);
}

void ring_position(const struct ring *r, uint64_t *ret_from, uint64_t *ret_to)
{
	*ret_from = r->from;
	*ret_to = r->to;
}

void ring_advance(struct ring *r)
{
	if (r->to != r->from)
		__atomic_store_n(r->consumer, r->to, __ATOMIC_RELEASE);
	r->from = r->to;
}

uint64_t ring_at(const struct ring *r)
{
	return *r->consumer;
}

int ring_skip(struct ring *r, uint64_t pos)
{
	if (pos < *r->consumer || pos > __atomic_load_n(r->producer, __ATOMIC_ACQUIRE))
		return -EINVAL;
	r->from = *r->consumer;
	r->to = pos;
	ring_advance(r);
	return 0;
}

size_t ring_pending(const struct ring *r)
{
	return (size_t)(__atomic_load_n(r->producer, __ATOMIC_ACQUIRE) - *r->consumer);
}
