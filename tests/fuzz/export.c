/* SPDX-License-Identifier: Apache-2.0 */
/* Exporters and views of a snapshot, and facts, whose every text is hostile. */
#include "tests/fuzz/shown.h"
#include "tests/fuzz/ways.h"
#include "tests/unit/fixture.h"

static struct fixture fixture;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	ways_init();
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

static uint64_t wide(struct input *in)
{
	uint64_t value;

	input_bytes(in, &value, sizeof(value));
	return value;
}

/* Where they are told to lie in time is anybody's guess; their ends are not before their starts. */
static void step_fill(struct input *in, struct fact_step *s, struct share_view *ranges)
{
	s->step = (struct step){.loop = input_byte(in) % 3,
				.number = 1 + input_byte(in),
				.start_ns = 1000 * S + wide(in) % (200 * S),
				.micro_batches = 1,
				.updates = 1,
				.flags = input_byte(in),
				.tier = TIER_A,
				.boundary = BOUNDARY_UPDATE_EXIT,
				.series = input_byte(in) % 3,
				.unit = input_byte(in) % 8 ? UNIT_STEP : UNIT_EXECUTION};
	s->step.end_ns = s->step.start_ns + wide(in) % (20 * S);
	s->run_step = s->step.number;
	s->phases_known = input_byte(in);
	for (int i = 0; i < PHASE_COUNT; i++)
		s->phase_ns[i] = s->phases_known & 1u << i ? wide(in) % S : 0;
	s->npieces = input_byte(in) % (STEP_PIECES + 1);
	s->nblocked = input_byte(in) % (STEP_PIECES + 1);
	for (uint32_t i = 0; i < STEP_PIECES; i++) {
		s->piece[i] = (struct step_piece){input_byte(in) % PHASE_COUNT,
						  1000 * S + wide(in) % (200 * S),
						  1000 * S + wide(in) % (200 * S)};
		s->blocked[i] = s->piece[STEP_PIECES - 1 - i];
	}
	s->ranges = ranges;
	ranges->nparts = input_byte(in) % SHARE_PARTS;
	for (uint32_t i = 0; i < ranges->nparts; i++) {
		FILL(in, ranges->part[i].name);
		ranges->part[i].ns = wide(in) % S;
	}
}

static void job_fill(struct input *in, struct job_view *j)
{
	*j = (struct job_view){.key = 1,
			       .state = input_byte(in) % 4,
			       .first_pid = 100,
			       .runs = 1,
			       .reference_pid = 100,
			       .ledger = fixture.ranks[0].ledger,
			       .last_step = input_byte(in),
			       .reported_here = true};
	FILL(in, j->name);
	fixture.s.jobs = j;
	fixture.s.njobs = 1;
}

static void facts_show(struct input *in, struct snapshot *s)
{
	static struct job_view view;
	char text[200], job[64];
	struct fact_checkpoint checkpoint = {
		.file = text, .restore = input_byte(in) & 1, .async = input_byte(in) & 1};
	struct fact_range range = {.name = text, .bucket = input_byte(in) % 3};
	struct job_disruption disruption = {.number = 1,
					    .why = {.cause = CAUSE_killed, .signal = 9},
					    .over = input_byte(in) & 1};
	struct fact_health health = {
		.kind = "hang", .why = "collective", .phase = "", .evidence = text};
	struct fact_step step = {0};
	struct share_view ranges = {0};
	struct gp_end end = {0};
	const struct fact facts[] = {
		{.type = FACT_START, .start = &s->session},
		{.type = FACT_RANK, .state = &s->ranks[0].loops[0].state},
		{.type = FACT_STEP, .step = &step},
		{.type = FACT_CHECKPOINT, .checkpoint = &checkpoint},
		{.type = FACT_RANGE, .range = &range},
		{.type = FACT_LEDGER, .ledger = &s->ranks[0].ledger},
		{.type = FACT_HEALTH, .health = &health},
		{.type = FACT_DISRUPTION, .disruption = &disruption},
		{.type = FACT_END, .end = &end},
	};

	FILL(in, text);
	snprintf(disruption.why.sender_comm, sizeof(disruption.why.sender_comm), "%s", text);
	FILL(in, job);
	job_fill(in, &view);
	step_fill(in, &step, &ranges);
	checkpoint.start_ns = range.start_ns = health.onset_ns = 1000 * S + wide(in) % (200 * S);
	checkpoint.end_ns = range.end_ns = checkpoint.start_ns + wide(in) % (200 * S);
	checkpoint.closed = input_byte(in) & 1;
	ways_open();
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		struct fact f = facts[i];

		f.job = job;
		f.number = i + 1;
		f.pid = 100;
		f.rank = f.world_size = input_byte(in) % 4 - 1;
		f.mono_ns = 1100 * S;
		f.real_ns = s->real_ns;
		f.types = &s->types;
		shown_fact(&f, f.type == FACT_END ? s : NULL);
		ways_fact(&f);
	}
	otlp_tree_tick(ways.tree, 4000 * S);
	ways_snapshot(s);
	ways_close();
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
