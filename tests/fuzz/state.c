/* SPDX-License-Identifier: Apache-2.0 */
/* Saved state as somebody else may have left it: refused, or a model and a stream that work. A
 * sound one is edited here and there, or only its frame is right. */
#include "userspace/base/archive.c"

#include "tests/fuzz/records.h"
#include "tests/fuzz/shown.h"
#include "userspace/ingest/stream.h"
#include "userspace/model/model.h"

enum { MODEL, STREAM, SAVED };
static struct buffer saved[SAVED];

static void on_fact(void *ctx, const struct fact *f)
{
	(void)ctx;
	shown_fact(f, NULL);
}

static void on_event(void *ctx, const struct event *ev)
{
	(void)ctx;
	REQUIRE(event_length(ev->rec->kind) == ev->rec->len);
}

/* A loop of some steps, see seeds.sh. */
static void sound_states(void)
{
	static const char step[] =
		"\x08\x05\x04\x0a\x05\x08\x04\x02\x0a\x04\x0b\x05\x03\x08\x05\x00\x0a\x06";
	uint8_t bytes[30 * (sizeof(step) - 1)];
	struct records r = {.in = {bytes, bytes + sizeof(bytes)}};
	struct stream *s = stream_new(on_event, NULL);
	struct model *m = model_new(on_fact, NULL);
	struct event ev;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)step[i % (sizeof(step) - 1)];
	REQUIRE(s && m);
	while (records_next(&r)) {
		REQUIRE(!event_decode(r.bytes, ((struct gp_rec *)(void *)r.bytes)->len, &ev));
		REQUIRE(!model_feed(m, &ev));
		REQUIRE(!stream_feed(s, r.bytes, (ev.rec->len + 7u) & ~7u));
	}
	REQUIRE(!model_save(m, &saved[MODEL]) && !stream_save(s, &saved[STREAM]));
	model_free(m);
	stream_free(s);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	sound_states();
	return 0;
}

static void model_try(const struct buffer *b)
{
	struct records r = {0};
	struct model *m = NULL;
	struct snapshot *s;
	struct event ev;

	if (model_load(&m, on_fact, NULL, b->data, b->len))
		return;
	while (records_next(&r)) {
		REQUIRE(!event_decode(r.bytes, ((struct gp_rec *)(void *)r.bytes)->len, &ev));
		model_feed(m, &ev);
	}
	s = model_snapshot(m);
	REQUIRE(s);
	shown_snapshot(s, 100);
	snapshot_unref(s);
	model_free(m);
}

static void stream_try(const struct buffer *b)
{
	struct stream *s = NULL;

	if (!stream_load(&s, on_event, NULL, b->data, b->len))
		stream_finish(s);
	stream_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = {data, data + len};
	uint8_t how = input_byte(&in), edit[3];
	const struct buffer *sound = &saved[how & 1];
	struct buffer b = {0};

	if (how & 2) {
		buffer_add(&b, sound->data, HEAD_BYTES);
		buffer_add(&b, in.at, input_left(&in));
	} else {
		buffer_add(&b, sound->data, sound->len);
		while (input_left(&in)) {
			input_bytes(&in, edit, sizeof(edit));
			b.data[HEAD_BYTES + (edit[0] << 8 | edit[1]) % (b.len - HEAD_BYTES)] =
				(char)edit[2];
		}
	}
	archive_put_le((unsigned char *)b.data + 8, b.len - HEAD_BYTES, 8);
	archive_put_le((unsigned char *)b.data + CRC_AT,
		       archive_crc((unsigned char *)b.data, b.len), 4);
	if (how & 1)
		stream_try(&b);
	else
		model_try(&b);
	buffer_free(&b);
	return 0;
}
