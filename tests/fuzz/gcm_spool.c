/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a spool: raw bytes, or records whose checksums are right around points that may be
 * anything. */
#include <sys/stat.h>
#include <zlib.h>

#include "tests/fuzz/fuzz.h"
#include "userspace/export/gcm/spool_file.h"

static char folder[64], path[128], cursor[128];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	snprintf(folder, sizeof(folder), "%s/spool", fuzz_folder());
	REQUIRE(!mkdir(folder, 0700));
	snprintf(path, sizeof(path), "%s/%016x.points", folder, 3);
	snprintf(cursor, sizeof(cursor), "%s/cursor", folder);
	return 0;
}

static void file_write(const char *name, const void *data, size_t len)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, data, len) == (ssize_t)len);
	close(fd);
}

/* Header fields as they come, but for checksums; what is packed is a piece of the input. */
static void records_write(struct input in)
{
	struct buffer file = {0};

	buffer_add(&file, spool_magic, sizeof(spool_magic));
	while (input_left(&in)) {
		struct spool_record r = {.points = input_byte(&in),
					 .newest_ns = input_byte(&in) + 1};
		struct input piece = input_piece(&in);
		uLongf len = compressBound((uLong)input_left(&piece));
		Bytef *packed = malloc(len);

		REQUIRE(packed &&
			compress2(packed, &len, piece.at, (uLong)input_left(&piece), 1) == Z_OK);
		r.raw = (uint32_t)input_left(&piece);
		r.len = (uint32_t)len;
		r.crc = (uint32_t)crc32(0, packed, (uInt)len);
		r.header_crc = spool_header_crc(&r);
		buffer_add(&file, &r, sizeof(r));
		buffer_add(&file, packed, len);
		free(packed);
	}
	file_write(path, file.data, file.len);
	buffer_free(&file);
}

static void cursor_write(uint8_t id, uint8_t at)
{
	struct spool_cursor c = {.id = id % 5, .at = at};

	memcpy(c.magic, spool_magic, sizeof(c.magic));
	c.crc = (uint32_t)crc32(0, (const Bytef *)&c, offsetof(struct spool_cursor, crc));
	file_write(cursor, &c, sizeof(c));
}

/* All that is in it, and then a record of its own. */
static void spool_drain(struct spool *s)
{
	struct parcel_point point = {.key = 1, .end_ns = 500, .cumulative = true};
	struct parcel p = {0};
	uint32_t item = 0;

	while (!spool_peek(s, 100, &p)) {
		REQUIRE(p.count && p.count <= REQUEST_SERIES);
		for (uint32_t i = 0; i < p.count; i++)
			REQUIRE(parcel_whole(p.text.data + p.item[i].at, p.item[i].len));
		parcel_clear(&p);
		spool_pop(s);
	}
	REQUIRE(!spool_points(s) && !spool_bytes(s));
	parcel_clear(&p);
	REQUIRE(!parcel_add(&p, &point, "{}", 2));
	REQUIRE(!spool_add(s, &p, &item, 1));
	parcel_clear(&p);
	REQUIRE(!spool_peek(s, 100, &p) && p.count == 1 && p.item[0].end_ns == 500);
	spool_pop(s);
	parcel_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = {data, data + len};
	uint8_t how = input_byte(&in);
	struct spool *s;

	unlink(cursor);
	if (how & 2)
		cursor_write(input_byte(&in), input_byte(&in));
	if (how & 1)
		records_write(in);
	else
		file_write(path, in.at, input_left(&in));
	REQUIRE(!spool_open(&s, folder, SPOOL_LEAST));
	spool_drain(s);
	spool_close(s);
	return 0;
}
