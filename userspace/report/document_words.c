/* SPDX-License-Identifier: Apache-2.0 */
/* Describes parts of a document: ends, checkpoints, trouble. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "userspace/base/clock.h"
#include "userspace/report/document.h"
#include "userspace/text/format.h"

bool document_left_out(const struct report_document *s)
{
	return s->totals.excluded_ns && !ledger_elapsed(&s->ledger);
}

const char *document_state(const struct report_document *s)
{
	if (s->now_ns && !store_watched(&s->job, s->now_ns))
		return "unseen";
	return *s->job.state ? s->job.state : "state unknown";
}

uint64_t document_runs(const struct report_document *s)
{
	return s->live || s->elsewhere ? s->job.runs : s->runs.count + s->runs.earlier;
}

const char *document_name(const struct report_document *s)
{
	return *s->job.name ? s->job.name : s->job.key;
}

uint64_t document_observed_ns(const struct sums *s)
{
	uint64_t ns = (uint64_t)sums_total(s) - (uint64_t)s->ns[BUCKET_UNOBSERVED];

	return ns > INT64_MAX ? 0 : ns;
}

const char *document_lately(char *out, size_t len, const struct report_document *s)
{
	char name[16], share[WORD_MAX];
	size_t at = 0;

	*out = '\0';
	for (uint32_t i = 0; i < s->nwindows && at < len; i++) {
		const struct document_window *w = &s->windows[i];

		if (w->whole)
			continue;
		at += (size_t)snprintf(out + at, len - at, "%s%s %s", at ? ", " : "",
				       window_name(name, w->length_ns),
				       text_percent(share, w->ledger.ns[BUCKET_GOODPUT],
						    text_observed_ns(&w->ledger)));
	}
	return at ? out : NULL;
}

const char *document_bytes(char *out, size_t len, int64_t bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
	double n = bytes > 0 ? (double)bytes : 0;
	size_t i = 0;

	for (; n >= 999.5 && i + 1 < sizeof(units) / sizeof(units[0]); i++)
		n /= 1000;
	snprintf(out, len, n < 9.95 && i ? "%.1f %s" : "%.0f %s", n, units[i]);
	return out;
}

const char *document_checkpoint(char *out, size_t len, const struct store_checkpoint *c)
{
	const char *about = c->estimated ? "about " : "";

	if (!c->restore)
		snprintf(out, len, "%s%s",
			 !c->closed ? "begun, its end was not seen"
			 : c->async ? "saved beside training"
				    : "saved",
			 c->estimated ? ", step estimated" : "");
	else if (c->saved_step == STORE_NONE)
		snprintf(out, len, "read, written by this job after no known step");
	else if (isnan(c->confidence))
		snprintf(out, len, "read, written after %sstep %lld", about,
			 (long long)c->saved_step);
	else
		snprintf(out, len, "read, written after %sstep %lld (%s, confidence %.2f)", about,
			 (long long)c->saved_step, *c->known_by ? c->known_by : "unknown",
			 c->confidence < 0   ? 0
			 : c->confidence > 1 ? 1
					     : c->confidence);
	return out;
}

const char *document_trouble(char *out, size_t len, const struct store_health *h)
{
	const char *kind = h->kind;
	bool why = *h->why && strcmp(h->why, "unknown") != 0;

	if (!strcmp(kind, "fail_slow"))
		kind = "slower steps";
	else if (!strcmp(kind, "recovered"))
		kind = "fast again";
	else if (!strcmp(kind, "straggler"))
		kind = h->over ? "straggler no more" : "straggler";
	else if (!strcmp(kind, "device_error"))
		kind = "device error";
	else if (!strcmp(kind, "communicator_error"))
		kind = "communicator error";
	else if (!strcmp(kind, "out_of_memory"))
		kind = "out of memory";
	snprintf(out, len, "%s%s%s%s%s", kind, why ? ", " : "", why ? h->why : "",
		 *h->phase ? ", " : "", h->phase);
	return out;
}

const char *document_size(char *out, size_t len, const struct store_health *h)
{
	char size[WORD_MAX], lasted[WORD_MAX];

	*out = '\0';
	if (!h->size_ns && h->over) /* an error */
		return out;
	clock_duration(size, WORD_MAX, h->size_ns);
	if (!strcmp(h->kind, "fail_slow"))
		snprintf(out, len, "a step takes %s more", size);
	else if (!strcmp(h->kind, "recovered") && h->at_ns > h->onset_ns)
		snprintf(out, len, "a step took %s more for %s", size,
			 clock_duration(lasted, WORD_MAX, (uint64_t)(h->at_ns - h->onset_ns)));
	else if (!strcmp(h->kind, "straggler"))
		snprintf(out, len, "the others wait%s %s in a step", h->over ? "ed" : "", size);
	else
		snprintf(out, len, "%s", size);
	return out;
}

const char *document_fate(char *out, size_t len, const struct report_document *s, int64_t end_ns,
			  int64_t last_ns, int status)
{
	int64_t now_ns = s->now_ns ? s->now_ns : s->job.last_ns;

	if (end_ns == STORE_NONE && !s->job.logged && !strcmp(document_state(s), "running") &&
	    last_ns >= now_ns - STORE_UNSEEN_NS)
		snprintf(out, len, "still running");
	else if (end_ns == STORE_NONE)
		snprintf(out, len, "its end was not seen");
	else if (status == -1)
		snprintf(out, len, "ended unseen");
	else if (WIFSIGNALED(status))
		snprintf(out, len, "killed by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		snprintf(out, len, "exit status %d", WEXITSTATUS(status));
	else
		snprintf(out, len, "finished");
	return out;
}
