/* SPDX-License-Identifier: Apache-2.0 */
/* tape.h - a tape is a file with all records that the model received, in order of arrival. `gp-bpf
 * replay` repeats a watch from a tape.
 *
 * A tape has a header (magic, format version, ABI version) and frames. A frame has its length, a
 * CRC-32 (zlib), the source of its records (a ring with positions, or user space), and the records,
 * each padded to 8 bytes. Each frame is written with one write(2). An incomplete frame at the end
 * (after a crash, or a full disk) is logged and ignored. A frame with a wrong checksum is logged,
 * and ends reading. Tapes are little-endian, like all supported machines; the header records the
 * byte order. */
#ifndef INGEST_TAPE_H
#define INGEST_TAPE_H

#include <stddef.h>
#include <stdint.h>

enum tape_source { TAPE_USER = 0, TAPE_RING_LIFE = 1, TAPE_RING_CALL = 2 };

struct tape_frame {
	enum tape_source source;
	/* positions in the ring before and after the records; 0 and 0 if the source is user
	 * space */
	uint64_t from, to;
	const void *records;
	size_t len;
};

struct tape_writer;
/* Creates or truncates a tape; "-" is standard output. Returns 0, or -errno after logging the
 * reason. If the tape is a pipe, up to 16 MiB wait for the reader. Beyond that, tape_append() waits
 * 0.5 s and then fails with -ETIMEDOUT, which ends the tape. */
int tape_create(struct tape_writer **ret, const char *path);
int tape_append(
	struct tape_writer *w,
	const struct tape_frame *f); /* returns 0, or -errno if the frame is not on the tape */
/* For tests: replaces both time limits for the reader of a pipe: 0.5 s for a frame, 10 s at the end
 * of the tape. */
void tape_patience(struct tape_writer *w, int wait_ms);
uint64_t tape_bytes(const struct tape_writer *w);
/* Waits until the reader of a pipe has read everything, and frees w. Returns 0; -ETIMEDOUT: the
 * reader read nothing for 10 s; or -errno of the last write or of close(). */
int tape_close(struct tape_writer *w);

struct tape_reader;
int tape_open(struct tape_reader **ret,
	      const char *path); /* "-" is standard input; logs the reason of an error */
/* Reads the next frame. Returns 1: *ret is valid until the next call; 0: the end (if a frame is
 * incomplete, this was logged); -errno. */
int tape_next(struct tape_reader *r, struct tape_frame *ret);
/* Returns the share of the file that has been read, from 0 to 1; -1: the size is unknown. */
double tape_progress(const struct tape_reader *r);
void tape_reader_close(struct tape_reader *r);

#endif
