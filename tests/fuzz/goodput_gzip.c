/* SPDX-License-Identifier: Apache-2.0 */
/* A log as a file: raw bytes, or what the input makes of a right gzip stream: its text, then bytes
 * to put elsewhere in it. Into records, in order, with faults. */
#include <errno.h>
#include <zlib.h>

#include "tests/fuzz/fuzz.h"
#include "userspace/ingest/goodput_source.h"

static struct fuzz_file file;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	fuzz_file_open(&file);
	return 0;
}

/* The text of the first piece, packed; then pairs of a place and a byte. */
static void file_pack(struct input in)
{
	struct input text = input_piece(&in);
	unsigned char packed[1 << 16];
	z_stream z = {.next_in = (Bytef *)(uintptr_t)text.at,
		      .avail_in = (uInt)input_left(&text),
		      .next_out = packed,
		      .avail_out = sizeof(packed)};
	size_t len;

	REQUIRE(deflateInit2(&z, 1 + (int)(input_left(&text) % 9), Z_DEFLATED, 15 + 16, 8,
			     Z_DEFAULT_STRATEGY) == Z_OK);
	REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
	deflateEnd(&z);
	len = sizeof(packed) - z.avail_out;
	while (input_left(&in) >= 3) {
		size_t place = (size_t)input_byte(&in) << 8;

		place = (place | input_byte(&in)) % len;
		packed[place] = input_byte(&in);
	}
	fuzz_file_fill(&file, packed, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *path = file.path;
	struct goodput_source *s;
	struct goodput_faults faults;
	struct goodput_record r;
	uint64_t records = 0;
	int64_t last_us = 0;
	bool sorted = true;
	int rc;

	if (len && data[0] & 1)
		file_pack((struct input){data + 1, data + len});
	else
		fuzz_file_fill(&file, data, len);
	REQUIRE(!goodput_source_open(&s, &path, 1, len && data[0] & 2));
	while ((rc = goodput_source_next(s, &r)) > 0 || rc == -EAGAIN) {
		records += rc > 0;
		if (rc < 0 || !r.written)
			continue;
		sorted &= r.write_us >= last_us;
		last_us = r.write_us;
	}
	goodput_source_faults(s, &faults);
	REQUIRE(sorted || faults.late);
	REQUIRE(records + faults.foreign + faults.duplicates <= faults.entries);
	REQUIRE(!faults.bad == !*faults.first);
	REQUIRE(fuzz_printable(faults.first, strlen(faults.first), false));
	goodput_source_close(s);
	return 0;
}
