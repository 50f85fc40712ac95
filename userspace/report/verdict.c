/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.c - the rules that find what limits a job. Each rule is a function that adds at most one
 * finding. A change of a rule or a limit also belongs in docs/verdicts.md. */
#include "userspace/report/verdict.h"

#include <stdio.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/plural.h"
#include "userspace/base/json_text.h"
#include "userspace/model/time/hang.h"
#include "userspace/text/format.h"

/* A job with less observed time or fewer steps gets no findings. */
#define JUDGED_MIN_NS 5000000000ull
#define STEPS_MIN     20
/* A problem that costs a smaller share of the observed time is not a finding. */
#define COST_MIN 0.05
/* Least share of data loading for a finding. Data loading overlaps with other work in most jobs;
 * only the part that does not is measured. */
#define INPUT_MIN 0.1
/* Least shares for findings about collectives and copies (of a step) and evaluation (of the time),
 * some of which are always necessary. */
#define COMMUNICATION_MIN 0.2
#define COPY_MIN	  0.1
#define EVALUATION_MIN	  0.1
#define STARTUP_MIN	  0.1 /* least share of startup for a finding */
#define DEVICE_MIN	  0.5 /* least share of a step in which the host waits for the device */
#define UNEVEN_RATIO	  2.0 /* least ratio of p99 to median step time for a finding */
/* least share of time in which the training thread waits for a resource */
#define LACK_MIN 0.1
/* least share of time in the kernel: a part of it is necessary */
#define KERNEL_MIN     0.25
#define OWN_CODE_MIN   0.1
#define OTHER_MIN      0.1
#define NEXT_PEERS     "gp-bpf explain --name PATTERN, for all ranks of this node"
#define PERCENT(share) (100 * (share))
#define SHARE(f, part) ((double)(part) / (double)(f)->judged_ns)

const char *const verdict_name[VERDICT_COUNT] = {
#define X(id, label) #id,
	VERDICTS(X)
#undef X
};

const char *const verdict_label[VERDICT_COUNT] = {
#define X(id, label) label,
	VERDICTS(X)
#undef X
};

/* Advice for each cause of a slowdown; NULL: there is none. */
static const char *const next_of_cause[TIME_CAUSE_COUNT] = {
	[TIME_CAUSE_unknown] = "gp-bpf explain --pid again while it lasts, or py-spy dump",
	[TIME_CAUSE_cpu_contention] = "give the job CPUs of its own, or move the other programs",
	[TIME_CAUSE_cpu_throttled] = "raise the CPU limit of its control group",
	[TIME_CAUSE_memory_pressure] = "more memory for its control group, or fewer workers",
	[TIME_CAUSE_disk] = "faster storage, or a copy of the data on a local disk",
	[TIME_CAUSE_loader_cpu] = "more loader workers, or cheaper preprocessing",
	[TIME_CAUSE_loader_io] = "faster storage, or a copy of the data on a local disk",
	[TIME_CAUSE_network] = "look at the server that it asks; for data: a copy on a local disk",
	[TIME_CAUSE_garbage_collection] =
		"gc.freeze() after the setup, or gc.disable() and gc.collect() between steps",
	[TIME_CAUSE_own_code] = "make that line cheaper, or move it to another thread",
	[TIME_CAUSE_device_throttled] = "check the cooling and the power limit of the accelerator",
	[TIME_CAUSE_device_error] = "take the accelerator out of use, and test its memory",
	[TIME_CAUSE_interpreter_lock] = "move what the other threads do to another process",
	[TIME_CAUSE_checkpoint] = "save less often, or from another process",
	[TIME_CAUSE_frequency] =
		"check the cooling and the power settings (cpupower frequency-info)",
	[TIME_CAUSE_kernel] = "reuse buffers, or another allocator (jemalloc, tcmalloc); perf top",
	[TIME_CAUSE_lock] = "look at the thread that has the lock",
	[TIME_CAUSE_pipe] = "look at the process at the other end",
	[TIME_CAUSE_child] = "start programs outside of the training loop",
	[TIME_CAUSE_straggler] = "see the causes of the rank that comes late",
};

static const char *const next_of_hang[GP_WHY_COUNT] = {
	[GP_WHY_collective] = "look at the rank that has not entered it (--name watches all)",
	[GP_WHY_input] = "look at the loader's workers and at what they read",
	[GP_WHY_device] = "look at the device: its driver's log, its health",
	[GP_WHY_io] = "look at the file system that it reads or writes",
	[GP_WHY_stopped] = "kill -CONT, or detach the debugger",
};

static struct verdict *verdict_add(struct verdicts *v, enum verdict_kind kind, double share)
{
	struct verdict *one = &v->of[v->count++];

	*one = (struct verdict){.kind = kind, .share = share};
	return one;
}

static void verdict_next(struct verdict *v, const char *next)
{
	snprintf(v->next, sizeof(v->next), "%s", next ? next : "");
}

/* Adds a text to the evidence of a verdict. */
static void verdict_evidence(struct verdict *v, const char *text)
{
	size_t at = strlen(v->evidence);

	if (*text)
		snprintf(v->evidence + at, sizeof(v->evidence) - at, "%s%s", at ? "; " : "", text);
}

/* Writes "rank 3 " to out, or "" if rank is -1. Returns out. */
static const char *verdict_rank(char out[WORD_MAX], int rank)
{
	*out = '\0';
	if (rank >= 0)
		snprintf(out, WORD_MAX, "rank %d ", rank);
	return out;
}

/* ---- troubles of this moment ----------------------------------------------------------------- */

static void verdict_hung(struct verdicts *v, const struct verdict_facts *f)
{
	char took[WORD_MAX] = "", rank[WORD_MAX];
	struct verdict *one;

	if (!f->hang.now)
		return;
	one = verdict_add(v, VERDICT_hung, SHARE(f, f->hang.for_ns));
	if (f->hang.for_ns)
		clock_duration(took, sizeof(took), f->hang.for_ns);
	snprintf(one->text, sizeof(one->text), "%smakes no progress%s%s: %s",
		 verdict_rank(rank, f->hang.rank), *took ? " for " : "", took,
		 hang_why_text[f->hang.why]);
	snprintf(one->evidence, sizeof(one->evidence), "%s", f->hang.evidence);
	verdict_next(one, next_of_hang[f->hang.why]);
}

static void verdict_crash_loop(struct verdicts *v, const struct verdict_facts *f)
{
	struct verdict *one;

	if (f->futile_runs < JOB_FUTILE)
		return;
	one = verdict_add(v, VERDICT_crash_loop, SHARE(f, f->ns[BUCKET_RECOVERY]));
	snprintf(one->text, sizeof(one->text), "%u failed runs in a row saved no further step",
		 f->futile_runs);
	verdict_next(one, "read the job's own log: gp-bpf report lists the causes of the ends");
}

static void verdict_slow(struct verdicts *v, const struct verdict_facts *f)
{
	char before[WORD_MAX], after[WORD_MAX], rank[WORD_MAX], why[200];
	enum time_cause cause = time_cause_main(&f->slow.causes);
	struct verdict *one;
	size_t at;

	if (!f->slow.now)
		return;
	one = verdict_add(v, VERDICT_slow, 0);
	verdict_next(one, next_of_cause[cause]);
	if (!f->slow.before_ns) {
		snprintf(one->text, sizeof(one->text), "%.239s", f->slow.evidence);
		return;
	}
	one->share = 1 - (double)f->slow.before_ns / (double)f->slow.after_ns;
	clock_durations(before, after, WORD_MAX, f->slow.before_ns, f->slow.after_ns);
	snprintf(one->text, sizeof(one->text), "%s%s a step instead of %s since step %llu",
		 verdict_rank(rank, f->slow.rank), after, before,
		 (unsigned long long)f->slow.since_step);
	time_causes_text(why, sizeof(why), &f->slow.causes);
	at = strlen(one->text);
	snprintf(one->text + at, sizeof(one->text) - at, "%s%s%s", *why ? ": " : "", why,
		 f->slow.peers ? ", perhaps for other ranks" : "");
	at = strlen(one->text);
	if (*f->slow.where.line)
		snprintf(one->text + at, sizeof(one->text) - at, "%s %.0f %% of the time is at %s",
			 *why ? ";" : ":", PERCENT(f->slow.where.share), f->slow.where.line);
	if (f->slow.peers)
		verdict_next(one, NEXT_PEERS);
	snprintf(one->evidence, sizeof(one->evidence), "%s", f->slow.causes.figures);
}

static void verdict_straggler(struct verdicts *v, const struct verdict_facts *f)
{
	char took[WORD_MAX];
	struct verdict *one;

	if (!f->straggler.now)
		return;
	one = verdict_add(v, VERDICT_straggler,
			  f->mean_ns > 0 ? (double)f->straggler.size_ns / f->mean_ns : 0);
	snprintf(one->text, sizeof(one->text), "the others wait %s a step for rank %d%s%s",
		 clock_duration(took, sizeof(took), f->straggler.size_ns), f->straggler.rank,
		 *f->straggler.phase ? ", slow in " : "", f->straggler.phase);
	verdict_next(one, "look at the node and the device of that rank");
}

/* ---- lost time ------------------------------------------------------------------------------- */

/* Adds to the evidence of a verdict what explains the time in a bucket. */
static void verdict_badput(struct verdict *v, const struct verdict_facts *f, enum bucket bucket)
{
	const struct badput_view *b = f->badput;
	struct time_causes causes = {0};
	char why[sizeof(v->evidence) / 3], took[WORD_MAX], line[sizeof(v->evidence) / 3] = "";

	while (b < f->badput + RANK_BADPUT && (b->bucket != bucket || !b->examined_ns))
		b++;
	if (b == f->badput + RANK_BADPUT)
		return;
	causes.lost_ns = b->examined_ns;
	memcpy(causes.ns, b->ns, sizeof(causes.ns));
	time_causes_text(why, sizeof(why), &causes);
	if (*b->most.line)
		snprintf(line, sizeof(line), "%.0f %% at %s", PERCENT(b->most.share), b->most.line);
	if (*why || *line)
		snprintf(v->evidence, sizeof(v->evidence), "of %s examined: %s%s%s",
			 clock_duration(took, sizeof(took), b->examined_ns), why,
			 *why && *line ? "; " : "", line);
}

static void verdict_restarts(struct verdicts *v, const struct verdict_facts *f)
{
	uint64_t down_ns = f->ns[BUCKET_RECOVERY] + f->ns[BUCKET_SLICE_DOWN] +
			   f->ns[BUCKET_SCALE_UP] + f->ns[BUCKET_REINIT],
		 wasted_ns = f->ns[BUCKET_WASTED], restore_ns = f->ns[BUCKET_CHECKPOINT_RESTORE];
	double share = SHARE(f, down_ns + wasted_ns + restore_ns);
	struct verdict *one;

	if (share < COST_MIN)
		return;
	one = verdict_add(v, VERDICT_restarts, share);
	snprintf(one->text, sizeof(one->text),
		 "%.0f %% of the time was lost to %llu disruption%s: down %.0f %%, repeated steps "
		 "%.0f %%, restoring %.0f %%",
		 PERCENT(share), (unsigned long long)f->disruptions, plural(f->disruptions),
		 PERCENT(SHARE(f, down_ns)), PERCENT(SHARE(f, wasted_ns)),
		 PERCENT(SHARE(f, restore_ns)));
	if (restore_ns)
		verdict_badput(one, f, BUCKET_CHECKPOINT_RESTORE);
	verdict_next(one, wasted_ns > down_ns ? "save checkpoints more often"
					      : "find the causes: gp-bpf report lists them");
}

static void verdict_hangs(struct verdicts *v, const struct verdict_facts *f)
{
	double share = SHARE(f, f->ns[BUCKET_HANG]);
	struct verdict *one;

	if (f->hang.now || share < COST_MIN)
		return;
	one = verdict_add(v, VERDICT_hangs, share);
	snprintf(one->text, sizeof(one->text), "%.0f %% of the time stood still in hangs",
		 PERCENT(share));
	verdict_next(one, "gp-bpf report lists each with its evidence");
}

/* Returns the share of the time f->judged_ns that all steps together spend in a phase. part
 * PHASE_COUNT stands for the time in no phase. 0: unknown. */
static double verdict_part(const struct verdict_facts *f, int part)
{
	if (part < PHASE_COUNT && !(f->phases_known & 1u << part))
		return 0;
	return f->phases_known ? f->phase_ns[part] * (double)f->steps / (double)f->judged_ns : 0;
}

/* Returns the share of a step that a phase takes. part PHASE_COUNT stands for the time in no phase.
 * 0: unknown. */
static double verdict_of_step(const struct verdict_facts *f, int part)
{
	if (part < PHASE_COUNT && !(f->phases_known & 1u << part))
		return 0;
	return f->phases_known && f->mean_ns > 0 ? f->phase_ns[part] / f->mean_ns : 0;
}

static void verdict_input_next(struct verdict *v, const struct input_finding *f)
{
	static const char *const next[INPUT_REASONS] = {
		[INPUT_UNKNOWN] = "more loader workers, or cheaper preprocessing",
		[INPUT_MAIN] = "cheaper work on each batch in the training process",
		[INPUT_PIN] = "smaller batches, or no pinned memory",
		[INPUT_WORKERS] = "cheaper preprocessing, or a machine with more cores",
		[INPUT_CONTENTION] = "fewer loader workers, or move the other programs",
		[INPUT_DISK] = "faster storage, or a copy of the data on a local disk",
		[INPUT_NETWORK] = "more loader workers, or a copy of the data on a local disk",
		[INPUT_BLOCK] = "loader workers: the training process loads the batches itself",
	};

	verdict_next(v, next[f->reason]);
	if (f->reason == INPUT_MAIN && f->workers < 0.5)
		verdict_next(v, next[INPUT_BLOCK]);
	else if (f->one_slow)
		verdict_next(v, "find out what is slow in that worker: its samples, or its CPU");
	else if (f->reason == INPUT_WORKERS && f->idle >= 1)
		snprintf(v->next, sizeof(v->next), "more loader workers (%.0f idle core%s)",
			 f->idle, f->idle < 1.5 ? "" : "s");
}

/* Returns the share of the time in which the job waits for data. *ret_within: the share of waits
 * within steps. */
static double verdict_input_share(const struct verdict_facts *f, double *ret_within)
{
	double share = SHARE(f, f->ns[BUCKET_DATA_LOADING]); /* includes waits within steps */

	*ret_within = verdict_part(f, PHASE_DATA);
	if (!*ret_within && !(f->phases_known & 1u << PHASE_DATA))
		*ret_within = f->input_share;
	return share < *ret_within ? *ret_within : share;
}

static void verdict_input(struct verdicts *v, const struct verdict_facts *f)
{
	double within, share = verdict_input_share(f, &within);
	struct verdict *one;
	char why[120];

	if (share < INPUT_MIN)
		return;
	one = verdict_add(v, VERDICT_input_bound, share);
	snprintf(one->text, sizeof(one->text), "%.0f %% of the time waits for data%s",
		 PERCENT(share),
		 within > 0.9 * share  ? ", within steps"
		 : within < share / 10 ? ", between steps"
				       : ", within steps and between them");
	if (*input_finding_text(why, sizeof(why), &f->input))
		snprintf(one->text + strlen(one->text), sizeof(one->text) - strlen(one->text),
			 ": %s", why);
	if (f->input.reason == INPUT_DISK || f->input.reason == INPUT_NETWORK)
		snprintf(one->evidence, sizeof(one->evidence), "%s", f->worker);
	if (f->input.reason == INPUT_DISK)
		verdict_evidence(one, f->worker_reads);
	if (f->input.reason == INPUT_NETWORK)
		verdict_evidence(one, f->network);
	verdict_input_next(one, &f->input);
}

static void verdict_phase(struct verdicts *v, const struct verdict_facts *f, enum verdict_kind kind,
			  enum phase phase, double least, const char *what, const char *next)
{
	double share = verdict_of_step(f, (int)phase);
	struct verdict *one;

	if (share < least)
		return;
	one = verdict_add(v, kind, verdict_part(f, (int)phase));
	snprintf(one->text, sizeof(one->text), "%.0f %% of each step %s", PERCENT(share), what);
	if (phase == PHASE_COLLECTIVE)
		verdict_evidence(one, f->network);
	verdict_next(one, next);
}

static void verdict_peers(struct verdicts *v, const struct verdict_facts *f)
{
	struct verdict *one;
	char rank[WORD_MAX];

	if (f->peers.share < COMMUNICATION_MIN || f->hang.now)
		return;
	one = verdict_add(v, VERDICT_communication_bound, f->peers.share);
	snprintf(one->text, sizeof(one->text),
		 "%.0f %% of the time %swaits for another thread%s%s, perhaps for other ranks",
		 PERCENT(f->peers.share), verdict_rank(rank, f->peers.rank),
		 *f->peers.line ? " at " : "", f->peers.line);
	verdict_next(one, NEXT_PEERS);
}

static void verdict_bucket(struct verdicts *v, const struct verdict_facts *f,
			   enum verdict_kind kind, enum bucket bucket, double least,
			   const char *what, const char *next)
{
	double share = SHARE(f, f->ns[bucket]);
	struct verdict *one;

	if (share < least)
		return;
	one = verdict_add(v, kind, share);
	snprintf(one->text, sizeof(one->text), "%.0f %% of the time %s", PERCENT(share), what);
	verdict_badput(one, f, bucket);
	verdict_next(one, next);
}

static void verdict_startup(struct verdicts *v, const struct verdict_facts *f)
{
	double share = SHARE(f, f->startup_ns);
	struct verdict *one;

	if (share < STARTUP_MIN)
		return;
	one = verdict_add(v, VERDICT_startup, share);
	snprintf(one->text, sizeof(one->text), "%.0f %% of the time is startup", PERCENT(share));
	verdict_next(one, "cache compiled programs and data, avoid restarts");
}

/* Adds what explains the long steps to the evidence of a verdict. */
static void verdict_long_steps(struct verdict *v, const struct verdict_facts *f)
{
	struct time_causes causes = {.lost_ns = f->long_steps.lost_ns};
	char why[sizeof(v->evidence) / 2], took[WORD_MAX], rank[WORD_MAX];

	memcpy(causes.ns, f->long_steps.ns, sizeof(causes.ns));
	size_t at;

	if (!f->long_steps.count)
		return;
	if (!*time_causes_text(why, sizeof(why), &causes))
		snprintf(why, sizeof(why), "unexplained");
	snprintf(v->evidence, sizeof(v->evidence),
		 "%s%llu steps of more than twice the p99 took %s longer than usual: %s",
		 verdict_rank(rank, f->long_rank), (unsigned long long)f->long_steps.count,
		 clock_duration(took, sizeof(took), f->long_steps.lost_ns), why);
	at = strlen(v->evidence);
	if (*f->long_steps.most.line)
		snprintf(v->evidence + at, sizeof(v->evidence) - at, "; %.0f %% at %s",
			 PERCENT(f->long_steps.most.share), f->long_steps.most.line);
}

static void verdict_uneven(struct verdicts *v, const struct verdict_facts *f)
{
	double lost = f->mean_ns > 0 ? 1 - (double)f->p50_ns / f->mean_ns : 0;
	double single = SHARE(f, f->long_steps.lost_ns);
	struct verdict *one;

	if (f->p50_ns && (double)f->p99_ns >= UNEVEN_RATIO * (double)f->p50_ns &&
	    lost >= COST_MIN) {
		one = verdict_add(v, VERDICT_uneven, lost * SHARE(f, f->ns[BUCKET_GOODPUT]));
		snprintf(one->text, sizeof(one->text),
			 "the slowest 1 %% of the steps take %.1f times the median, and %.0f %% of "
			 "the step time is above it",
			 (double)f->p99_ns / (double)f->p50_ns, PERCENT(lost));
	} else if (single >= COST_MIN) {
		one = verdict_add(v, VERDICT_uneven, single);
		snprintf(one->text, sizeof(one->text),
			 "%llu steps of more than twice the p99 cost %.0f %% of the time",
			 (unsigned long long)f->long_steps.count, PERCENT(single));
	} else {
		return;
	}
	verdict_long_steps(one, f);
	verdict_next(one, f->phases_known ? "the trace (-e trace) shows which part of them grows"
					  : "gp-bpf explain --pid again while they occur");
}

/* Returns true if the detail of a cause is the line of the thread that has the interpreter's
 * lock. */
static bool verdict_of_holder(enum time_cause cause)
{
	return cause == TIME_CAUSE_interpreter_lock || cause == TIME_CAUSE_checkpoint;
}

static void verdict_lack(struct verdicts *v, const struct verdict_facts *f, enum verdict_kind kind,
			 enum time_cause cause, double least)
{
	double share = f->lack[cause].share;
	struct verdict *one;
	char rank[WORD_MAX];
	size_t at;

	if (share < least)
		return;
	one = verdict_add(v, kind, share);
	snprintf(one->text, sizeof(one->text), "%.0f %% of the time %s%s", PERCENT(share),
		 f->lack[cause].rank < 0 ? "the training thread "
					 : verdict_rank(rank, f->lack[cause].rank),
		 cause == TIME_CAUSE_own_code ? "runs the job's own code" : time_cause_text[cause]);
	at = strlen(one->text);
	snprintf(one->text + at, sizeof(one->text) - at, "%s%s",
		 !*f->lack[cause].detail    ? ""
		 : verdict_of_holder(cause) ? " at "
					    : ": ",
		 f->lack[cause].detail);
	verdict_evidence(one, f->lack[cause].evidence);
	verdict_next(one, f->lack[cause].own ? "fewer threads or loader workers, or more CPUs"
					     : next_of_cause[cause]);
}

static const char *const next_of_wait[GP_WAIT_COUNT] = {
	[GP_WAIT_network] = "look at the server that it asks, or ask from another thread",
	[GP_WAIT_file] = "faster storage, or a copy of the data on a local disk",
	[GP_WAIT_page] = "more memory, or a copy of the data on a local disk",
	[GP_WAIT_pipe] = "look at the process at the other end of the pipe",
	[GP_WAIT_child] = "start programs outside of the training loop",
	[GP_WAIT_sleep] = "look for a sleep in the training loop",
	[GP_WAIT_lock] = "look at the thread that has the lock",
	[GP_WAIT_events] = "look at what that line waits for",
};

/* Reports that the training thread waits for something outside the job. Time in which it sleeps in
 * a line of the job's own code is subtracted, and so are waits for its data loader, because other
 * rules report these. */
static void verdict_blocked(struct verdicts *v, const struct verdict_facts *f)
{
	double share = f->blocked.share, within;
	struct verdict *one;
	char rank[WORD_MAX];

	if (f->blocked.wait == GP_WAIT_sleep)
		share -= f->lack[TIME_CAUSE_own_code].share;
	else if (f->blocked.wait == GP_WAIT_lock || f->blocked.wait == GP_WAIT_events)
		share -= f->lack[TIME_CAUSE_interpreter_lock].share +
			 f->lack[TIME_CAUSE_checkpoint].share + verdict_of_step(f, PHASE_SYNC) +
			 verdict_of_step(f, PHASE_COLLECTIVE) + verdict_of_step(f, PHASE_TRANSFER) +
			 verdict_of_step(f, PHASE_DATA);
	else
		share -= verdict_input_share(f, &within);
	if (share < LACK_MIN)
		return;
	one = verdict_add(v, VERDICT_blocked, share);
	snprintf(one->text, sizeof(one->text), "%.0f %% of the time %s%s", PERCENT(share),
		 f->blocked.rank < 0 ? "the training thread " : verdict_rank(rank, f->blocked.rank),
		 f->blocked.text);
	verdict_next(one, next_of_wait[f->blocked.wait]);
}

/* ---- all rules ------------------------------------------------------------------------------- */

static void verdict_quiet(struct verdicts *v, const struct verdict_facts *f)
{
	double device = verdict_of_step(f, PHASE_SYNC);
	struct verdict *one;

	if (device >= DEVICE_MIN) {
		one = verdict_add(v, VERDICT_device_bound, device);
		snprintf(
			one->text, sizeof(one->text),
			"the host waits for the accelerator in %.0f %% of each step: it is the limit, "
			"as it should be",
			PERCENT(device));
		verdict_next(one, "--flops shows how well its kernels use it");
		return;
	}
	one = verdict_add(v, VERDICT_steady, SHARE(f, f->ns[BUCKET_GOODPUT]));
	snprintf(one->text, sizeof(one->text),
		 "%.0f %% of the time is training, nothing stands out", PERCENT(one->share));
}

/* Returns the share by which a finding is sorted. Half of the share counts for uneven steps and
 * unexplained time, which are symptoms, so that a cause which may explain most of them comes first;
 * and for time in the kernel, of which some is necessary. */
static double verdict_weight(const struct verdict *v)
{
	bool half = v->kind == VERDICT_uneven || v->kind == VERDICT_other ||
		    v->kind == VERDICT_kernel;

	return half ? v->share / 2 : v->share;
}

/* Sorts the findings from index `from` on by weight. Earlier findings are about the present and
 * stay first. */
static void verdict_sort(struct verdicts *v, uint32_t from)
{
	for (uint32_t i = from + 1; i < v->count; i++) {
		struct verdict one = v->of[i];
		uint32_t k = i;

		for (; k > from && verdict_weight(&v->of[k - 1]) < verdict_weight(&one); k--)
			v->of[k] = v->of[k - 1];
		v->of[k] = one;
	}
}

void verdict_find(struct verdicts *ret, const struct verdict_facts *f)
{
	double left = 1 - SHARE(f, f->ns[BUCKET_GOODPUT]);
	uint32_t now;

	*ret = (struct verdicts){0};
	if (f->judged_ns < JUDGED_MIN_NS || f->steps < STEPS_MIN) {
		struct verdict *one = verdict_add(ret, VERDICT_none, 0);
		char took[WORD_MAX];

		snprintf(one->text, sizeof(one->text),
			 "%llu step%s in %s after startup; it needs %d steps and 5 s",
			 (unsigned long long)f->steps, plural(f->steps),
			 clock_duration(took, sizeof(took), f->judged_ns), STEPS_MIN);
		return;
	}
	verdict_hung(ret, f);
	verdict_crash_loop(ret, f);
	verdict_slow(ret, f);
	verdict_straggler(ret, f);
	now = ret->count;
	verdict_restarts(ret, f);
	verdict_hangs(ret, f);
	verdict_input(ret, f);
	verdict_phase(ret, f, VERDICT_communication_bound, PHASE_COLLECTIVE, COMMUNICATION_MIN,
		      "waits in collectives",
		      "fewer or larger collectives, overlap, a faster network");
	verdict_peers(ret, f);
	verdict_phase(
		ret, f, VERDICT_copy_bound, PHASE_TRANSFER, COPY_MIN,
		"waits for copies between host and device",
		"pinned memory, asynchronous copies, fewer reads of values such as loss.item()");
	verdict_phase(ret, f, VERDICT_compilation, PHASE_COMPILE, COST_MIN, "compiles",
		      "fixed shapes, or a cache of compiled programs");
	verdict_bucket(ret, f, VERDICT_checkpoints, BUCKET_CHECKPOINT_SAVE, COST_MIN,
		       "waits for checkpoints", "save asynchronously, or less often");
	verdict_bucket(ret, f, VERDICT_evaluation, BUCKET_EVAL, EVALUATION_MIN, "is evaluation",
		       "evaluate less often, or on fewer batches");
	verdict_startup(ret, f);
	verdict_uneven(ret, f);
	verdict_lack(ret, f, VERDICT_cpu_contention, TIME_CAUSE_cpu_contention, LACK_MIN);
	verdict_lack(ret, f, VERDICT_cpu_throttled, TIME_CAUSE_cpu_throttled, LACK_MIN);
	verdict_lack(ret, f, VERDICT_kernel, TIME_CAUSE_kernel, KERNEL_MIN);
	verdict_lack(ret, f, VERDICT_memory_pressure, TIME_CAUSE_memory_pressure, LACK_MIN);
	verdict_lack(ret, f, VERDICT_disk, TIME_CAUSE_disk, LACK_MIN);
	verdict_lack(ret, f, VERDICT_garbage_collection, TIME_CAUSE_garbage_collection, COST_MIN);
	verdict_lack(ret, f, VERDICT_own_code, TIME_CAUSE_own_code, OWN_CODE_MIN);
	verdict_lack(ret, f, VERDICT_interpreter_lock,
		     f->lack[TIME_CAUSE_checkpoint].share >
				     f->lack[TIME_CAUSE_interpreter_lock].share
			     ? TIME_CAUSE_checkpoint
			     : TIME_CAUSE_interpreter_lock,
		     LACK_MIN);
	verdict_blocked(ret, f);
	verdict_bucket(ret, f, VERDICT_other, BUCKET_OTHER, OTHER_MIN,
		       "belongs to no step and has no known kind",
		       "name it: --range, or a mark of the job's own");
	verdict_sort(ret, now);
	if (!ret->count)
		verdict_quiet(ret, f);
	for (uint32_t i = 0; i < ret->count; i++)
		left -= ret->of[i].kind < VERDICT_uneven && i >= now ? ret->of[i].share : 0;
	ret->unexplained = left > 0 ? left : 0;
}

const char *verdict_line(char *out, size_t len, const struct verdict *v)
{
	snprintf(out, len, "%s: %s%s%s", verdict_label[v->kind], v->text,
		 *v->next ? "; next: " : "", v->next);
	return out;
}

void verdict_json(struct buffer *out, const struct verdicts *v)
{
	json_open(out, "verdicts", '[');
	for (uint32_t i = 0; i < v->count; i++) {
		const struct verdict *one = &v->of[i];

		json_open(out, NULL, '{');
		json_string(out, "verdict", verdict_name[one->kind]);
		json_real(out, "share", one->share);
		json_string(out, "text", one->text);
		json_known(out, "evidence", one->evidence);
		json_known(out, "next", one->next);
		json_close(out, '}');
	}
	json_close(out, ']');
}
