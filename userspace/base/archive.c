/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/archive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* bytes of the header: magic 8, length of the rest 8, format 4, checksum 4; little-endian */
#define HEAD_BYTES   24
#define CRC_AT	     20
#define NUMBER_BYTES 10 /* most bytes that a number takes: 7 of its 64 bits in each byte */

static void archive_fail(struct archive *a, int error)
{
	if (!a->error)
		a->error = error;
	a->at = a->end;
}

void archive_require(struct archive *a, bool holds)
{
	if (!holds)
		archive_fail(a, -EBADMSG);
}

/* ---- envelope -------------------------------------------------------------------------------- */

static void archive_put_le(unsigned char *to, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		to[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t archive_get_le(const unsigned char *from, int bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < bytes; i++)
		value |= (uint64_t)from[i] << 8 * i;
	return value;
}

/* Returns the checksum of the archive; the bytes of the stored checksum are excluded. */
static uint32_t archive_crc(const unsigned char *archive, size_t len)
{
	uLong crc = crc32_z(0, archive, CRC_AT);

	return (uint32_t)crc32_z(crc, archive + HEAD_BYTES, len - HEAD_BYTES);
}

void archive_write(struct archive *a, struct buffer *out, const char *magic, uint32_t format)
{
	unsigned char head[HEAD_BYTES] = {0};

	*a = (struct archive){.out = out, .start = out->len};
	memcpy(head, magic, 8);
	archive_put_le(head + 16, format, 4);
	buffer_add(out, head, sizeof(head));
}

void archive_read(struct archive *a, const void *data, size_t len, const char *magic,
		  uint32_t format)
{
	const unsigned char *head = data;

	*a = (struct archive){0};
	if (len < HEAD_BYTES || memcmp(head, magic, 8) != 0 ||
	    archive_get_le(head + 8, 8) != len - HEAD_BYTES ||
	    archive_get_le(head + CRC_AT, 4) != archive_crc(head, len)) {
		archive_fail(a, -EBADMSG);
		return;
	}
	if (archive_get_le(head + 16, 4) != format) {
		archive_fail(a, -EPROTO);
		return;
	}
	a->at = head + HEAD_BYTES;
	a->end = head + len;
	a->room = len < (SIZE_MAX - ARCHIVE_SLACK) / ARCHIVE_GROWTH
			  ? len * ARCHIVE_GROWTH + ARCHIVE_SLACK
			  : SIZE_MAX;
}

static void archive_seal(struct archive *a)
{
	unsigned char *head;
	size_t len;

	if (a->out->failed)
		archive_fail(a, -ENOMEM);
	if (a->error) {
		a->out->len = a->start < a->out->len ? a->start : a->out->len;
		return;
	}
	head = (unsigned char *)a->out->data + a->start;
	len = a->out->len - a->start;
	archive_put_le(head + 8, len - HEAD_BYTES, 8);
	archive_put_le(head + CRC_AT, archive_crc(head, len), 4);
}

int archive_end(struct archive *a)
{
	if (a->out)
		archive_seal(a);
	else
		archive_require(a, a->at == a->end);
	return a->error;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Writes a number as LEB128: seven bits in each byte, lowest first; the eighth bit says that more
 * bytes follow. This is short, because most numbers are small. */
static void archive_number_put(struct archive *a, uint64_t value)
{
	unsigned char bytes[NUMBER_BYTES];
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[n++] = (unsigned char)(value | 0x80);
	bytes[n++] = (unsigned char)value;
	buffer_add(a->out, bytes, n);
}

static uint64_t archive_number_get(struct archive *a)
{
	uint64_t value = 0, byte;

	for (unsigned shift = 0; a->at < a->end && shift < 64; shift += 7) {
		byte = *a->at++;
		if (shift == 63 && byte > 1)
			break;
		value |= (byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	archive_require(a, false);
	return 0;
}

static uint64_t archive_value_of(const void *p, size_t size)
{
	switch (size) {
	case 1:
		return *(const uint8_t *)p;
	case 2:
		return *(const uint16_t *)p;
	case 4:
		return *(const uint32_t *)p;
	default:
		return *(const uint64_t *)p;
	}
}

static void archive_value_set(void *p, size_t size, uint64_t value)
{
	switch (size) {
	case 1:
		*(uint8_t *)p = (uint8_t)value;
		break;
	case 2:
		*(uint16_t *)p = (uint16_t)value;
		break;
	case 4:
		*(uint32_t *)p = (uint32_t)value;
		break;
	default:
		*(uint64_t *)p = value;
		break;
	}
}

void archive_unsigned(struct archive *a, void *p, size_t size)
{
	uint64_t value;

	if (a->out) {
		archive_number_put(a, archive_value_of(p, size));
		return;
	}
	value = archive_number_get(a);
	if (size < 8 && value >> 8 * size) {
		archive_require(a, false);
		value = 0;
	}
	archive_value_set(p, size, value);
}

/* Writes or reads a signed number. Its sign is in the lowest bit, so that small negative numbers
 * stay short. */
void archive_signed(struct archive *a, void *p, size_t size)
{
	unsigned unused = 64 - 8 * (unsigned)size;
	uint64_t value;
	int64_t number;

	if (a->out) {
		number = (int64_t)(archive_value_of(p, size) << unused) >> unused;
		archive_number_put(a, (uint64_t)number << 1 ^ (number < 0 ? UINT64_MAX : 0));
		return;
	}
	value = archive_number_get(a);
	if (unused && value >> (64 - unused)) {
		archive_require(a, false);
		value = 0;
	}
	archive_value_set(p, size, value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
}

/* Writes or reads a bool. Other values than 0 and 1 are errors, because reading them as a bool
 * would be undefined behaviour. */
void archive_bool(struct archive *a, void *p, size_t size)
{
	uint64_t value;

	(void)size;
	if (a->out) {
		archive_number_put(a, *(const bool *)p);
		return;
	}
	value = archive_number_get(a);
	archive_require(a, value < 2);
	*(bool *)p = value == 1;
}

void archive_double(struct archive *a, void *p, size_t size)
{
	unsigned char bytes[sizeof(double)];
	uint64_t bits = 0;

	if (a->out) {
		memcpy(&bits, p, size);
		archive_put_le(bytes, bits, sizeof(bytes));
	}
	archive_bytes(a, bytes, sizeof(bytes));
	if (!a->out) {
		bits = archive_get_le(bytes, sizeof(bytes));
		memcpy(p, &bits, size);
	}
}

#define ARCHIVE_ARRAY(name, type)                                                                  \
	void name(struct archive *a, void *p, size_t size)                                         \
	{                                                                                          \
		type *item = p;                                                                    \
                                                                                                   \
		for (size_t i = 0; i < size / sizeof(*item); i++)                                  \
			archive_field(a, item[i]);                                                 \
	}
ARCHIVE_ARRAY(archive_u16s, uint16_t)
ARCHIVE_ARRAY(archive_u32s, uint32_t)
ARCHIVE_ARRAY(archive_u64s, uint64_t)
ARCHIVE_ARRAY(archive_s64s, int64_t)
ARCHIVE_ARRAY(archive_doubles, double)

/* ---- bytes ----------------------------------------------------------------------------------- */

void archive_bytes(struct archive *a, void *p, size_t len)
{
	if (a->out) {
		buffer_add(a->out, p, len);
		return;
	}
	if ((size_t)(a->end - a->at) < len) {
		archive_require(a, false);
		memset(p, 0, len);
		return;
	}
	if (!len)
		return; /* p may be NULL, which memcpy() must not get */
	memcpy(p, a->at, len);
	a->at += len;
}

void archive_chars(struct archive *a, void *p, size_t cap)
{
	char *text = p;
	size_t len = a->out ? strnlen(text, cap - 1) : 0;

	archive_below(a, &len, cap);
	archive_bytes(a, text, len);
	if (a->out)
		return;
	memset(text + len, 0, cap - len);
	for (size_t i = 0; i < len; i++)
		archive_require(a, (unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
}

/* ---- structs --------------------------------------------------------------------------------- */

/* Writes or checks the size of a struct. The checksum was right, so another size means that another
 * version wrote the archive. */
void archive_struct(struct archive *a, size_t size)
{
	size_t written = size;

	archive_field(a, written);
	if (!a->error && written != size)
		archive_fail(a, -EPROTO);
}

void archive_count(struct archive *a, uint32_t *count, uint32_t max, size_t size)
{
	archive_below(a, count, (uint64_t)max + 1);
	if (*count)
		archive_struct(a, size);
	/* Each item takes at least one byte. So the archive cannot make the caller's loop long by a
	 * wrong count. */
	if (!a->out && (a->error || *count > (size_t)(a->end - a->at))) {
		archive_require(a, false);
		*count = 0;
	}
}

void *archive_alloc(struct archive *a, size_t count, size_t size)
{
	void *p;

	if (a->error || count > a->room / size) {
		archive_require(a, false);
		return NULL;
	}
	p = calloc(count, size);
	if (!p) {
		archive_fail(a, -ENOMEM);
		return NULL;
	}
	a->room -= count * size;
	return p;
}

void *archive_array(struct archive *a, void *have, uint32_t *count, uint32_t *cap, uint32_t max,
		    size_t size)
{
	archive_count(a, count, max, size);
	if (a->out || !*count)
		return have;
	have = archive_alloc(a, *count, size);
	*cap = *count = have ? *count : 0;
	return have;
}

void *archive_ring_items(struct archive *a, void *have, uint64_t first, uint64_t *next,
			 uint32_t *cap, uint32_t least, uint32_t max, size_t size)
{
	uint32_t room, n = (uint32_t)(*next - first);

	archive_field(a, *cap);
	archive_count(a, &n, max, size);
	if (a->out)
		return have;
	for (room = *cap ? least : 0; room && room < *cap && room < max; room *= 2)
		;
	archive_require(a, room == *cap && n <= room && first <= UINT64_MAX / 2);
	have = room ? archive_alloc(a, room, size) : NULL;
	*cap = have ? room : 0;
	*next = first + (have ? n : 0);
	return have;
}

void *archive_object(struct archive *a, void *have, size_t size)
{
	bool there = have;

	archive_field(a, there);
	if (!there)
		return NULL;
	archive_struct(a, size);
	return a->out ? have : archive_alloc(a, 1, size);
}
