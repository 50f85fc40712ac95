/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/base/log.h"
#include "userspace/ingest/tape.h"

#define HEADER_BYTES 24
#define FRAME_BYTES  32

static char path[64];
static char said[1024];
static int lines;

static void keep_line(void *ctx, enum log_level level, const char *line)
{
	(void)ctx;
	(void)level;
	lines++;
	snprintf(said, sizeof(said), "%s", line);
}

static int setup(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "/tmp/gp-tape-test-XXXXXX");
	fd = mkstemp(path);
	lines = 0;
	said[0] = '\0';
	log_sink(keep_line, NULL);
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	log_sink(NULL, NULL);
	return unlink(path);
}

static const struct tape_frame frames[] = {
	{TAPE_USER, 0, 0, "12345678", 8},
	{TAPE_RING_LIFE, 100, 140, "abcdefghABCDEFGH", 16},
	{TAPE_RING_CALL, 7, 7, NULL, 0},
	{TAPE_RING_CALL, 1ull << 40, (1ull << 40) + 8, "!!!!!!!!", 8},
};
#define FRAMES (sizeof(frames) / sizeof(frames[0]))

static void write_frames(void)
{
	struct tape_writer *w;
	uint64_t bytes = HEADER_BYTES;
	struct stat st;

	assert_int_equal(tape_create(&w, path), 0);
	for (size_t i = 0; i < FRAMES; i++) {
		assert_int_equal(tape_append(w, &frames[i]), 0);
		bytes += FRAME_BYTES + frames[i].len;
		assert_int_equal(tape_bytes(w), bytes);
	}
	assert_int_equal(tape_close(w), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, bytes);
}

/* How many frames can be read, each checked against what was written. */
static size_t count_frames(struct tape_reader *r)
{
	struct tape_frame f;
	size_t count = 0;
	int more;

	while ((more = tape_next(r, &f)) == 1) {
		assert_true(count < FRAMES);
		assert_int_equal(f.source, frames[count].source);
		assert_int_equal(f.from, frames[count].from);
		assert_int_equal(f.to, frames[count].to);
		assert_int_equal(f.len, frames[count].len);
		assert_int_equal((uintptr_t)f.records % 8, 0);
		if (f.len)
			assert_memory_equal(f.records, frames[count].records, f.len);
		count++;
	}
	assert_int_equal(more, 0);
	assert_int_equal(tape_next(r, &f), 0); /* the end stays the end */
	return count;
}

static void test_round_trip(void **state)
{
	struct tape_reader *r;

	(void)state;
	write_frames();
	assert_int_equal(tape_open(&r, path), 0);
	assert_true(tape_progress(r) > 0 && tape_progress(r) < 0.5);
	assert_int_equal(count_frames(r), FRAMES);
	assert_true(tape_progress(r) == 1);
	tape_reader_close(r);
	assert_int_equal(lines, 0);
}

static void test_appends_nothing_odd(void **state)
{
	struct tape_frame odd = {TAPE_USER, 0, 0, "1234567", 7},
			  huge = {TAPE_USER, 0, 0, "", 1u << 30};
	struct tape_writer *w;

	(void)state;
	assert_int_equal(tape_create(&w, path), 0);
	assert_int_equal(tape_append(w, &odd), -EINVAL);
	assert_int_equal(tape_append(w, &huge), -EINVAL);
	assert_int_equal(tape_bytes(w), HEADER_BYTES);
	assert_int_equal(tape_close(w), 0);
	assert_int_equal(tape_close(NULL), 0);
}

/* Cut anywhere: the whole frames before the cut, one message unless the cut is between frames. */
static void test_torn_tail(void **state)
{
	size_t whole, at, expect;
	struct tape_reader *r;
	struct stat st;

	(void)state;
	write_frames();
	assert_int_equal(stat(path, &st), 0);
	for (off_t size = st.st_size; size >= HEADER_BYTES; size--) {
		assert_int_equal(truncate(path, size), 0);
		for (expect = whole = 0, at = HEADER_BYTES; at <= (size_t)size && expect < FRAMES;
		     expect++) {
			whole = at;
			at += FRAME_BYTES + frames[expect].len;
		}
		if (at <= (size_t)size)
			whole = at;
		else
			expect--;
		lines = 0;
		assert_int_equal(tape_open(&r, path), 0);
		assert_int_equal(count_frames(r), expect);
		tape_reader_close(r);
		assert_int_equal(lines, whole != (size_t)size);
		if (lines)
			assert_non_null(strstr(said, "the last frame is incomplete; ignoring"));
	}
	for (off_t size = HEADER_BYTES - 1; size >= 0; size--) {
		assert_int_equal(truncate(path, size), 0);
		assert_int_equal(tape_open(&r, path), -EBADMSG);
	}
	assert_non_null(strstr(said, "not a tape"));
}

static void flip(off_t at, unsigned char bits)
{
	int fd = open(path, O_RDWR);
	unsigned char c;

	assert_int_equal(pread(fd, &c, 1, at), 1);
	c ^= bits;
	assert_int_equal(pwrite(fd, &c, 1, at), 1);
	close(fd);
}

/* Any byte changed: never a wrong frame, and always a word about it. */
static void test_damage(void **state)
{
	struct tape_reader *r;
	struct stat st;

	(void)state;
	write_frames();
	assert_int_equal(stat(path, &st), 0);
	for (off_t at = 0; at < st.st_size; at++) {
		flip(at, 0x81);
		lines = 0;
		if (at < HEADER_BYTES) {
			assert_int_equal(tape_open(&r, path), -EBADMSG);
		} else {
			assert_int_equal(tape_open(&r, path), 0);
			assert_true(count_frames(r) < FRAMES);
			tape_reader_close(r);
		}
		assert_int_equal(lines, 1);
		flip(at, 0x81);
	}
}

static uint32_t crc_of(const unsigned char *p, size_t len)
{
	uint32_t crc = ~0u;

	while (len--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static void test_other_versions(void **state)
{
	unsigned char header[HEADER_BYTES];
	struct tape_reader *r;
	uint32_t crc;

	(void)state;
	for (int field = 8; field <= 12; field += 4) {
		int fd;

		write_frames();
		fd = open(path, O_RDWR);
		assert_int_equal(pread(fd, header, sizeof(header), 0), sizeof(header));
		header[field]++;
		crc = crc_of(header, 20);
		memcpy(header + 20, &crc, 4);
		assert_int_equal(pwrite(fd, header, sizeof(header), 0), sizeof(header));
		close(fd);
		lines = 0;
		assert_int_equal(tape_open(&r, path), -EPROTO);
		assert_int_equal(lines, 1);
		assert_non_null(strstr(said, "this gp-bpf reads format 1"));
	}
}

static void test_no_such_file(void **state)
{
	struct tape_reader *r;
	struct tape_writer *w;

	(void)state;
	assert_int_equal(tape_open(&r, "/nonexistent/tape"), -ENOENT);
	assert_string_equal(
		said, "gp-bpf: cannot open tape /nonexistent/tape: No such file or directory");
	assert_int_equal(tape_create(&w, "/nonexistent/tape"), -ENOENT);
	assert_non_null(strstr(said, "cannot create tape"));
	assert_int_equal(tape_open(&r, "/"), -EISDIR);
	assert_int_equal(lines, 3);
}

/* A frame larger than the reader's buffer, through a pipe that gives a little at a time. */
static void test_pipe(void **state)
{
	size_t len = 1u << 20;
	char *records = malloc(len);
	struct tape_frame f = {TAPE_RING_CALL, 1, 2, records, len};
	int pipe_fd[2], saved = dup(STDIN_FILENO), status;
	struct tape_reader *r;
	struct tape_writer *w;
	pid_t child;

	(void)state;
	for (size_t i = 0; i < len; i++)
		records[i] = (char)(i * 31);
	assert_int_equal(pipe(pipe_fd), 0);
	child = fork();
	if (!child) {
		dup2(pipe_fd[1], STDOUT_FILENO);
		close(pipe_fd[0]);
		close(pipe_fd[1]);
		fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK); /* a full pipe is waited for */
		_exit(tape_create(&w, "-") || tape_append(w, &f) || tape_append(w, &frames[0]) ||
		      tape_close(w));
	}
	close(pipe_fd[1]);
	dup2(pipe_fd[0], STDIN_FILENO);
	close(pipe_fd[0]);
	assert_int_equal(tape_open(&r, "-"), 0);
	assert_true(tape_progress(r) < 0);
	memset(&f, 0, sizeof(f));
	assert_int_equal(tape_next(r, &f), 1);
	assert_int_equal(f.len, len);
	assert_memory_equal(f.records, records, len);
	assert_int_equal(count_frames(r), 1);
	tape_reader_close(r);
	dup2(saved, STDIN_FILENO);
	close(saved);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	free(records);
}

/* A disk that fills up in the middle of a frame, then has room again. */
static void test_full_disk(void **state)
{
	struct rlimit before, limit;
	char big[4096] = "";
	struct tape_frame f = {TAPE_USER, 0, 0, big, sizeof(big)};
	struct tape_reader *r;
	struct tape_writer *w;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(tape_create(&w, path), 0);
	assert_int_equal(tape_append(w, &frames[0]), 0);
	assert_int_equal(tape_append(w, &frames[1]), 0);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = tape_bytes(w) + 100;
	setrlimit(RLIMIT_FSIZE, &limit);
	assert_int_equal(tape_append(w, &f), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(tape_append(w, &frames[2]), 0);
	assert_int_equal(tape_append(w, &frames[3]), 0);
	assert_int_equal(tape_close(w), 0);
	assert_int_equal(tape_open(&r, path), 0);
	assert_int_equal(count_frames(r), FRAMES);
	tape_reader_close(r);
	assert_int_equal(lines, 0);
	signal(SIGXFSZ, SIG_DFL);
}

/* Where a partial frame cannot be taken back, nothing may follow it: not even to a new reader. */
static void test_broken_pipe(void **state)
{
	struct tape_writer *w;
	int reader;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	assert_int_equal(tape_create(&w, path), 0);
	assert_int_equal(tape_append(w, &frames[0]), 0);
	close(reader);
	assert_int_equal(tape_append(w, &frames[1]), -EPIPE);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	assert_int_equal(tape_append(w, &frames[1]), -EPIPE);
	assert_int_equal(tape_bytes(w), HEADER_BYTES + FRAME_BYTES + frames[0].len);
	assert_int_equal(tape_close(w), -EPIPE);
	close(reader);
	assert_int_equal(tape_create(&w, "/dev/full"), -ENOSPC);
	signal(SIGPIPE, SIG_DFL);
}

/* The main loop writes tapes: neither opening one nor writing to one waits for a reader for
 * long. */
static void test_reader_that_does_not_read(void **state)
{
	static char records[1u << 20];
	const struct tape_frame f = {TAPE_RING_CALL, 1, 2, records, sizeof(records)};
	struct tape_writer *w;
	int reader, appended = 0, err = 0;

	(void)state;
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(tape_create(&w, path), -ENXIO);
	assert_int_equal(lines, 1);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	assert_int_equal(tape_create(&w, path), 0);
	tape_patience(w, 20);
	for (; !err && appended < 100; appended++)
		err = tape_append(w, &f);
	assert_int_equal(err, -ETIMEDOUT);
	assert_in_range(appended, 15, 17);
	assert_int_equal(tape_append(w, &frames[0]), -ETIMEDOUT); /* at once */
	assert_int_equal(tape_close(w), -ETIMEDOUT);
	close(reader);
	/* What waits at the end is waited for no longer. */
	reader = open(path, O_RDONLY | O_NONBLOCK);
	assert_int_equal(tape_create(&w, path), 0);
	tape_patience(w, 20);
	assert_int_equal(tape_append(w, &f), 0);
	assert_int_equal(tape_close(w), -ETIMEDOUT);
	close(reader);
}

/* A reader that is late gets the whole tape; no call before the end waits for it. */
static void test_reader_that_is_late(void **state)
{
	static char records[1u << 16], text[4096];
	const struct tape_frame f = {TAPE_RING_CALL, 1, 2, records, sizeof(records)};
	int begin[2], reader, status;
	size_t len = 0, whole;
	struct tape_writer *w;
	pid_t child;
	ssize_t n;

	(void)state;
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	assert_int_equal(tape_create(&w, path), 0);
	assert_int_equal(pipe(begin), 0);
	for (int i = 0; i < 50; i++)
		assert_int_equal(tape_append(w, &f), 0); /* nothing reads */
	whole = tape_bytes(w);
	assert_int_equal(whole, HEADER_BYTES + 50 * (FRAME_BYTES + sizeof(records)));
	child = fork();
	if (!child) {
		fcntl(reader, F_SETFL, 0);
		assert_int_equal(read(begin[0], text, 1), 1);
		while (len < whole && (n = read(reader, text, sizeof(text))) > 0)
			len += (size_t)n;
		_exit(len != whole);
	}
	close(reader);
	assert_int_equal(write(begin[1], "x", 1), 1);
	assert_int_equal(tape_close(w), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(begin[0]);
	close(begin[1]);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_round_trip),
		TEST(test_appends_nothing_odd),
		TEST(test_torn_tail),
		TEST(test_damage),
		TEST(test_other_versions),
		TEST(test_no_such_file),
		TEST(test_pipe),
		TEST(test_full_disk),
		TEST(test_broken_pipe),
		TEST(test_reader_that_does_not_read),
		TEST(test_reader_that_is_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
