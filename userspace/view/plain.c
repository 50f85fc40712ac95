/* SPDX-License-Identifier: Apache-2.0 */
/* plain.c - writes events and progress as plain lines, for a pipe or a log. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "userspace/base/log.h"
#include "userspace/base/plural.h"
#include "userspace/view/view.h"
#include "userspace/text/format.h"

#define NS_PER_S	1000000000ll
#define PLAIN_PERIOD_NS 10000000000ull
#define PLAIN_TEXT_MAX	256

/* Begins a line with its time and process: "12:00:03 rank 0 pid 4242". */
static void plain_head(FILE *out, const char *when, int rank, uint32_t pid)
{
	fputs(when, out);
	if (rank >= 0)
		fprintf(out, " rank %d", rank);
	if (pid)
		fprintf(out, " pid %" PRIu32, pid);
}

static const char *plain_clock(char out[WORD_MAX], int64_t real_ns)
{
	time_t t = (time_t)(real_ns / NS_PER_S);
	struct tm tm;

	if (!real_ns)
		return "--:--:--";
	localtime_r(&t, &tm);
	strftime(out, WORD_MAX, "%H:%M:%S", &tm);
	return out;
}

static void plain_rank(FILE *out, const struct fact *f)
{
	const struct step_state *st = f->state;
	char marker[sizeof(st->marker) + 1], ratios[sizeof(st->ratios) + 1], reason[PLAIN_TEXT_MAX];

	fprintf(out, " %s", step_state_name[st->state]);
	if (st->loops > 1)
		fprintf(out, " loop %" PRIu32, st->loop + 1);
	if (st->tier != TIER_NONE)
		fprintf(out, " (tier %s by %s)", tier_name[st->tier],
			log_escape(marker, sizeof(marker), st->marker, sizeof(st->marker)));
	if (st->steps)
		fprintf(out, " after %" PRIu64 " step%s", st->steps, plural(st->steps));
	if (st->ratios[0])
		fprintf(out, ", each with %s",
			log_escape(ratios, sizeof(ratios), st->ratios, sizeof(st->ratios)));
	if (st->reason[0])
		fprintf(out, ": %s",
			log_escape(reason, sizeof(reason), st->reason, sizeof(st->reason)));
}

static void plain_checkpoint(FILE *out, const struct fact_checkpoint *c)
{
	char file[PLAIN_TEXT_MAX], text[WORD_MAX];

	fprintf(out, " checkpoint %s", c->restore ? "restored" : "saved");
	if (c->closed)
		fprintf(out, " in %s", text_duration(text, c->end_ns - c->start_ns));
	else
		fputs(", its end was not seen", out);
	if (c->step)
		fprintf(out, " after %sstep %" PRIu64, c->estimated ? "about " : "", c->step);
	if (c->file && *c->file)
		fprintf(out, ": %s", log_escape(file, sizeof(file), c->file, strlen(c->file)));
}

static void plain_disruption(FILE *out, const struct job_disruption *disruption)
{
	const struct job_cause *why = &disruption->why;
	char comm[PLAIN_TEXT_MAX], took[WORD_MAX];

	if (disruption->over) {
		fprintf(out,
			" disruption %" PRIu64 " is over after %s: continues with step %" PRId64,
			disruption->number, text_duration(took, disruption->d.recovery_ns),
			disruption->d.resumed_step);
		if (disruption->d.wasted_ns)
			fprintf(out, ", %s%s of progress lost",
				disruption->estimated ? "about " : "",
				text_duration(took, disruption->d.wasted_ns));
		return;
	}
	fprintf(out, " disruption: %s", disruption_cause_name[why->cause]);
	if (*why->fault)
		fprintf(out, " (%s)", why->fault);
	if (why->signal)
		fprintf(out, " by signal %d (%s)", why->signal, strsignal(why->signal));
	else if (why->exit_code >= 0)
		fprintf(out, ", exit status %d", why->exit_code);
	if (why->sender)
		fprintf(out, " sent by pid %" PRIu32, why->sender);
	if (why->sender && *why->sender_comm)
		fprintf(out, " (%s)",
			log_escape(comm, sizeof(comm), why->sender_comm, strlen(why->sender_comm)));
	if (disruption->d.step != DISRUPTION_NO_STEP)
		fprintf(out, ", last step %" PRId64, disruption->d.step);
}

static void plain_health(FILE *out, const struct fact_health *h)
{
	char took[WORD_MAX], evidence[FACT_EVIDENCE_MAX];

	if (h->ratio > 0) {
		fprintf(out, " %s: %s", h->over ? "fast again" : "slow",
			log_escape(evidence, sizeof(evidence), h->evidence, strlen(h->evidence)));
		return;
	}
	if (h->name || !strcmp(h->kind, "straggler")) {
		fprintf(out, " %s%s: %s", h->kind, h->name || !h->over ? "" : " no more",
			log_escape(evidence, sizeof(evidence), h->evidence, strlen(h->evidence)));
		return;
	}
	fprintf(out, " %s %s: %s", h->over ? "hung" : "hangs for", text_duration(took, h->size_ns),
		h->why);
	if (*h->evidence)
		fprintf(out, " (%s)",
			log_escape(evidence, sizeof(evidence), h->evidence, strlen(h->evidence)));
	if (h->over)
		fputs("; over now", out);
}

static void plain_loss(FILE *out, const struct gp_loss *l)
{
	static const char *const cause[GP_LOSS_CAUSE_COUNT] = {
#define X(id, name, attributes) [id] = #name,
		GP_LOSS_CAUSES(X)
#undef X
	};

	fprintf(out, " %" PRIu64 " records lost: %s", (uint64_t)l->count,
		l->cause < GP_LOSS_CAUSE_COUNT ? cause[l->cause] : "unknown cause");
}

static bool plain_shows(const struct fact *f)
{
	switch (f->type) {
	case FACT_RANK:
	case FACT_CHECKPOINT:
	case FACT_DISRUPTION:
	case FACT_HEALTH:
		return true;
	case FACT_LOSS:
		return event_loss_of_data(f->loss->cause);
	default:
		return false;
	}
}

void plain_event(FILE *out, const struct fact *f)
{
	if (!plain_shows(f) || (f->type == FACT_RANK && f->state->state != STATE_LOCKED))
		return;
	fputs("gp-bpf: ", out);
	plain_fact(out, f);
}

void plain_fact(FILE *out, const struct fact *f)
{
	char when[WORD_MAX];

	if (!plain_shows(f))
		return;
	plain_head(out, plain_clock(when, f->real_ns), f->rank, f->pid);
	if (f->type == FACT_RANK)
		plain_rank(out, f);
	else if (f->type == FACT_CHECKPOINT)
		plain_checkpoint(out, f->checkpoint);
	else if (f->type == FACT_DISRUPTION)
		plain_disruption(out, f->disruption);
	else if (f->type == FACT_HEALTH)
		plain_health(out, f->health);
	else
		plain_loss(out, f->loss);
	fputc('\n', out);
}

static void plain_loop(FILE *out, const char *when, const struct rank_view *r,
		       const struct loop_view *l)
{
	char text[WORD_MAX];

	plain_head(out, when, r->rank, r->pid);
	if (r->nloops > 1)
		fprintf(out, " loop %" PRIu32, l->state.loop + 1);
	fprintf(out, " step %" PRIu64, l->last_number);
	fprintf(out, ", median %s", text_duration(text, l->time.p50_ns));
	fprintf(out, ", p99 %s", text_duration(text, l->time.p99_ns));
	fprintf(out, ", goodput %s\n",
		text_percent(text, r->ledger.ns[BUCKET_GOODPUT], text_observed_ns(&r->ledger)));
}

void plain_snapshot(FILE *out, const struct snapshot *s)
{
	/* static, to limit the rate over all calls: the view is single-threaded */
	static uint64_t last_ns;
	char when[WORD_MAX];

	if (s->mono_ns >= last_ns && s->mono_ns - last_ns < PLAIN_PERIOD_NS)
		return;
	last_ns = s->mono_ns;
	for (uint32_t i = 0; i < s->nranks; i++) {
		const struct rank_view *r = &s->ranks[i];

		for (uint32_t j = 0; r->alive && j < r->nloops; j++)
			if (r->loops[j].state.state == STATE_LOCKED && r->loops[j].last_number)
				plain_loop(out, plain_clock(when, s->real_ns), r, &r->loops[j]);
	}
}
