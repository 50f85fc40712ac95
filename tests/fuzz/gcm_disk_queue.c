/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a disk queue: raw bytes, or records whose checksums are right around points that may
 * be anything. */
#include <sys/stat.h>
#include <zlib.h>

#include "tests/fuzz/fuzz.h"
#include "userspace/export/gcm/disk_queue_file.h"

static char folder[64], path[128], cursor[128];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	snprintf(folder, sizeof(folder), "%s/queue", fuzz_folder());
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

	buffer_add(&file, disk_queue_magic, sizeof(disk_queue_magic));
	while (input_left(&in)) {
		struct disk_queue_record r = {.points = input_byte(&in),
					      .newest_ns = input_byte(&in) + 1};
		struct input piece = input_piece(&in);
		uLongf len = compressBound((uLong)input_left(&piece));
		Bytef *packed = malloc(len);

		REQUIRE(packed &&
			compress2(packed, &len, piece.at, (uLong)input_left(&piece), 1) == Z_OK);
		r.raw = (uint32_t)input_left(&piece);
		r.len = (uint32_t)len;
		r.crc = (uint32_t)crc32(0, packed, (uInt)len);
		r.header_crc = disk_queue_header_crc(&r);
		buffer_add(&file, &r, sizeof(r));
		buffer_add(&file, packed, len);
		free(packed);
	}
	file_write(path, file.data, file.len);
	buffer_free(&file);
}

static void cursor_write(uint8_t id, uint8_t at)
{
	struct disk_queue_cursor c = {.id = id % 5, .at = at};

	memcpy(c.magic, disk_queue_magic, sizeof(c.magic));
	c.crc = (uint32_t)crc32(0, (const Bytef *)&c, offsetof(struct disk_queue_cursor, crc));
	file_write(cursor, &c, sizeof(c));
}

/* All that is in it, and then a record of its own. */
static void disk_queue_drain(struct disk_queue *s)
{
	struct batch_point point = {.key = 1, .end_ns = 500, .cumulative = true};
	struct batch p = {0};
	uint32_t item = 0;

	while (!disk_queue_peek(s, 100, &p)) {
		REQUIRE(p.count && p.count <= REQUEST_SERIES);
		for (uint32_t i = 0; i < p.count; i++)
			REQUIRE(batch_whole(p.text.data + p.item[i].at, p.item[i].len));
		batch_clear(&p);
		disk_queue_pop(s);
	}
	REQUIRE(!disk_queue_points(s) && !disk_queue_bytes(s));
	batch_clear(&p);
	REQUIRE(!batch_add(&p, &point, "{}", 2));
	REQUIRE(!disk_queue_add(s, &p, &item, 1));
	batch_clear(&p);
	REQUIRE(!disk_queue_peek(s, 100, &p) && p.count == 1 && p.item[0].end_ns == 500);
	disk_queue_pop(s);
	batch_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = {data, data + len};
	uint8_t how = input_byte(&in);
	struct disk_queue *s;

	unlink(cursor);
	if (how & 2)
		cursor_write(input_byte(&in), input_byte(&in));
	if (how & 1)
		records_write(in);
	else
		file_write(path, in.at, input_left(&in));
	REQUIRE(!disk_queue_open(&s, folder, DISK_QUEUE_LEAST));
	disk_queue_drain(s);
	disk_queue_close(s);
	return 0;
}
