/* SPDX-License-Identifier: Apache-2.0 */
/* Records in any order, cut anywhere: decoded, put in order, and the same when saved and loaded
 * halfway. */
#include "tests/fuzz/records.h"
#include "userspace/ingest/stream.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	return 0;
}

static void on_event(void *ctx, const struct event *ev)
{
	uint64_t *last_ns = ctx;

	REQUIRE(ev->rec->ts_ns >= *last_ns);
	REQUIRE(event_length(ev->rec->kind) == ev->rec->len);
	*last_ns = ev->rec->ts_ns;
}

static struct stream *reload(struct stream *s, uint64_t *last_ns)
{
	struct buffer saved = {0}, again = {0};
	struct stream *loaded = NULL;

	REQUIRE(!stream_save(s, &saved));
	REQUIRE(!stream_load(&loaded, on_event, last_ns, saved.data, saved.len));
	REQUIRE(!stream_save(loaded, &again));
	REQUIRE(again.len == saved.len && !memcmp(again.data, saved.data, saved.len));
	buffer_free(&saved);
	buffer_free(&again);
	stream_free(s);
	return loaded;
}

/* The record as it is, cut, earlier than others, or only its bytes. */
static void feed(struct stream *s, struct records *r)
{
	uint8_t how = input_byte(&r->in);
	struct gp_rec *rec = (struct gp_rec *)(void *)r->bytes;
	struct gp_drain *d;
	size_t len = (rec->len + 7u) & ~7u;

	switch (how & 7) {
	case 1:
		rec->ts_ns -= (uint64_t)how << 20;
		break;
	case 2:
		len = len * how / 256;
		break;
	case 3:
		rec->len ^= how;
		break;
	case 4:
		d = records_init(r, GP_KIND_drain, 0, 0, 0);
		d->upto_ns = r->ts_ns - ((uint64_t)(how >> 3) << 22);
		len = rec->len;
		break;
	case 5:
		input_bytes(&r->in, r->bytes, len);
		break;
	}
	REQUIRE(!stream_feed(s, r->bytes, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct records r = {.in = {data, data + len}};
	uint64_t last_ns = 0;
	struct stream *s = stream_new(on_event, &last_ns);

	REQUIRE(s);
	while (records_next(&r)) {
		feed(s, &r);
		if (input_byte(&r.in) == 0x77)
			s = reload(s, &last_ns);
	}
	stream_finish(s);
	stream_free(s);
	return 0;
}
