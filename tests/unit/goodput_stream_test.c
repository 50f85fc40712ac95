/* SPDX-License-Identifier: Apache-2.0 */
/* Logs that are long, and that come through a pipe: the same records, and no more memory. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/base/buffer.h"
#include "userspace/base/hash.h"
#include "userspace/ingest/goodput_source.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0 /* memory is this program's alone, and it is as fast as it will be */
#endif

struct outcome {
	uint64_t records, hash;
	struct goodput_faults faults;
};

static uint64_t seed = 0x9e3779b97f4a7c15ull;

/* xorshift64 (Marsaglia, 2003) */
static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static struct outcome outcome_of(char *path)
{
	struct outcome o = {.hash = HASH_START};
	struct goodput_source *s;
	struct goodput_record r;
	int rc;

	assert_int_equal(goodput_source_open(&s, &path, 1, false), 0);
	while ((rc = goodput_source_next(s, &r)) > 0 || rc == -EAGAIN) {
		if (rc < 0)
			continue;
		o.records++;
		o.hash = hash_word(hash_word(hash_word(o.hash, (uint64_t)r.time_us), r.kind),
				   (uint64_t)r.number);
		o.hash = hash_word(hash_word(o.hash, (uint64_t)r.write_us), r.job);
	}
	assert_int_equal(rc, 0);
	goodput_source_faults(s, &o.faults);
	goodput_source_close(s);
	return o;
}

/* What write_all(ctx, fd) writes, through standard input, which somebody made non-blocking. */
static struct outcome outcome_piped(void (*write_all)(const void *ctx, int fd), const void *ctx)
{
	static char dash[] = "-";
	int ends[2], kept = dup(STDIN_FILENO), status;
	struct outcome o;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	pid = fork();
	if (!pid) {
		close(ends[0]);
		write_all(ctx, ends[1]);
		_exit(0);
	}
	assert_true(pid > 0);
	close(ends[1]);
	assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
	close(ends[0]);
	o = outcome_of(dash);
	assert_true(dup2(kept, STDIN_FILENO) >= 0);
	close(kept);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return o;
}

static void write_whole(int fd, const char *data, size_t len)
{
	for (ssize_t n; len; data += n, len -= (size_t)n) {
		n = write(fd, data, len);
		if (n <= 0)
			_exit(1);
	}
}

static void write_pieces(const void *ctx, int fd)
{
	const struct buffer *text = ctx;

	for (size_t at = 0, n; at < text->len; at += n) {
		n = draw(16) ? 1 + draw(5000) : 1 + draw(200000);
		n = n < text->len - at ? n : text->len - at;
		write_whole(fd, text->data + at, n);
	}
}

static void add_long(struct buffer *b, size_t len)
{
	char *to = buffer_reserve(b, len);

	assert_non_null(to);
	memset(to, 'x', len);
	b->len += len;
}

/* Of everything something. */
static void add_entry(struct buffer *b, unsigned int n)
{
	switch (draw(64)) {
	case 0:
		buffer_printf(b, "{\"message\":\"");
		add_long(b, draw(GOODPUT_ENTRY_MAX - 100));
		buffer_printf(b, "\"}\n");
		break;
	case 1:
		buffer_printf(b, "{\"message\":\"");
		add_long(b, draw(4) ? draw(1000) : GOODPUT_ENTRY_MAX);
		buffer_printf(b, "\n");
		break;
	case 2:
		buffer_printf(b, "{\n  \"job_end_time\":\n    %u.5\n}\n", n);
		break;
	case 3:
		buffer_printf(
			b,
			"[{\"job_start_time\":%u},{\"job_name\":\"k\",\"tpu_init_end_time\":%u}]\n",
			n, n);
		break;
	case 4:
		buffer_printf(b, "{\"job_name\":\"k\",\"step_count\":%u,\n", n);
		break;
	default:
		buffer_printf(
			b, "{\"job_name\":\"j\",\"step_count\":%u,\"step_start_time\":%u.%06u}\n",
			n, n, (unsigned int)draw(1000000));
		break;
	}
}

static void through_a_pipe(void **state)
{
	char path[] = "/tmp/gp-goodput-test-XXXXXX";
	struct outcome file, pipe;
	struct buffer text = {0};
	int fd = mkstemp(path);

	(void)state;
	for (unsigned int n = 0; n < 2000; n++)
		add_entry(&text, n);
	assert_false(text.failed);
	assert_true(fd >= 0);
	write_whole(fd, text.data, text.len);
	close(fd);
	file = outcome_of(path);
	pipe = outcome_piped(write_pieces, &text);
	unlink(path);
	buffer_free(&text);
	assert_true(file.records > 1800 && file.faults.bad > 10 && file.faults.foreign > 10);
	assert_int_equal(file.records, pipe.records);
	assert_int_equal(file.hash, pipe.hash);
	assert_int_equal(file.faults.bad, pipe.faults.bad);
	assert_int_equal(file.faults.entries, pipe.faults.entries);
	assert_int_equal(file.faults.foreign, pipe.faults.foreign);
}

#define BLOCK_STEPS   10000
#define STREAM_BLOCKS (SANITIZED ? 40 : 430)

static void write_stream(const void *ctx, int fd)
{
	struct buffer block = {0};

	(void)ctx;
	for (unsigned int n = 0; n < BLOCK_STEPS; n++)
		buffer_printf(
			&block,
			"{\"job_name\":\"job\",\"step_count\":%u,\"step_start_time\":1735725600.%06u}\n",
			n, n);
	buffer_printf(&block, "{\"message\":\"");
	add_long(&block, GOODPUT_ENTRY_MAX / 16);
	buffer_printf(&block, "\"}\n");
	for (int i = 0; i < STREAM_BLOCKS; i++)
		write_whole(fd, block.data, block.len);
	buffer_free(&block);
}

static long memory_most_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	long kib = -1;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "VmHWM: %ld", &kib);
	fclose(f);
	return kib;
}

/* 300 MB. */
static void memory_is_bounded(void **state)
{
	long before = memory_most_kib();
	struct outcome o = outcome_piped(write_stream, NULL);

	(void)state;
	assert_int_equal(o.records, (uint64_t)BLOCK_STEPS * STREAM_BLOCKS);
	assert_int_equal(o.faults.foreign, STREAM_BLOCKS);
	if (!SANITIZED)
		assert_in_range(memory_most_kib() - before, 0, 4096);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_bounded), /* before others have taken memory */
		cmocka_unit_test(through_a_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
