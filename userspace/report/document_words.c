/* SPDX-License-Identifier: Apache-2.0 */
/* document_words.c - a job's name and state, and the ends of its runs, as text. */
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
