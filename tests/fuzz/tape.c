/* SPDX-License-Identifier: Apache-2.0 */
/* A tape: raw bytes, or frames whose checksums are right. Frame by frame into a stream. */
#include "userspace/ingest/tape.c"

#include "tests/fuzz/fuzz.h"
#include "userspace/ingest/stream.h"

static struct fuzz_file file;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	fuzz_file_open(&file);
	return 0;
}

static void on_event(void *ctx, const struct event *ev)
{
	uint64_t *last_ns = ctx;

	REQUIRE(ev->rec->ts_ns >= *last_ns);
	REQUIRE(event_length(ev->rec->kind) == ev->rec->len);
	*last_ns = ev->rec->ts_ns;
}

static void frames_write(struct input in)
{
	struct tape_header h = {
		.format = TAPE_FORMAT, .abi = GP_ABI_VERSION, .byte_order = TAPE_BYTE_ORDER};
	static char records[1 << 15];
	off_t at = sizeof(h);

	memcpy(h.magic, tape_magic, sizeof(h.magic));
	h.crc = (uint32_t)crc32(0, (const Bytef *)&h, offsetof(struct tape_header, crc));
	fuzz_file_fill(&file, &h, sizeof(h));
	while (input_left(&in)) {
		struct frame_header f = {.source = input_byte(&in) % 4};
		struct input piece = input_piece(&in);

		f.len = (uint32_t)(input_left(&piece) & ~7ul);
		memcpy(records, piece.at, f.len);
		f.crc = tape_frame_crc(&f, records, f.len);
		REQUIRE(pwrite(file.fd, &f, sizeof(f), at) == sizeof(f));
		REQUIRE(pwrite(file.fd, records, f.len, at + (off_t)sizeof(f)) == (ssize_t)f.len);
		at += (off_t)(sizeof(f) + f.len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct tape_reader *r;
	struct tape_frame f;
	uint64_t last_ns = 0;
	struct stream *s = stream_new(on_event, &last_ns);

	REQUIRE(s);
	if (len && data[0] & 1)
		frames_write((struct input){data + 1, data + len});
	else
		fuzz_file_fill(&file, data + !!len, len - !!len);
	if (!tape_open(&r, file.path)) {
		while (tape_next(r, &f) == 1)
			REQUIRE(!stream_feed(s, f.records, f.len));
		tape_reader_close(r);
	}
	stream_finish(s);
	stream_free(s);
	return 0;
}
