/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/ingest/event.h"
#include "userspace/ingest/ring.h"

#define RING_BYTES 4096

/* A ring laid out as the kernel does, and the kernel's side of it. */
struct fake {
	struct ring *ring;
	uint64_t consumer, producer;
	char *data;
	struct buffer out;
};

static void fake_setup(struct fake *f, uint64_t at)
{
	int fd = memfd_create("ring", 0);

	*f = (struct fake){.consumer = at, .producer = at};
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, RING_BYTES), 0);
	f->data = mmap(NULL, 2 * RING_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(f->data != MAP_FAILED);
	for (int i = 0; i < 2; i++)
		assert_true(mmap(f->data + i * RING_BYTES, RING_BYTES, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED);
	close(fd);
	assert_int_equal(ring_over(&f->ring, &f->consumer, &f->producer, f->data, RING_BYTES), 0);
}

static void fake_teardown(struct fake *f)
{
	ring_close(f->ring);
	munmap(f->data, 2 * RING_BYTES);
	buffer_free(&f->out);
}

static char *fake_reserve(struct fake *f, uint32_t len, uint32_t bits)
{
	char *at = f->data + f->producer % RING_BYTES;
	uint32_t header[2] = {len | bits, 0};

	memcpy(at, header, sizeof(header));
	f->producer += 8 + (len + 7) / 8 * 8;
	return at + 8;
}

static void fake_hit(struct fake *f, uint64_t ts_ns, uint32_t bits)
{
	event_init(fake_reserve(f, (uint32_t)event_length(GP_KIND_hit), bits), GP_KIND_hit, ts_ns,
		   1, 1);
}

static const struct gp_rec *peeked(const struct fake *f, size_t at)
{
	return (const void *)(f->out.data + at);
}

static void test_reads_and_advances(void **state)
{
	size_t len = event_length(GP_KIND_hit);
	uint64_t from, to;
	struct fake f;
	bool busy = true;

	(void)state;
	/* Positions of a ring in use, the record across the end of the data included. */
	fake_setup(&f, 10 * RING_BYTES - 16);
	assert_int_equal(ring_peek(f.ring, &f.out, 1 << 20, &busy), 0);
	assert_false(busy);
	fake_hit(&f, 1, 0);
	fake_hit(&f, 2, 0);
	assert_int_equal(ring_pending(f.ring), 2 * (len + 8));
	assert_int_equal(ring_peek(f.ring, &f.out, 1 << 20, &busy), 2 * len);
	assert_int_equal(f.consumer, 10 * RING_BYTES - 16); /* nothing is consumed yet */
	assert_int_equal(peeked(&f, 0)->ts_ns, 1);
	assert_int_equal(peeked(&f, len)->ts_ns, 2);
	ring_position(f.ring, &from, &to);
	assert_int_equal(from, 10 * RING_BYTES - 16);
	assert_int_equal(to, f.producer);
	buffer_clear(&f.out);
	assert_int_equal(ring_peek(f.ring, &f.out, 1 << 20, &busy), 2 * len); /* the same again */
	ring_advance(f.ring);
	assert_int_equal(f.consumer, f.producer);
	assert_int_equal(ring_pending(f.ring), 0);
	fake_teardown(&f);
}

static void test_stops_at_busy(void **state)
{
	size_t len = event_length(GP_KIND_hit);
	bool busy = false;
	struct fake f;
	char *second;

	(void)state;
	fake_setup(&f, 0);
	fake_hit(&f, 1, 0);
	second = f.data + f.producer;
	fake_hit(&f, 2, BPF_RINGBUF_BUSY_BIT);
	fake_hit(&f, 3, 0);
	assert_int_equal(ring_peek(f.ring, &f.out, 1 << 20, &busy), len);
	assert_true(busy);
	ring_advance(f.ring);
	buffer_clear(&f.out);
	assert_int_equal(ring_peek(f.ring, &f.out, 1 << 20, &busy), 0);
	assert_true(busy);
	*(uint32_t *)(void *)second &= ~BPF_RINGBUF_BUSY_BIT;
	assert_int_equal(ring_peek(f.ring, &f.out, 1 << 20, &busy), 2 * len);
	assert_false(busy);
	assert_int_equal(peeked(&f, 0)->ts_ns, 2);
	fake_teardown(&f);
}

static void test_skips_discarded(void **state)
{
	size_t len = event_length(GP_KIND_hit);
	uint64_t from, to;
	struct fake f;
	bool busy;

	(void)state;
	fake_setup(&f, 0);
	fake_hit(&f, 1, BPF_RINGBUF_DISCARD_BIT);
	assert_int_equal(ring_peek(f.ring, &f.out, 1 << 20, &busy), 0);
	ring_position(f.ring, &from,
		      &to); /* nothing is in it, and that it was read is to be kept all the same */
	assert_int_equal(from, f.consumer);
	assert_int_equal(to, f.producer);
	assert_int_not_equal(from, to);
	ring_advance(f.ring);
	assert_int_equal(f.consumer, f.producer);
	fake_hit(&f, 2, 0);
	fake_hit(&f, 3, BPF_RINGBUF_DISCARD_BIT);
	fake_hit(&f, 4, 0);
	assert_int_equal(ring_peek(f.ring, &f.out, 1 << 20, &busy), 2 * len);
	assert_int_equal(peeked(&f, len)->ts_ns, 4);
	fake_teardown(&f);
}

static void test_bounds_a_batch(void **state)
{
	size_t len = event_length(GP_KIND_hit);
	struct fake f;
	bool busy;

	(void)state;
	fake_setup(&f, 0);
	for (uint64_t i = 0; i < 5; i++)
		fake_hit(&f, i, 0);
	assert_int_equal(ring_peek(f.ring, &f.out, 2 * len + 7, &busy), 2 * len);
	ring_advance(f.ring);
	assert_int_equal(ring_peek(f.ring, &f.out, 1, &busy), len); /* one always goes */
	ring_advance(f.ring);
	assert_int_equal(ring_pending(f.ring), 2 * (len + 8));
	assert_int_equal(f.out.len, 3 * len); /* appended to what was there */
	assert_int_equal(peeked(&f, 2 * len)->ts_ns, 2);
	fake_teardown(&f);
}

static void test_untrusted_lengths(void **state)
{
	struct gp_rec *rec;
	struct event ev;
	struct fake f;
	bool busy;

	(void)state;
	fake_setup(&f, 0);
	fake_reserve(&f, 0, 0);
	memset(fake_reserve(&f, 3, 0), 0xff, 3);
	rec = (void *)fake_reserve(&f, 100, 0);
	memset(rec, 0xff, 100);
	fake_hit(&f, 7, 0);
	/* Three records that say nothing, each in a place of its own, and the good one behind
	 * them. */
	assert_int_equal(ring_peek(f.ring, &f.out, 1 << 20, &busy),
			 3 * sizeof(struct gp_rec) + event_length(GP_KIND_hit));
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(peeked(&f, i * sizeof(*rec))->len, sizeof(*rec));
		assert_int_equal(event_decode(peeked(&f, i * sizeof(*rec)), sizeof(*rec), &ev),
				 -EBADMSG);
	}
	assert_int_equal(peeked(&f, 3 * sizeof(*rec))->ts_ns, 7);
	ring_advance(f.ring);

	/* A record whose own length is right but no multiple of 8 is padded with zeros. */
	rec = (void *)fake_reserve(&f, 29, 0);
	memset(rec, 0xff, 32);
	rec->len = 29;
	buffer_clear(&f.out);
	assert_int_equal(ring_peek(f.ring, &f.out, 1 << 20, &busy), 32);
	assert_memory_equal(f.out.data + 28, "\xff\0\0", 4);
	ring_advance(f.ring);

	/* A record that would reach beyond what was written, and a ring that holds more than it
	 * can. */
	fake_reserve(&f, 64, 0);
	f.producer -= 8;
	assert_int_equal(ring_peek(f.ring, &f.out, 1 << 20, &busy), -EBADMSG);
	f.producer = f.consumer + RING_BYTES + 8;
	assert_int_equal(ring_peek(f.ring, &f.out, 1 << 20, &busy), -EBADMSG);
	f.producer = f.consumer;
	fake_teardown(&f);
}

static void test_runs_round(void **state)
{
	uint64_t written = 0, read_count = 0;
	size_t len = event_length(GP_KIND_hit);
	struct fake f;
	bool busy;
	long n;

	(void)state;
	fake_setup(&f, UINT64_MAX / 2 / 8 * 8);
	for (int round = 0; round < 500; round++) {
		while (f.producer - f.consumer + len + 8 <= RING_BYTES)
			fake_hit(&f, written++, 0);
		n = ring_peek(f.ring, &f.out, (size_t)(round % 7 + 1) * 100, &busy);
		assert_true(n > 0 && n % (long)len == 0);
		for (size_t at = 0; at < (size_t)n; at += len)
			assert_int_equal(peeked(&f, at)->ts_ns, read_count++);
		buffer_clear(&f.out);
		ring_advance(f.ring);
	}
	assert_true(read_count > 500);
	fake_teardown(&f);
}

#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})

/* The smallest program that writes a hit (of stamp 77) to the ring: any type may, so a socket
 * filter. */
static int load_writer(int map_fd)
{
	int len = (int)event_length(GP_KIND_hit);
	struct bpf_insn insns[32];
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER};
	int n = 0;

	for (int at = 0; at < len; at += 8)
		insns[n++] = INSN(BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, (short)(at - len),
				  at == 0    ? 77
				  : at == 16 ? len | GP_KIND_hit << 16
					     : 0);
	insns[n++] = INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map_fd);
	insns[n++] = INSN(0, 0, 0, 0, 0);
	insns[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0);
	insns[n++] = INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -len);
	insns[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, len);
	insns[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_4, 0, 0, BPF_RB_NO_WAKEUP);
	insns[n++] = INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_output);
	insns[n++] = INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = (__u32)n;
	attr.license = (uintptr_t) "GPL";
	return (int)syscall(__NR_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

/* The same against the kernel's own ring, round its end several times. */
static void test_kernel_ring(void **state)
{
	size_t len = event_length(GP_KIND_hit), bytes = (size_t)sysconf(_SC_PAGESIZE),
	       read_count = 0;
	union bpf_attr map = {.map_type = BPF_MAP_TYPE_RINGBUF, .max_entries = (__u32)bytes};
	int map_fd = (int)syscall(__NR_bpf, BPF_MAP_CREATE, &map, sizeof(map)), prog_fd;
	union bpf_attr once = {0};
	struct buffer out = {0};
	struct ring *r = NULL;
	char packet[64] = "";
	bool busy;
	long n;

	(void)state;
	if (map_fd < 0) {
		print_message("SKIP: no BPF ring can be made here: %s\n", strerror(errno));
		skip();
	}
	prog_fd = load_writer(map_fd);
	assert_true(prog_fd >= 0);
	once.test.prog_fd = (__u32)prog_fd;
	once.test.data_in = (uintptr_t)packet;
	once.test.data_size_in = sizeof(packet);
	once.test.data_out = (uintptr_t)packet;
	once.test.data_size_out = sizeof(packet);
	once.test.repeat = 50;
	assert_int_equal(ring_open(&r, map_fd, bytes), 0);
	for (int round = 0; round < 10; round++) {
		assert_int_equal(syscall(__NR_bpf, BPF_PROG_TEST_RUN, &once, sizeof(once)), 0);
		assert_int_equal(ring_pending(r), 50 * (len + 8));
		n = ring_peek(r, &out, 1 << 20, &busy);
		assert_int_equal(n, 50 * len);
		assert_false(busy);
		for (size_t at = 0; at < (size_t)n; at += len, read_count++)
			assert_int_equal(((struct gp_rec *)(void *)(out.data + at))->ts_ns, 77);
		buffer_clear(&out);
		ring_advance(r);
	}
	assert_int_equal(read_count, 500);
	ring_close(r);
	buffer_free(&out);
	close(prog_fd);
	close(map_fd);
}

static void test_refuses_bad_size(void **state)
{
	struct ring *r;
	uint64_t position = 0;

	(void)state;
	assert_int_equal(ring_over(&r, &position, &position, &position, 0), -EINVAL);
	assert_int_equal(ring_over(&r, &position, &position, &position, 4097), -EINVAL);
	assert_int_equal(ring_open(&r, -1, 4096), -EBADF);
	assert_int_equal(ring_open(&r, -1, 100), -EINVAL);
	ring_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_and_advances), cmocka_unit_test(test_stops_at_busy),
		cmocka_unit_test(test_skips_discarded),	   cmocka_unit_test(test_bounds_a_batch),
		cmocka_unit_test(test_untrusted_lengths),  cmocka_unit_test(test_runs_round),
		cmocka_unit_test(test_kernel_ring),	   cmocka_unit_test(test_refuses_bad_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
