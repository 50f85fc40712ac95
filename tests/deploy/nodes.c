/* SPDX-License-Identifier: Apache-2.0 */
/* nodes - pages of metrics of a cluster that trains, made by what makes gp-bpf's: nodes of eight
 * ranks each, as they are every second of a time that runs twelve times as fast.
 *
 * nodes NODES SECONDS DIR   writes DIR/NODE.SECOND
 *
 * llama: ranks on all nodes; four fifths are progress; rank 37 is who the others wait for;
 * restarted once, half-way; the ranks of node 5 end soon after. bert: on the last two nodes too;
 * half is progress; slow, in a crash loop, one rank hangs. */
#include <stdlib.h>

#include "tests/unit/fixture.h"
#include "userspace/export/prometheus/prometheus_text.h"

#define RANKS	 8  /* of a job on a node */
#define FAST	 12 /* seconds of theirs in one */
#define BEGAN_NS (1000 * S)
#define AGE_S	 36000
#define LEFT	 5  /* node whose ranks of llama end */
#define LATE	 37 /* rank who is waited for */

static struct fixture fx;
static struct job_view jobs[2];

static void spend(struct ledger_view *l, uint64_t age_ns, uint64_t productive_percent)
{
	memset(l->ns, 0, sizeof(l->ns));
	l->start_ns = BEGAN_NS;
	l->now_ns = BEGAN_NS + age_ns;
	l->ns[BUCKET_GOODPUT] = l->productive_gross_ns = age_ns / 100 * productive_percent;
	l->ns[BUCKET_DATA_LOADING] = age_ns / 100 * 5;
	l->ns[BUCKET_OTHER] = age_ns - l->ns[BUCKET_GOODPUT] - l->ns[BUCKET_DATA_LOADING];
}

static void member(struct job_view *j, int rank, uint64_t age_ns, bool half, uint64_t percent)
{
	struct rank_view *r = fixture_trainer(&fx, 1000 + (uint32_t)rank, rank, j->world_size);
	struct loop_view *l = r->loops;

	snprintf(r->job, sizeof(r->job), "%s", j->name);
	r->job_key = j->key;
	r->run = j->runs;
	r->observed_ns = BEGAN_NS;
	r->accelerators = 1;
	r->overhead.sum.all_ns = age_ns / 2000;
	r->overhead.sum.marker_ns = age_ns / 5000;
	r->checkpoint_save_ns = age_ns / 100;
	r->placed = true;
	snprintf(r->place.namespace, sizeof(r->place.namespace), "train");
	snprintf(r->place.pod, sizeof(r->place.pod), "%s-%d", j->name, rank / RANKS);
	snprintf(r->place.node, sizeof(r->place.node), "node-%d", rank / RANKS);
	spend(&r->ledger, age_ns, percent);
	l->state.steps = l->time.count = l->last_number = age_ns / S * 10;
	l->time.bucket[6] = l->time.count - 40;
	l->time.sum_ns = age_ns / 100 * percent;
	l->recent_times[0] = (struct times_view){
		.count = 600, .p50_ns = 80 * MS, .p95_ns = 85 * MS, .p99_ns = 90 * MS};
	l->change.known = l->device_known = true;
	l->phases_known |= 1u << PHASE_COLLECTIVE;
	l->phase_ns[PHASE_FORWARD] = l->phase_ns[PHASE_BACKWARD] = age_ns / 5;
	l->phase_ns[PHASE_COLLECTIVE] = age_ns / 10;
	l->wait_ns = age_ns / 100 * (rank == LATE ? 5 : 35);
	r->straggle.now = rank == LATE;
	r->straggle.count = rank == LATE;
	if (rank == LATE)
		snprintf(r->straggle.phase, sizeof(r->straggle.phase), "forward");
	if (j->key == 2) {
		l->change.slow = l->slow_alarm = true;
		l->change.count = l->slow_alarms = 1;
		l->change.before_ns = 80 * MS;
		l->change.after_ns = 120 * MS;
		l->change.blame = PHASE_COLLECTIVE;
		r->hang.hung = rank == 3;
		r->faults[0] = half ? 2 : 1;
	} else if (half && rank / RANKS == LEFT) {
		r->alive = false;
		l->state.state = STATE_ENDED;
	}
}

static void job(uint64_t key, const char *name, uint32_t node, uint32_t first, uint32_t nodes,
		uint64_t age_ns, bool half)
{
	struct job_view *j = &jobs[fx.s.njobs++];
	uint64_t percent = key == 1 ? 80 : 50;

	memset(j, 0, sizeof(*j));
	j->key = key;
	snprintf(j->name, sizeof(j->name), "%s", name);
	j->runs = key == 1 && half ? 2 : 1;
	j->reported_here = node == first;
	j->world_size = (int)(nodes * RANKS);
	j->run_ranks = j->accelerators = RANKS;
	j->last_step = age_ns / S * 10;
	j->starts = j->futile_runs = key == 2 ? 3 : 0;
	spend(&j->ledger, age_ns, percent);
	j->wasted_gross_ns = 100 * S;
	j->ledger.disruptions = j->runs;
	j->ncauses = 1;
	j->causes[0].cause = CAUSE_killed;
	j->causes[0].count = j->runs;
	j->scheduling = (struct scheduling){.known = true};
	for (int i = 0; i < SCHEDULE_COUNT; i++)
		j->scheduling.ns[i] = (uint64_t)(i + 1) * 10 * S;
	j->program.steps = j->program.elapsed = (struct program_rate){
		.samples = 100, .flops = 1e15, .mfu = 0.4};
	for (int b = 0; b < BUCKETS_EXPORTED; b++)
		j->accelerator_ns[b] = (double)j->ledger.ns[b] * RANKS;
	for (uint32_t i = 0; i < RANKS; i++)
		member(j, (int)((node - first) * RANKS + i), age_ns, half, percent);
}

static int page(const char *dir, uint32_t node, uint32_t nodes, uint32_t second, uint32_t seconds)
{
	uint64_t age_ns = (AGE_S + (uint64_t)second * FAST) * S;
	struct buffer b = {0};
	char path[4096];
	FILE *out;
	int err;

	fixture_init(&fx);
	fx.s.jobs = jobs;
	fx.s.mono_ns = BEGAN_NS + age_ns;
	fx.s.session_ns = BEGAN_NS;
	fx.s.exports[0] = (struct export_view){
		.name = "cloud-monitoring", .up = true, .sent = second};
	job(1, "llama", node, 0, nodes, age_ns, second > seconds / 2);
	if (node >= nodes - 2)
		job(2, "bert", node, nodes - 2, 2, age_ns, second > seconds / 2);
	prometheus_text(&b, &fx.s, PROMETHEUS_TEXT);
	snprintf(path, sizeof(path), "%s/%u.%u", dir, node, second);
	out = fopen(path, "we");
	err = b.failed || !out || fwrite(b.data, 1, b.len, out) != b.len;
	if (out)
		err |= fclose(out);
	buffer_free(&b);
	return err;
}

int main(int argc, char **argv)
{
	uint32_t nodes = argc == 4 ? (uint32_t)atoi(argv[1]) : 0,
		 seconds = argc == 4 ? (uint32_t)atoi(argv[2]) : 0;

	if (nodes <= LEFT || nodes > 64 || !seconds)
		return 2;
	for (uint32_t n = 0; n < nodes; n++)
		for (uint32_t t = 0; t <= seconds; t++)
			if (page(argv[3], n, nodes, t, seconds))
				return 1;
	return 0;
}
