/* SPDX-License-Identifier: Apache-2.0 */
/* rank_hang.c - the silence of a process: how long it lasts, its reason as far as known, and
 * whether it is a hang (the limits are in hang.h). */
#include "userspace/model/rank/rank_private.h"

#include "userspace/base/clock.h"

/* a silence raises the limit of a hang only if it lasted at least this long (ns) before it ended by
 * itself */
#define SURVIVED_NS 1000000000ull
/* A report about a blocked thread is valid for this long (ns); reports come every second. */
#define FRESH_NS 2500000000ull
/* A Python stack is valid for this long (ns); stacks are read every 5 s. */
#define STACK_FRESH_NS 12000000000ull
#define STEPS_MIN      3

/* ---- signs of life --------------------------------------------------------------------------- */

static void hang_over(struct rank *r, uint64_t now_ns);

static bool rank_hang_signal_lives(const struct rank_hang *h, const struct signal *s)
{
	switch (s->kind) {
	case SIGNAL_TICK:
	case SIGNAL_EXIT:
	case SIGNAL_LOSS:
	case SIGNAL_GAP:
		return false;
	/* These signals are signs of life only on the thread that trains: even if training is
	 * stuck, loggers open ranges, and asynchronous checkpoints are written. */
	case SIGNAL_RANGE:
	case SIGNAL_RANGE_BEGIN:
	case SIGNAL_SAVE_CALL:
	case SIGNAL_SAVE_BEGIN:
	case SIGNAL_SAVE:
	case SIGNAL_RESTORE:
		return s->tid == h->tid;
	default:
		return true;
	}
}

/* Keeps track of the named ranges that are open on the thread that trains. */
static void hang_range(struct rank_hang *h, const struct signal *s)
{
	bool opened = s->kind == SIGNAL_RANGE_BEGIN;

	snprintf(h->range, sizeof(h->range), "%s", opened ? s->text : "");
	if (!phase_range_compiles(s->text))
		return;
	if (opened)
		h->compiles++;
	else if (h->compiles)
		h->compiles--;
}

/* Returns the end of a path: as many whole parts as fit into `room` bytes, at least the last
 * part. */
static const char *rank_hang_path_end(const char *path, size_t room)
{
	size_t len = strlen(path);
	const char *at = len <= room ? path : strchr(path + len - room, '/');

	return at ? at : path;
}

void rank_hang_signal(struct rank *r, const struct signal *s)
{
	struct rank_hang *h = &r->hang;
	bool range = s->kind == SIGNAL_RANGE || s->kind == SIGNAL_RANGE_BEGIN;
	uint64_t silent_ns;

	if (!rank_hang_signal_lives(h, s))
		return;
	if (h->onset_ns)
		hang_over(r, s->ts_ns);
	silent_ns = h->progress_ns && s->ts_ns > h->progress_ns ? s->ts_ns - h->progress_ns : 0;
	if (silent_ns > h->longest_ns && silent_ns >= SURVIVED_NS &&
	    h->sample.why != GP_WHY_stopped)
		h->longest_ns = silent_ns;
	if (s->ts_ns > h->progress_ns)
		h->progress_ns = s->ts_ns;
	h->call.reported_ns = h->sample.reported_ns = h->stack_ns = 0;
	h->sample.why = GP_WHY_unknown;
	if (h->claim)
		*h->claim = '\0';
	if (s->kind == SIGNAL_LAUNCH) /* a launch signal does not name its thread */
		return;
	h->marked_ns = h->progress_ns;
	if (range) {
		hang_range(h, s);
		return;
	}
	if (s->tid != h->tid)
		h->compiles = 0;
	h->tid = s->tid;
	h->last = s->kind;
	h->any = true;
	*h->range = '\0';
	/* if the path is too long, keep its end, which is more useful */
	if (s->kind == SIGNAL_SAVE_BEGIN)
		snprintf(h->range, sizeof(h->range), "%s",
			 rank_hang_path_end(s->text, sizeof(h->range) - 1));
	if (s->kind == SIGNAL_UPDATE)
		/* no update ends during a compilation, so the record of the end was lost */
		h->compiles = 0;
}

void rank_hang_unsure(struct rank *r, uint64_t now_ns)
{
	if (!r->hang.onset_ns && now_ns > r->hang.progress_ns)
		r->hang.progress_ns = now_ns;
}

void rank_hang_seen(struct rank *r, const struct event *ev, const struct gp_probe *probe)
{
	const struct gp_blocked *b = ev->blocked;
	struct hang_seen *seen = b->source == GP_BLOCKED_CALL ? &r->hang.call : &r->hang.sample;

	/* ignore a report that is older than the last sign of life, or has an invalid time */
	if (ev->rec->ts_ns < r->hang.progress_ns || b->since_ns > ev->rec->ts_ns)
		return;
	seen->reported_ns = ev->rec->ts_ns;
	seen->since_ns = b->since_ns;
	seen->tid = ev->rec->tid;
	seen->why = b->why < GP_WHY_COUNT ? (enum gp_why)b->why : GP_WHY_unknown;
	seen->role = probe ? probe->role : GP_ROLE_none;
	seen->between = probe && probe->flags & GP_PROBE_RANKS;
	seen->counted = seen->role == GP_ROLE_collective && !(probe->flags & GP_PROBE_PAIR);
	event_copy(seen->wchan, b->wchan);
	event_copy(seen->where, b->where);
}

int rank_hang_stack(struct rank *r, const struct event *ev)
{
	struct rank_hang *h = &r->hang;

	/* Ignore a stack that was read before the last sign of life. */
	if (ev->rec->ts_ns < h->progress_ns)
		return 0;
	if (!h->stack)
		h->stack = calloc(1, GP_STACK_MAX);
	if (!h->stack)
		return -ENOMEM;
	event_text(h->stack, GP_STACK_MAX, ev->stack->text, sizeof(ev->stack->text));
	h->stack_ns = ev->rec->ts_ns;
	return 0;
}

int rank_hang_claim(struct rank *r, const struct event *ev)
{
	struct rank_hang *h = &r->hang;

	if (ev->rec->ts_ns < h->progress_ns)
		return 0;
	if (!h->claim)
		h->claim = calloc(1, GP_RAS_MAX);
	if (!h->claim)
		return -ENOMEM;
	event_text(h->claim, GP_RAS_MAX, ev->ras->text, sizeof(ev->ras->text));
	return 0;
}

void rank_hang_free(struct rank_hang *h)
{
	free(h->stack);
	free(h->claim);
	free(h->reported);
}

/* ---- why ------------------------------------------------------------------------------------- */

static bool rank_hang_is_fresh(const struct hang_seen *s, uint64_t now_ns)
{
	return s->reported_ns && now_ns - s->reported_ns < FRESH_NS;
}

static enum gp_why hang_why(const struct rank *r, uint64_t now_ns)
{
	const struct rank_hang *h = &r->hang;
	const struct hang_place place = {
		.fetching = h->last == SIGNAL_FETCH_BEGIN,
		.distributed = rank_is_distributed(r),
		.collectives = r->member.seen & 1ull << SIGNAL_COLLECTIVE,
		.between = rank_hang_is_fresh(&h->call, now_ns) && h->call.between,
	};

	return hang_conclude(
		&place, rank_hang_is_fresh(&h->sample, now_ns) ? h->sample.why : GP_WHY_unknown,
		rank_hang_is_fresh(&h->call, now_ns) ? h->call.role : GP_ROLE_none);
}

/* Returns the phase in which the thread that trains is, by its last signal. */
static const char *hang_phase(const struct rank_hang *h)
{
	switch (h->last) {
	case SIGNAL_FETCH_BEGIN:
		return phase_name[PHASE_DATA];
	case SIGNAL_FETCH:
	case SIGNAL_FORWARD:
		return phase_name[PHASE_FORWARD];
	case SIGNAL_BACKWARD:
	case SIGNAL_REDUCER:
		return phase_name[PHASE_BACKWARD];
	case SIGNAL_UPDATE_BEGIN:
	case SIGNAL_UPDATE_OP:
		return phase_name[PHASE_UPDATE];
	case SIGNAL_ZERO_GRAD_BEGIN:
		return phase_name[PHASE_ZERO_GRAD];
	case SIGNAL_SAVE_BEGIN:
		return "checkpoint";
	default:
		return "";
	}
}

/* Returns the Python stack if it was read a short time ago, or else NULL. */
static const char *hang_stack(const struct rank_hang *h, uint64_t now_ns)
{
	return h->stack_ns && now_ns - h->stack_ns < STACK_FRESH_NS ? h->stack : NULL;
}

static void hang_evidence(const struct rank *r, uint64_t now_ns, char *out, size_t len)
{
	const struct rank_hang *h = &r->hang;
	const struct examination *examined = rank_examination(r, h->progress_ns, now_ns);
	const char *phase = hang_phase(h);
	char text[200];
	int at;

	job_places_text(&r->member, now_ns, out, len);
	at = (int)strlen(out);
	if (at)
		at += snprintf(out + at, len - (size_t)at, "; ");
	if ((size_t)at < len) {
		job_lines_text(&r->member, now_ns, out + at, len - (size_t)at);
		at += (int)strlen(out + at);
	}
	if (at && out[at - 1] != ' ' && (size_t)at < len)
		at += snprintf(out + at, len - (size_t)at, "; ");
	if (h->claim && *h->claim && (size_t)at < len)
		at += snprintf(out + at, len - (size_t)at, "NCCL says: %s; ", h->claim);
	if (rank_hang_is_fresh(&h->call, now_ns) && (size_t)at < len)
		at += snprintf(out + at, len - (size_t)at, "thread %u has not returned from %s; ",
			       h->call.tid, h->call.where);
	if (hang_stack(h, now_ns) && (size_t)at < len)
		at += snprintf(out + at, len - (size_t)at, "Python: %s; ", hang_stack(h, now_ns));
	if (rank_hang_is_fresh(&h->sample, now_ns) && (size_t)at < len)
		at += snprintf(out + at, len - (size_t)at, "thread %u %s%s%s%s; ", h->sample.tid,
			       h->sample.where, *h->sample.wchan ? " (" : "", h->sample.wchan,
			       *h->sample.wchan ? ")" : "");
	if (*h->range && h->last != SIGNAL_SAVE_BEGIN && (size_t)at < len)
		at += snprintf(out + at, len - (size_t)at, "inside %s; ", h->range);
	if (examined && (size_t)at < len)
		at += snprintf(out + at, len - (size_t)at, "%s; ",
			       examination_text(text, sizeof(text), examined));
	if ((size_t)at < len) {
		rank_figures_silent(r, h->progress_ns, now_ns, out + at, len - (size_t)at);
		at += (int)strlen(out + at);
	}
	if (*phase && (size_t)at < len)
		at += snprintf(out + at, len - (size_t)at, "last seen in %s%s%s", phase,
			       h->last == SIGNAL_SAVE_BEGIN && *h->range ? " " : "",
			       h->last == SIGNAL_SAVE_BEGIN ? h->range : "");
	else if (h->last == SIGNAL_UPDATE && (size_t)at < len)
		at += snprintf(out + at, len - (size_t)at, "last seen ending a step");
	at = (size_t)at < len ? at : (int)len - 1;
	while (at && (out[at - 1] == ' ' || out[at - 1] == ';'))
		out[--at] = '\0';
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void hang_case(const struct rank *r, struct hang_case *ret)
{
	*ret = (struct hang_case){
		.user_ns = r->member.env->hang_ns,
		.longest_ns = r->hang.longest_ns,
		.saving = r->hang.last == SIGNAL_SAVE_BEGIN,
		.compiling = r->hang.compiles,
		.save_ns = r->longest_save_ns,
	};
	for (uint32_t i = 0; i < r->nloops; i++) {
		const struct rank_loop *lp = r->loops[i];
		uint64_t p99_ns = deviation_p99(lp->time);

		ret->stepping |= lp->steps >= STEPS_MIN;
		if (p99_ns > ret->p99_ns)
			ret->p99_ns = p99_ns;
	}
}

static uint64_t hang_silence(const struct rank *r, uint64_t now_ns)
{
	const struct rank_hang *h = &r->hang;

	return r->alive && r->trainer && h->any && now_ns > h->progress_ns ? now_ns - h->progress_ns
									   : 0;
}

bool rank_silent(const struct rank *r, uint64_t now_ns, uint32_t *ret_tid, uint64_t *ret_since_ns)
{
	uint64_t silent_ns = hang_silence(r, now_ns);
	struct hang_case c;

	if (silent_ns < SURVIVED_NS)
		return false;
	hang_case(r, &c);
	if (silent_ns < hang_check_ns(&c))
		return false;
	*ret_tid = r->hang.tid;
	*ret_since_ns = r->hang.progress_ns;
	return true;
}

bool rank_stalled(const struct rank *r, uint64_t now_ns)
{
	uint64_t since_ns;
	uint32_t tid;

	return rank_is_distributed(r) && rank_silent(r, now_ns, &tid, &since_ns);
}

/* ---- a hang ---------------------------------------------------------------------------------- */

static void hang_book(struct rank *r, uint64_t now_ns)
{
	struct rank_hang *h = &r->hang;

	if (now_ns <= h->booked_ns)
		return;
	if (ledger_interval(r->member.ledger, BUCKET_HANG, h->booked_ns, now_ns))
		r->error = -ENOMEM;
	h->booked_ns = now_ns;
	h->reported->size_ns = now_ns - h->onset_ns;
	rank_ledger_checked(r);
}

/* Adds evidence about the current hang to the hang's report; records that arrive during the hang
 * may bring more. */
static void hang_know(struct rank *r, uint64_t now_ns)
{
	struct hang_view *v = r->hang.reported;
	enum gp_why why = hang_why(r, now_ns);

	if (why == GP_WHY_unknown && v->why != GP_WHY_unknown)
		return;
	v->why = why;
	snprintf(v->phase, sizeof(v->phase), "%s", hang_phase(&r->hang));
	hang_evidence(r, now_ns, v->evidence, sizeof(v->evidence));
}

static void hang_report(struct rank *r, uint64_t now_ns, bool over)
{
	const struct hang_view *v = r->hang.reported;
	const struct fact_health health = {
		.kind = "hang",
		.onset_ns = v->onset_ns,
		.size_ns = v->size_ns,
		.over = over,
		.why = hang_why_name[v->why],
		.phase = v->phase,
		.evidence = v->evidence,
		.line = over ? NULL : hang_stack(&r->hang, now_ns),
		.examination = rank_examination(r, v->onset_ns, now_ns),
	};
	struct fact f = {.type = FACT_HEALTH, .health = &health};
	char took[16];

	rank_event(r, now_ns, "%s %s: %s%s", over ? "hung" : "hangs for",
		   clock_duration(took, sizeof(took), v->size_ns), hang_why_text[v->why],
		   over ? "; over now" : "");
	rank_fact(r, &f, now_ns);
}

static void hang_begin(struct rank *r, uint64_t now_ns)
{
	struct rank_hang *h = &r->hang;

	if (!h->reported)
		h->reported = calloc(1, sizeof(*h->reported));
	if (!h->reported) {
		r->error = -ENOMEM;
		return;
	}
	h->onset_ns = h->progress_ns;
	/* Launches are counted, and the count is sent once a second. All of them happened before
	 * the call that is in progress, so the silence begins with this call even if the count was
	 * sent later. */
	if (rank_hang_is_fresh(&h->call, now_ns) && h->call.since_ns >= h->marked_ns &&
	    h->call.since_ns < h->onset_ns)
		h->onset_ns = h->call.since_ns;
	h->booked_ns = h->onset_ns;
	h->count++;
	*h->reported = (struct hang_view){.onset_ns = h->onset_ns};
	hang_know(r, now_ns);
	hang_book(r, now_ns);
	hang_report(r, now_ns, false);
}

static void hang_over(struct rank *r, uint64_t now_ns)
{
	struct rank_hang *h = &r->hang;
	uint64_t at = (h->count - 1) % RANK_HANGS;

	hang_book(r, now_ns);
	h->past[at].from_ns = h->onset_ns;
	h->past[at].to_ns = now_ns;
	h->total_ns += h->reported->size_ns;
	h->onset_ns = 0;
	hang_report(r, now_ns, true);
	r->ledger_due = true;
}

void rank_hang_tick(struct rank *r, uint64_t now_ns)
{
	struct rank_hang *h = &r->hang;
	uint64_t silent_ns = hang_silence(r, now_ns);
	struct hang_case c;

	if (silent_ns >= SURVIVED_NS)
		rank_collective_stands(r, now_ns,
				       rank_hang_is_fresh(&h->call, now_ns) && h->call.counted);
	if (h->onset_ns) {
		hang_know(r, now_ns);
		hang_book(r, now_ns);
		return;
	}
	if (silent_ns < SURVIVED_NS)
		return;
	hang_case(r, &c);
	if (silent_ns >= hang_limit_ns(&c, hang_why(r, now_ns)))
		hang_begin(r, now_ns);
}

void rank_hang_close(struct rank *r, uint64_t now_ns, bool ended)
{
	if (!r->hang.onset_ns)
		return;
	if (ended)
		hang_over(r, now_ns);
	else
		hang_book(r, now_ns);
}

bool rank_hang_within(const struct rank *r, uint64_t from_ns, uint64_t to_ns)
{
	const struct rank_hang *h = &r->hang;

	for (uint64_t i = 0; i < RANK_HANGS && i < h->count; i++) {
		if (h->past[i].from_ns < to_ns && h->past[i].to_ns > from_ns)
			return true;
	}
	return h->onset_ns && h->onset_ns < to_ns;
}

void rank_hang_view(const struct rank *r, uint64_t now_ns, struct hang_view *ret)
{
	const struct rank_hang *h = &r->hang;
	uint32_t tid;
	uint64_t since_ns;

	*ret = h->reported ? *h->reported : (struct hang_view){0};
	ret->hung = h->onset_ns;
	ret->count = h->count;
	ret->total_ns = h->total_ns + (h->onset_ns ? ret->size_ns : 0);
	if (ret->hung || !rank_silent(r, now_ns, &tid, &since_ns))
		return;
	ret->silent = true;
	ret->onset_ns = since_ns;
	ret->size_ns = now_ns - since_ns;
	ret->why = hang_why(r, now_ns);
	snprintf(ret->phase, sizeof(ret->phase), "%s", hang_phase(h));
	hang_evidence(r, now_ns, ret->evidence, sizeof(ret->evidence));
}

/* ---- state ----------------------------------------------------------------------------------- */

static void rank_hang_seen_archive(struct archive *a, struct hang_seen *s)
{
	archive_fields(a, s, reported_ns, since_ns, tid, role, between, counted);
	archive_below(a, &s->why, GP_WHY_COUNT);
	archive_fields(a, s, wchan, where);
}

void rank_hang_archive(struct archive *a, struct rank_hang *h)
{
	archive_struct(a, sizeof(*h));
	archive_fields(a, h, progress_ns, marked_ns, longest_ns, tid);
	archive_below(a, &h->last, SIGNAL_COUNT);
	archive_fields(a, h, compiles, range, any);
	rank_hang_seen_archive(a, &h->call);
	rank_hang_seen_archive(a, &h->sample);
	archive_fields(a, h, onset_ns, booked_ns);
	for (int i = 0; i < RANK_HANGS; i++)
		archive_fields(a, &h->past[i], from_ns, to_ns);
	archive_fields(a, h, count, total_ns, stack_ns);
	h->stack = archive_object(a, h->stack, GP_STACK_MAX);
	if (h->stack)
		archive_chars(a, h->stack, GP_STACK_MAX);
	h->claim = archive_object(a, h->claim, GP_RAS_MAX);
	if (h->claim)
		archive_chars(a, h->claim, GP_RAS_MAX);
	h->reported = archive_object(a, h->reported, sizeof(*h->reported));
	archive_require(a, h->reported || !h->onset_ns);
	if (!h->reported)
		return;
	archive_fields(a, h->reported, onset_ns, size_ns);
	archive_below(a, &h->reported->why, GP_WHY_COUNT);
	archive_fields(a, h->reported, phase, evidence);
}
