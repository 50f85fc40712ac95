/* SPDX-License-Identifier: Apache-2.0 */
/* What another node, or somebody else, left of a job: refused, or written again as the same text,
 * in no more room; and a model that is told so goes on with a ledger that closes. */
#include "tests/fuzz/records.h"
#include "tests/fuzz/shown.h"
#include "userspace/model/job/carry.h"
#include "userspace/model/model.h"

static void on_fact(void *ctx, const struct fact *f)
{
	(void)ctx;
	shown_fact(f, NULL);
}

static void feed(struct model *m, const struct records *r)
{
	struct event ev;

	REQUIRE(!event_decode(r->bytes, ((const struct gp_rec *)(const void *)r->bytes)->len, &ev));
	REQUIRE(!model_feed(m, &ev));
}

static void closes(struct model *m)
{
	struct snapshot *s = model_snapshot(m);

	REQUIRE(s);
	for (uint32_t i = 0; i < s->njobs; i++) {
		const struct ledger_view *l = &s->jobs[i].ledger;
		uint64_t sum_ns = 0;

		for (int b = 0; b < BUCKET_COUNT; b++)
			sum_ns += l->ns[b];
		REQUIRE(sum_ns == l->now_ns - l->start_ns);
	}
	shown_snapshot(s, 100);
	snapshot_unref(s);
}

/* A job of that name begins here, whatever else the bytes are records of. */
static void go_on(const struct carry *c, const uint8_t *data, size_t len)
{
	struct records r = {.in = {data, data + len}, .ts_ns = RECORDS_BASE_NS};
	struct model *m = model_new(on_fact, NULL);
	struct gp_process *p;
	struct gp_clock *clock;
	struct gp_carry *told;
	struct carry own;

	REQUIRE(m);
	clock = records_init(&r, GP_KIND_clock, 0, 0, 0);
	clock->real_ns = 1795262400000000000LL;
	feed(m, &r);
	told = records_init(&r, GP_KIND_carry, 0, 0, 0);
	told->len = (uint32_t)len;
	memcpy(told->text, data, len);
	feed(m, &r);
	closes(m);
	p = records_init(&r, GP_KIND_process, 1, 0, 0);
	p->start_ns = p->start_mono_ns = RECORDS_BASE_NS;
	p->rank = p->world_size = p->local_rank = -1;
	snprintf(p->job, sizeof(p->job), "%s", c->job);
	feed(m, &r);
	while (records_next(&r) && r.ts_ns < CARRY_NS_MAX) /* no clock tells later times */
		feed(m, &r);
	closes(m);
	for (uint32_t i = 0; model_carry(m, i, &own) >= 0; i++)
		;
	model_free(m);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char text[CARRY_MAX + 1], again[CARRY_MAX + 1];
	struct carry c, back;
	size_t n, m;

	if (carry_parse(&c, (const char *)data, len))
		return 0;
	n = carry_text(text, &c);
	REQUIRE(n <= CARRY_MAX);
	REQUIRE(!carry_parse(&back, text, n));
	m = carry_text(again, &back);
	REQUIRE(m == n && !memcmp(text, again, n));
	go_on(&c, data, len);
	return 0;
}
