/* SPDX-License-Identifier: Apache-2.0 */
/* tape.h - the file of everything the model sees, in order of arrival.
 *
 * A header (magic, format version, ABI version), then frames: length, CRC-32 (zlib), where the
 * records came from (ring and its positions, or user space), then records back to back, each padded
 * to 8. Written with one write(2) a frame. A torn tail (crash, full disk) is dropped with one
 * message; a frame whose checksum fails ends the reading there, likewise. Little-endian hosts only,
 * as all supported machines are; the header says so. */
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
/* Truncates; "-" is standard output; logs its error. The reader of a pipe may be 16 MiB behind: up
 * to there no call waits for it. Further behind, a call waits 0.5 s, then the tape ends with
 * -ETIMEDOUT. */
int tape_create(struct tape_writer **ret, const char *path);
int tape_append(struct tape_writer *w,
		const struct tape_frame *f); /* -errno: nothing of it counts */
void tape_patience(struct tape_writer *w,
		   int wait_ms); /* instead of 0.5 s, and of 10 s at the end */
uint64_t tape_bytes(const struct tape_writer *w);
/* Waits for a pipe's reader until it has read all, or nothing for 10 s: -ETIMEDOUT. Else -errno of
 * the last write or close. */
int tape_close(struct tape_writer *w);

struct tape_reader;
int tape_open(struct tape_reader **ret,
	      const char *path); /* "-" is standard input; logs its error */
/* 1: *ret is the next frame, valid until the next call; 0: end (a torn tail was logged); -errno. */
int tape_next(struct tape_reader *r, struct tape_frame *ret);
/* How far the file has been read, 0..1, or -1 when the size is not known: for a progress line. */
double tape_progress(const struct tape_reader *r);
void tape_reader_close(struct tape_reader *r);

#endif
