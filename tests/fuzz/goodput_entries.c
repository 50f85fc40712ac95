/* SPDX-License-Identifier: Apache-2.0 */
/* A log: bytes to entries to records, in one piece and byte by byte; the first byte is where it is
 * cut. */
#include "tests/fuzz/fuzz.h"
#include "userspace/base/hash.h"
#include "userspace/ingest/goodput_entry.h"
#include "userspace/ingest/goodput_frame.h"
#include "userspace/ingest/goodput_order.h"
#include "userspace/ingest/goodput_step_line.h"

struct outcome {
	uint64_t records, foreign, bad, hash;
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	return 0;
}

static void record_sound(const struct goodput_record *r, const struct goodput_names *names)
{
	REQUIRE(r->kind < GOODPUT_KINDS);
	REQUIRE(r->write_us >= 0 && r->write_us <= GOODPUT_TIME_MAX_US);
	REQUIRE(r->time_us == GOODPUT_UNKNOWN ||
		(r->time_us >= 0 && r->time_us <= GOODPUT_TIME_MAX_US));
	REQUIRE(r->time_us != GOODPUT_UNKNOWN || r->kind >= GOODPUT_SAVE);
	REQUIRE(r->number == GOODPUT_UNKNOWN || (r->number >= 0 && r->number <= 1ll << 53));
	REQUIRE(r->number != GOODPUT_UNKNOWN || r->kind != GOODPUT_STEP);
	REQUIRE(r->duration_us == GOODPUT_UNKNOWN ||
		(r->duration_us >= 0 && r->duration_us <= GOODPUT_TIME_MAX_US));
	REQUIRE(strlen(goodput_name(names, r->job)) < GOODPUT_NAME_MAX);
	REQUIRE(strlen(goodput_name(names, r->name)) < GOODPUT_NAME_MAX);
}

static void outcome_record(struct outcome *o, const struct goodput_entry *e)
{
	const struct goodput_record *r = &e->record;

	o->records++;
	o->hash = hash_word(hash_word(o->hash, (uint64_t)r->write_us), (uint64_t)r->time_us);
	o->hash = hash_word(hash_word(o->hash, (uint64_t)r->number), (uint64_t)r->duration_us);
	o->hash = hash_word(hash_word(o->hash, r->job), r->name);
	o->hash = hash_word(o->hash,
			    r->kind | (uint64_t)r->written << 8 | (uint64_t)r->persistent << 16);
}

/* The short way, where it takes one, is the long way. */
static void same_step(struct goodput_parser *parser, const struct goodput_frame *f, size_t len,
		      const struct goodput_record *fast, struct goodput_entry *e)
{
	char reason[GOODPUT_REASON_MAX];

	REQUIRE(goodput_entry_parse(parser, f->at, len, e, reason) == 1);
	REQUIRE(e->record.kind == GOODPUT_STEP && fast->kind == GOODPUT_STEP);
	REQUIRE(e->record.write_us == fast->write_us && e->record.time_us == fast->time_us);
	REQUIRE(e->record.number == fast->number && e->record.job == fast->job);
	REQUIRE(!e->record.written);
}

static void entries_run(struct goodput_frame *f, struct goodput_parser *parser,
			struct goodput_names *names, struct goodput_entry *e, struct outcome *o)
{
	char reason[GOODPUT_REASON_MAX];
	struct goodput_record fast;
	size_t len, fast_len;
	const char *why;
	int rc;

	while (goodput_frame_begin(f)) {
		fast_len = f->seen ? 0
				   : goodput_step_line(f->at, (size_t)(f->end - f->at), names,
						       &fast);
		rc = (int)goodput_frame_scan(f, &len, &why);
		if (rc == FRAME_MORE)
			return;
		if (rc == FRAME_BROKEN) {
			REQUIRE(!fast_len);
			o->bad++;
			continue;
		}
		REQUIRE(!fast_len || fast_len == len);
		rc = goodput_entry_parse(parser, f->at, len, e, reason);
		if (fast_len)
			same_step(parser, f, len, &fast, e);
		goodput_frame_pass(f, len);
		o->bad += rc < 0;
		o->foreign += !rc;
		REQUIRE(rc >= 0 || fuzz_printable(reason, strlen(reason), false));
		if (rc <= 0)
			continue;
		record_sound(&e->record, names);
		outcome_record(o, e);
	}
}

/* In pieces of `step` bytes. */
static struct outcome entries_in(const char *data, size_t len, size_t step)
{
	struct goodput_names *names = goodput_names_new();
	struct goodput_parser *parser = goodput_parser_new(names);
	struct goodput_entry e = {.record.write_us = GOODPUT_UNKNOWN};
	struct outcome o = {.hash = HASH_START};
	struct goodput_frame f;

	REQUIRE(parser);
	goodput_frame_start(&f);
	goodput_frame_feed(&f, data, data);
	for (size_t at = 0; at < len; at += step) {
		goodput_frame_feed(&f, f.at, data + (len - at < step ? len : at + step));
		entries_run(&f, parser, names, &e, &o);
	}
	goodput_parser_free(parser);
	goodput_names_free(names);
	return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct outcome whole, pieces;

	if (len < 2)
		return 0;
	whole = entries_in((const char *)data + 1, len - 1, len);
	pieces = entries_in((const char *)data + 1, len - 1, 1u + data[0]);
	REQUIRE(!memcmp(&whole, &pieces, sizeof(whole)));
	return 0;
}
