/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/tensorboard/tensorboard_record.h"

#include <endian.h>
#include <string.h>

#include <proto/tensorboard_event.pb-c.h>

#include "userspace/base/log.h"

#define FILE_VERSION "brain.Event:2"
#define MASK_DELTA   0xa282ead8u
#define HEAD	     12 /* length and its CRC */
#define TAIL	     4

/* CRC-32C of each 4-bit value: a small table, which stays in the cache. */
static const uint32_t crc_table[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
	0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
	0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t tb_crc32c(const void *data, size_t len)
{
	const uint8_t *at = data;
	uint32_t crc = ~0u;

	while (len--) {
		crc ^= *at++;
		crc = crc >> 4 ^ crc_table[crc & 15];
		crc = crc >> 4 ^ crc_table[crc & 15];
	}
	return ~crc;
}

uint32_t tb_masked(uint32_t crc)
{
	return (crc >> 15 | crc << 17) + MASK_DELTA;
}

static void tb_record_put_u32(char *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

static void tb_record_put(struct buffer *out, const Tb__Event *event)
{
	size_t len = tb__event__get_packed_size(event);
	char *at = buffer_reserve(out, len + TB_FRAME);
	uint64_t le = htole64(len);

	_Static_assert(HEAD + TAIL == TB_FRAME, "all of the frame");
	if (!at)
		return;
	memcpy(at, &le, sizeof(le));
	tb_record_put_u32(at + sizeof(le), tb_masked(tb_crc32c(at, sizeof(le))));
	tb__event__pack(event, (uint8_t *)at + HEAD);
	tb_record_put_u32(at + HEAD + len, tb_masked(tb_crc32c(at + HEAD, len)));
	out->len += len + TB_FRAME;
	out->data[out->len] = '\0';
}

void tb_record_version(struct buffer *out, double wall_s)
{
	char version[] = FILE_VERSION;
	Tb__Event event = TB__EVENT__INIT;

	event.wall_time = wall_s;
	event.what_case = TB__EVENT__WHAT_FILE_VERSION;
	event.file_version = version;
	tb_record_put(out, &event);
}

void tb_record_scalar(struct buffer *out, const struct tb_scalar *s)
{
	char tag[TB_TAG_MAX], display[TB_TAG_MAX];
	Tb__Label label = TB__LABEL__INIT;
	Tb__Scalar scalar = TB__SCALAR__INIT;
	Tb__Scalars scalars = TB__SCALARS__INIT;
	Tb__Event event = TB__EVENT__INIT;
	Tb__Scalar *values = &scalar;

	/* Escape invalid UTF-8: readers reject such a record, and all records after it. */
	scalar.tag = log_escape(tag, sizeof(tag), s->tag, TB_TAG_MAX);
	scalar.value_case = TB__SCALAR__VALUE_SIMPLE_VALUE;
	scalar.simple_value = (float)s->value;
	if (s->display) {
		label.display_name = log_escape(display, sizeof(display), s->display, TB_TAG_MAX);
		scalar.metadata = &label;
	}
	scalars.n_value = 1;
	scalars.value = &values;
	event.wall_time = s->wall_s;
	event.step = s->step;
	event.what_case = TB__EVENT__WHAT_SUMMARY;
	event.summary = &scalars;
	tb_record_put(out, &event);
}

size_t tb_record_whole(const char *records, size_t len, uint64_t *ret_count)
{
	size_t at = 0;
	uint64_t size;

	for (*ret_count = 0; len - at >= TB_FRAME; ++*ret_count) {
		memcpy(&size, records + at, sizeof(size));
		size = le64toh(size);
		if (size > len - at - TB_FRAME)
			break;
		at += size + TB_FRAME;
	}
	return at;
}
