/* SPDX-License-Identifier: Apache-2.0 */
/* The model under any stream of events: its ledger closes after each, a saved one goes on as it
 * stood, and what is told and shown is fit to be. */
#include "tests/fuzz/records.h"
#include "tests/fuzz/shown.h"
#include "userspace/model/model.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	return 0;
}

static void on_fact(void *ctx, const struct fact *f)
{
	uint64_t *number = ctx;

	REQUIRE(f->number == *number + 1);
	*number = f->number;
	shown_fact(f, NULL);
}

static struct model *reload(struct model *m, uint64_t *number)
{
	struct buffer saved = {0}, again = {0};
	struct model *loaded = NULL;

	REQUIRE(!model_save(m, &saved));
	REQUIRE(!model_load(&loaded, on_fact, number, saved.data, saved.len));
	REQUIRE(!model_save(loaded, &again));
	REQUIRE(again.len == saved.len && !memcmp(again.data, saved.data, saved.len));
	buffer_free(&saved);
	buffer_free(&again);
	model_free(m);
	return loaded;
}

static void show(struct model *m, int cols)
{
	struct snapshot *s = model_snapshot(m);

	REQUIRE(s);
	shown_snapshot(s, cols);
	snapshot_unref(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct records r = {.in = {data, data + len}};
	uint64_t number = 0;
	struct model *m = model_new(on_fact, &number);
	struct event ev;

	REQUIRE(m);
	while (records_next(&r)) {
		REQUIRE(!event_decode(r.bytes, ((struct gp_rec *)(void *)r.bytes)->len, &ev));
		if (ev.rec->kind == GP_KIND_drain) /* the stream's own */
			continue;
		REQUIRE(!model_feed(m, &ev));
		REQUIRE(!model_ledger_violations(m));
		if (r.in.at < r.in.end && *r.in.at == 0x77)
			m = reload(m, &number);
	}
	show(m, 80 + (int)(len % 100));
	model_free(m);
	return 0;
}
