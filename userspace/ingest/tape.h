/* SPDX-License-Identifier: Apache-2.0 */
/* tape.h - the tape: a file of all that the model sees, in order of arrival.
 *
 * A header (magic, format version, ABI version), then frames: length, CRC-32 (zlib), the source of
 * the records (a ring and its positions, or user space), then records back to back, each padded to
 * 8. Each frame is written with one write(2). A torn end (crash, full disk) is dropped with one
 * message; a frame with a wrong checksum ends reading, also with one message. For little-endian
 * hosts only, as all supported machines are; the header says so. */
#ifndef INGEST_TAPE_H
#define INGEST_TAPE_H

#include <stddef.h>
#include <stdint.h>

enum tape_source { TAPE_USER = 0, TAPE_RING_LIFE = 1, TAPE_RING_CALL = 2 };

struct tape_frame {
	enum tape_source source;
	uint64_t from, to; /* ring positions; 0, 0 for user space */
	const void *records;
	size_t len;
};

struct tape_writer;
/* Truncates the file; "-" is standard output. Logs its error. Up to 16 MiB are buffered for the
 * reader of a pipe without waiting. After that, a call waits 0.5 s; then the tape ends with
 * -ETIMEDOUT. */
int tape_create(struct tape_writer **ret, const char *path);
int tape_append(struct tape_writer *w,
		const struct tape_frame *f); /* 0, or -errno: the frame is not on the tape */
/* For tests: replaces the limits of 0.5 s and of 10 s at the end. */
void tape_patience(struct tape_writer *w, int wait_ms);
uint64_t tape_bytes(const struct tape_writer *w);
/* Waits until the reader of a pipe has read all. Returns 0; -ETIMEDOUT: the reader read nothing for
 * 10 s; or -errno of the last write or close. */
int tape_close(struct tape_writer *w);

struct tape_reader;
int tape_open(struct tape_reader **ret,
	      const char *path); /* "-" is standard input; logs its error */
/* Returns 1: *ret is the next frame, valid until the next call; 0: the end (a torn end was logged);
 * -errno. */
int tape_next(struct tape_reader *r, struct tape_frame *ret);
/* Returns the share of the file that has been read, 0 to 1; -1 if the size is unknown. */
double tape_progress(const struct tape_reader *r);
void tape_reader_close(struct tape_reader *r);

#endif
