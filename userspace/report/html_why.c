/* SPDX-License-Identifier: Apache-2.0 */
/* html_why.c - the section "Why" of the page: all verdicts, with their evidence and what to try. */
#include <stdio.h>

#include "userspace/report/html_private.h"

static void html_why_line(struct buffer *out, const char *before, const char *text)
{
	if (!*text)
		return;
	buffer_printf(out, "<p class=\"dim small any\">%s", before);
	html_text(out, text);
	buffer_printf(out, "</p>");
}

static void html_why_verdict(struct buffer *out, const struct verdict *v)
{
	char share[WORD_MAX] = "";

	buffer_printf(out, "<li>");
	if (v->share > 0) {
		snprintf(share, sizeof(share), "%.0f %%", 100 * v->share);
		html_data(out, "share", (uint64_t)(v->share * 1e6), share);
		buffer_printf(out, " ");
	}
	buffer_printf(out, "<strong>%s</strong>: ", verdict_label[v->kind]);
	html_text(out, v->text);
	html_why_line(out, "", v->evidence);
	html_why_line(out, "Try: ", v->next);
	buffer_printf(out, "</li>\n");
}

void html_why(struct buffer *out, const struct report_document *s)
{
	const struct verdicts *v = &s->verdicts;

	/* the first verdict says it all if nothing stands out */
	if (v->of[0].kind >= VERDICT_steady)
		return;
	html_section(out, "why", "Why");
	buffer_printf(out, "<ol class=\"why\">\n");
	for (uint32_t i = 0; i < v->count; i++)
		html_why_verdict(out, &v->of[i]);
	buffer_printf(out, "</ol>\n");
	if (v->unexplained >= 0.005)
		buffer_printf(out,
			      "<p class=\"dim small\">%.0f %% of the time is unexplained.</p>\n",
			      100 * v->unexplained);
	html_section_end(out);
}
