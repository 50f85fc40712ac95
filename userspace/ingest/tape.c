/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/file.h"
#include "userspace/ingest/tape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zlib.h>

#include "bpf/gp_abi.h"
#include "userspace/base/buffer.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/path.h"

#define TAPE_FORMAT	1
#define TAPE_BYTE_ORDER 0x01020304u
/* Limit of bytes of records in a frame. A header with a larger length is damaged. */
#define TAPE_FRAME_MAX	(64u << 20)
#define TAPE_READ_BYTES (256u << 10)
/* Limit of bytes that wait in memory for the reader of a pipe. */
#define TAPE_LATE_MAX (16u << 20)
/* If the buffer for the reader of a pipe is larger than this, it is freed when it is empty. */
#define TAPE_LATE_KEPT (1u << 20)
/* Limit of the time to wait for the reader of a pipe when the buffer is full. After it, the tape
 * ends. */
#define TAPE_WAIT_MS 500
/* Limit of the time that tape_close() waits for the reader of a pipe while it reads nothing. */
#define TAPE_END_MS 10000
#define NS_PER_MS   1000000ull
/* Limit of the time to wait until a process opens the FIFO for reading. */
#define FIFO_WAIT_MS 1000

static const char tape_magic[8] = "GPBPFTP\1";

struct tape_header {
	char magic[8];
	uint32_t format;
	uint32_t abi;
	uint32_t byte_order;
	uint32_t crc; /* checksum of the members before this one */
};

struct frame_header {
	uint32_t len; /* bytes of the records */
	uint32_t crc; /* checksum of the members after this one and of the records */
	uint16_t source;
	uint16_t reserved[3];
	uint64_t from, to;
};

/* The headers have multiples of 8 bytes, so that records stay aligned in the reader's buffer. */
_Static_assert(sizeof(struct tape_header) == 24, "on disk");
_Static_assert(sizeof(struct frame_header) == 32, "on disk");

struct tape_writer {
	int fd;
	int err; /* error of the last write */
	/* A partly written frame could not be removed: nothing can be written after it. */
	bool broken;
	bool regular; /* the tape is a regular file: a partly written frame can be removed */
	int wait_ms;
	int end_ms;
	/* Bytes for the reader of a pipe. The first `written` of them were written, the others
	 * wait. */
	struct buffer late;
	size_t written;
	off_t base; /* file offset at which the tape begins */
	/* size of the tape: its header and all complete frames, including frames that wait */
	uint64_t bytes;
};

struct tape_reader {
	int fd;
	char *path;
	char *buf;
	/* start, end: bytes of buf that were read from the file and are not used yet */
	size_t start, end, cap;
	uint64_t offset; /* offset of `start` on the tape */
	uint64_t size;	 /* 0: unknown */
	bool eof;
};

static uint32_t tape_frame_crc(const struct frame_header *h, const void *records, size_t len)
{
	const size_t skip = offsetof(struct frame_header, source);
	uLong crc = crc32(0, (const Bytef *)h + skip, sizeof(*h) - skip);

	/* do not pass NULL to crc32(): it would return the initial checksum */
	return (uint32_t)(len ? crc32(crc, records, (uInt)len) : crc);
}

static size_t tape_late_bytes(const struct tape_writer *w)
{
	return w->late.len - w->written;
}

static void tape_late_shrink(struct tape_writer *w)
{
	if (!tape_late_bytes(w)) {
		if (w->late.cap > TAPE_LATE_KEPT)
			buffer_free(&w->late);
		buffer_clear(&w->late);
		w->written = 0;
	} else if (w->written > w->late.len / 2) {
		w->late.len -= w->written;
		memmove(w->late.data, w->late.data + w->written, w->late.len);
		w->written = 0;
	}
}

/* Writes waiting bytes to the pipe. While more than `most` bytes remain, waits for the reader,
 * until until_ns; then returns -ETIMEDOUT. Returns 0 or -errno. */
static int tape_late_write(struct tape_writer *w, size_t most, uint64_t until_ns)
{
	uint64_t now_ns;
	ssize_t n;
	size_t len;
	int wait_ms;

	for (;;) {
		len = tape_late_bytes(w);
		now_ns = clock_mono_ns();
		wait_ms = len > most && now_ns < until_ns
				  ? (int)((until_ns - now_ns) / NS_PER_MS) + 1
				  : 0;
		n = len ? file_write_ready(w->fd, w->late.data + w->written, len, wait_ms) : 0;
		if (n < 0 && n != -EAGAIN)
			return (int)n;
		if (n > 0)
			w->written += (size_t)n;
		else if (!wait_ms)
			return len > most ? -ETIMEDOUT : 0;
	}
}

/* Writes all waiting bytes. Gives up when the reader has read nothing for end_ms. Returns 0 or
 * -errno. */
static int tape_late_end(struct tape_writer *w)
{
	size_t before;
	int err;

	do {
		before = tape_late_bytes(w);
		err = tape_late_write(w, 0, clock_mono_ns() + (uint64_t)w->end_ms * NS_PER_MS);
	} while (err == -ETIMEDOUT && tape_late_bytes(w) < before);
	return err;
}

static int tape_late_append(struct tape_writer *w, const struct iovec *iov, int count)
{
	int err;

	for (int i = 0; i < count; i++)
		buffer_add(&w->late, iov[i].iov_base, iov[i].iov_len);
	if (w->late.failed)
		return -ENOMEM;
	err = tape_late_write(w, TAPE_LATE_MAX, clock_mono_ns() + (uint64_t)w->wait_ms * NS_PER_MS);
	tape_late_shrink(w);
	return err;
}

/* Writes all parts to the file. Returns 0 or -errno. */
static int tape_write_all(const struct tape_writer *w, struct iovec *iov, int count)
{
	ssize_t n;

	while (count) {
		if (!iov->iov_len) {
			iov++;
			count--;
			continue;
		}
		n = writev(w->fd, iov, count);
		if (n < 0 && errno != EINTR)
			return -errno;
		for (; n > 0 && count; iov++, count--) {
			if ((size_t)n < iov->iov_len) {
				iov->iov_base = (char *)iov->iov_base + n;
				iov->iov_len -= (size_t)n;
				break;
			}
			n -= (ssize_t)iov->iov_len;
		}
	}
	return 0;
}

static int tape_write_header(struct tape_writer *w)
{
	struct tape_header h = {
		.format = TAPE_FORMAT, .abi = GP_ABI_VERSION, .byte_order = TAPE_BYTE_ORDER};
	struct iovec iov = {&h, sizeof(h)};
	struct stat st;
	int err;

	memcpy(h.magic, tape_magic, sizeof(h.magic));
	h.crc = (uint32_t)crc32(0, (const Bytef *)&h, offsetof(struct tape_header, crc));
	w->regular = !fstat(w->fd, &st) && S_ISREG(st.st_mode);
	err = w->regular ? tape_write_all(w, &iov, 1) : tape_late_append(w, &iov, 1);
	if (err)
		return err;
	w->bytes = sizeof(h);
	/* In a file opened with O_APPEND (`>> FILE`), the offset is only right after the first
	 * write. */
	w->base = lseek(w->fd, 0, SEEK_CUR) - (off_t)sizeof(h);
	return 0;
}

int tape_create(struct tape_writer **ret, const char *path)
{
	struct tape_writer *w = calloc(1, sizeof(*w));
	int err = -ENOMEM;

	if (!w)
		goto out;
	w->wait_ms = TAPE_WAIT_MS;
	w->end_ms = TAPE_END_MS;
	if (!strcmp(path, "-"))
		w->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		w->fd = path_open_fifo(path, O_WRONLY | O_CREAT | O_TRUNC, 0644, FIFO_WAIT_MS);
	if (w->fd < 0) {
		err = strcmp(path, "-") ? w->fd : -errno;
		goto out;
	}
	err = tape_write_header(w);
	if (!err) {
		*ret = w;
		return 0;
	}
	close(w->fd);
	buffer_free(&w->late);
out:
	free(w);
	log_error("cannot create tape %s: %s", path, path_why(err));
	return err;
}

static void tape_take_back(struct tape_writer *w)
{
	off_t end = w->base + (off_t)w->bytes;

	if (!w->regular || w->base < 0 || ftruncate(w->fd, end) || lseek(w->fd, end, SEEK_SET) < 0)
		w->broken = true;
}

int tape_append(struct tape_writer *w, const struct tape_frame *f)
{
	struct frame_header h = {.source = (uint16_t)f->source, .from = f->from, .to = f->to};
	struct iovec iov[] = {{&h, sizeof(h)}, {(void *)f->records, f->len}};

	if (f->len > TAPE_FRAME_MAX || f->len % 8)
		return -EINVAL;
	if (w->broken)
		return w->err;
	h.len = (uint32_t)f->len;
	h.crc = tape_frame_crc(&h, f->records, f->len);
	w->err = w->regular ? tape_write_all(w, iov, 2) : tape_late_append(w, iov, 2);
	if (w->err)
		tape_take_back(w);
	else
		w->bytes += sizeof(h) + f->len;
	return w->err;
}

void tape_patience(struct tape_writer *w, int wait_ms)
{
	w->wait_ms = w->end_ms = wait_ms;
}

uint64_t tape_bytes(const struct tape_writer *w)
{
	return w->bytes;
}

int tape_close(struct tape_writer *w)
{
	int err;

	if (!w)
		return 0;
	err = w->err;
	if (!w->regular && !w->broken)
		err = tape_late_end(w);
	if (close(w->fd) && !err)
		err = -errno;
	buffer_free(&w->late);
	free(w);
	return err;
}

/* Reads until `want` bytes are in the buffer, or until the end of the file. Returns 0 or -errno. */
static int tape_fill(struct tape_reader *r, size_t want)
{
	size_t cap;
	ssize_t n;
	char *buf;

	while (r->end - r->start < want && !r->eof) {
		if (r->start) {
			memmove(r->buf, r->buf + r->start, r->end - r->start);
			r->end -= r->start;
			r->start = 0;
		}
		if (r->end == r->cap) {
			/* Enlarge the buffer only as data arrives, because the length in a frame's
			 * header may be wrong. */
			cap = r->cap * 2;
			buf = realloc(r->buf, cap);
			if (!buf)
				return -ENOMEM;
			r->buf = buf;
			r->cap = cap;
		}
		n = read(r->fd, r->buf + r->end, r->cap - r->end);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		r->eof = !n;
		r->end += (size_t)n;
	}
	return 0;
}

static void tape_use(struct tape_reader *r, size_t len)
{
	r->start += len;
	r->offset += len;
}

static int tape_check_header(struct tape_reader *r)
{
	struct tape_header h;
	int err = tape_fill(r, sizeof(h));

	if (err) {
		log_error("cannot read tape %s: %s", r->path, strerror(-err));
		return err;
	}
	if (r->end - r->start < sizeof(h) || memcmp(r->buf, tape_magic, sizeof(tape_magic))) {
		log_error("%s: not a tape of gp-bpf", r->path);
		return -EBADMSG;
	}
	memcpy(&h, r->buf, sizeof(h));
	if (h.byte_order != TAPE_BYTE_ORDER ||
	    h.crc != (uint32_t)crc32(0, (const Bytef *)&h, offsetof(struct tape_header, crc))) {
		log_error("tape %s: cannot be read: its header is damaged", r->path);
		return -EBADMSG;
	}
	if (h.format != TAPE_FORMAT || h.abi != GP_ABI_VERSION) {
		log_error(
			"tape %s: cannot be read: it has format %u and records of version %u; this gp-bpf reads format %u and version %u; use the gp-bpf that recorded the tape",
			r->path, h.format, h.abi, TAPE_FORMAT, GP_ABI_VERSION);
		return -EPROTO;
	}
	tape_use(r, sizeof(h));
	return 0;
}

int tape_open(struct tape_reader **ret, const char *path)
{
	struct tape_reader *r = calloc(1, sizeof(*r));
	bool standard = !strcmp(path, "-");
	struct stat st;
	int err;

	if (!r)
		return -ENOMEM;
	r->fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : path_open_input(path);
	if (r->fd < 0) {
		err = standard ? -errno : r->fd;
		log_error("cannot open tape %s: %s", path, strerror(-err));
		free(r);
		return err;
	}
	r->path = strdup(standard ? "standard input" : path);
	r->buf = malloc(TAPE_READ_BYTES);
	r->cap = TAPE_READ_BYTES;
	if (!fstat(r->fd, &st) && S_ISREG(st.st_mode))
		r->size = (uint64_t)st.st_size;
	err = r->path && r->buf ? tape_check_header(r) : -ENOMEM;
	if (err) {
		tape_reader_close(r);
		return err;
	}
	*ret = r;
	return 0;
}

/* Stops reading, because no further frame can be found. why: the error in the frame at r->offset;
 * NULL: the frame is incomplete, or the tape ends here. */
static int tape_end(struct tape_reader *r, const char *why)
{
	if (why)
		log_warn("tape %s: the frame at byte %llu %s; ignoring the rest", r->path,
			 (unsigned long long)r->offset, why);
	else if (r->end > r->start)
		log_warn("tape %s: the last frame is incomplete; ignoring %zu bytes", r->path,
			 r->end - r->start);
	r->start = r->end;
	r->eof = true;
	return 0;
}

int tape_next(struct tape_reader *r, struct tape_frame *ret)
{
	struct frame_header h;
	const char *records;
	int err;

	err = tape_fill(r, sizeof(h));
	if (err)
		return err;
	if (r->end - r->start < sizeof(h))
		return tape_end(r, NULL);
	memcpy(&h, r->buf + r->start, sizeof(h));
	if (h.len > TAPE_FRAME_MAX || h.len % 8)
		return tape_end(r, "has an impossible length");
	err = tape_fill(r, sizeof(h) + h.len);
	if (err)
		return err;
	if (r->end - r->start < sizeof(h) + h.len)
		return tape_end(r, NULL);
	records = r->buf + r->start + sizeof(h);
	if (tape_frame_crc(&h, records, h.len) != h.crc)
		return tape_end(r, "has a wrong checksum");
	*ret = (struct tape_frame){(enum tape_source)h.source, h.from, h.to, records, h.len};
	tape_use(r, sizeof(h) + h.len);
	return 1;
}

double tape_progress(const struct tape_reader *r)
{
	if (!r->size)
		return -1;
	return r->offset < r->size ? (double)r->offset / (double)r->size : 1;
}

void tape_reader_close(struct tape_reader *r)
{
	if (!r)
		return;
	close(r->fd);
	free(r->path);
	free(r->buf);
	free(r);
}
