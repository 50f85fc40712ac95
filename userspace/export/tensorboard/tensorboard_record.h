/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_record.h - records of a TensorBoard event file. A record is the length of its data
 * (64 bit, little endian), the masked CRC-32C of this length, the data, and the masked CRC-32C of
 * the data; the data is an event (tensorboard_event.proto). Pure. */
#ifndef EXPORT_TENSORBOARD_RECORD_H
#define EXPORT_TENSORBOARD_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

#define TB_FRAME   16  /* bytes that a record adds to its data */
#define TB_TAG_MAX 192 /* limit of a tag in bytes, with its NUL; longer tags are cut */

struct tb_scalar {
	const char *tag;     /* any bytes: invalid text is written as '?' */
	const char *display; /* name shown in TensorBoard; NULL: none */
	int64_t step;
	double wall_s; /* seconds since 1970 */
	double value;
};

/* CRC-32C (Castagnoli, reflected 0x82f63b78; test vectors in RFC 3720 B.4). */
uint32_t tb_crc32c(const void *data, size_t len);
/* Returns a CRC in the form that the file format uses: rotated by 15 bits, plus a constant. */
uint32_t tb_masked(uint32_t crc);

/* Append one record to out; failure sets out->failed. */
void tb_record_version(struct buffer *out, double wall_s); /* first record of every file */
void tb_record_scalar(struct buffer *out, const struct tb_scalar *s);
/* Returns how many of the len bytes are whole records; *ret_count: number of these records. */
size_t tb_record_whole(const char *records, size_t len, uint64_t *ret_count);

#endif
