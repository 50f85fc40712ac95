/* SPDX-License-Identifier: Apache-2.0 */
/* Exporters and views of a snapshot, and facts, whose every text is hostile. */
#include "tests/fuzz/shown.h"
#include "tests/unit/fixture.h"

static struct fixture fixture;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	return 0;
}

/* A piece of the input as a text: always ended. */
#define FILL(in, field) fill(in, field, sizeof(field))
static void fill(struct input *in, char *field, size_t len)
{
	struct input piece = input_piece(in);
	size_t n = input_left(&piece) < len - 1 ? input_left(&piece) : len - 1;

	memcpy(field, piece.at, n);
	field[n] = 0;
}

static void snapshot_fill(struct input *in, struct snapshot *s)
{
	struct rank_view *r = fixture_trainer(&fixture, 100, input_byte(in) % 3 - 1, 4);
	struct loop_view *l = r->loops;
	struct attach_view *a = fixture_attach(&fixture, "x", "y", input_byte(in) % 5, 7);

	FILL(in, s->session.version);
	FILL(in, s->session.kernel);
	FILL(in, s->session.command);
	FILL(in, r->comm);
	FILL(in, r->job);
	FILL(in, r->command);
	FILL(in, r->events[0].text);
	FILL(in, l->state.marker);
	FILL(in, l->state.ratios);
	FILL(in, l->state.reason);
	FILL(in, a->id);
	FILL(in, a->runtime);
	FILL(in, a->at.library);
	for (int i = 0; i < GP_LOSS_CAUSE_COUNT; i++)
		s->lost[i] = input_byte(in);
	r->alive = input_byte(in) & 1;
	r->status = input_byte(in) << 8 | input_byte(in);
}

static void facts_show(struct input *in, const struct snapshot *s)
{
	char text[200], job[64];
	struct fact_checkpoint checkpoint = {.file = text};
	struct fact_range range = {.name = text, .bucket = input_byte(in) % 3};
	struct job_fall disruption = {.why = {.cause = "killed", .signal = 9}};
	struct gp_end end = {0};
	const struct fact facts[] = {
		{.type = FACT_START, .start = &s->session},
		{.type = FACT_RANK, .state = &s->ranks[0].loops[0].state},
		{.type = FACT_CHECKPOINT, .checkpoint = &checkpoint},
		{.type = FACT_RANGE, .range = &range},
		{.type = FACT_DISRUPTION, .disruption = &disruption},
		{.type = FACT_END, .end = &end},
	};

	FILL(in, text);
	snprintf(disruption.why.sender_comm, sizeof(disruption.why.sender_comm), "%s", text);
	FILL(in, job);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		struct fact f = facts[i];

		f.job = job;
		f.number = i + 1;
		f.pid = 100;
		f.rank = f.world_size = -1;
		shown_fact(&f, f.type == FACT_END ? s : NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = {data, data + len};

	fixture_init(&fixture);
	snapshot_fill(&in, &fixture.s);
	facts_show(&in, &fixture.s);
	shown_snapshot(&fixture.s, 80 + (int)(len % 100));
	return 0;
}
