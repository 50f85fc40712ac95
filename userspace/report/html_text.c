/* SPDX-License-Identifier: Apache-2.0 */
/* html_text.c - text, numbers, times and sections in HTML. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "userspace/base/clock.h"
#include "userspace/base/epoch.h"
#include "userspace/base/utf8.h"
#include "userspace/report/html_private.h"

#define CLOCK_LABELS 4
#define MINUTE_NS    60000000000LL
#define DAY_NS	     (1440 * MINUTE_NS)

void html_text(struct buffer *out, const char *text)
{
	size_t len = strlen(text), n;
	uint32_t c;

	for (; len; text += n, len -= n) {
		n = utf8_decode(text, len, &c);
		/* Replace what XML cannot represent: control characters, U+FFFE and U+FFFF. */
		if (!n || utf8_columns(c) < 0 || (c & 0xfffe) == 0xfffe) {
			n = n ? n : 1;
			buffer_add(out, "\xef\xbf\xbd", 3);
		} else if (c == '&') {
			buffer_add(out, "&amp;", 5);
		} else if (c == '<') {
			buffer_add(out, "&lt;", 4);
		} else if (c == '>') {
			buffer_add(out, "&gt;", 4);
		} else if (c == '"') {
			buffer_add(out, "&quot;", 6);
		} else if (c == '\'') {
			buffer_add(out, "&#39;", 5);
		} else {
			buffer_add(out, text, n);
		}
	}
}

void html_data(struct buffer *out, const char *name, uint64_t value, const char *shown)
{
	buffer_printf(out, "<data class=\"%s\" value=\"%llu\">", name, (unsigned long long)value);
	html_text(out, shown);
	buffer_printf(out, "</data>");
}

void html_duration(struct buffer *out, const char *name, uint64_t ns)
{
	char text[WORD_MAX];

	html_data(out, name, ns, ns ? clock_duration(text, WORD_MAX, ns) : "0 s");
}

const char *html_about(char out[WORD_MAX], double ns)
{
	return clock_duration(out, WORD_MAX,
			      ns < 0		       ? 0
			      : ns > (double)INT64_MAX ? INT64_MAX
						       : (uint64_t)ns);
}

void html_count(struct buffer *out, const char *name, uint64_t n)
{
	char digits[24], shown[48];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n), at = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0) {
			memcpy(shown + at, "\xe2\x80\xaf",
			       3); /* a narrow no-break space between groups of three digits */
			at += 3;
		}
		shown[at++] = digits[i];
	}
	shown[at] = '\0';
	html_data(out, name, n, shown);
}

void html_time(struct buffer *out, int64_t ns)
{
	char text[EPOCH_TEXT_MAX], full[CLOCK_TEXT_MAX];

	buffer_printf(out, "<time datetime=\"%s\">%s</time>", clock_rfc3339(full, ns),
		      epoch_text(text, ns / 1000, 0));
}

void html_section(struct buffer *out, const char *id, const char *heading)
{
	buffer_printf(out, "<section aria-labelledby=\"h-%s\">\n<h2 id=\"h-%s\">%s</h2>\n", id, id,
		      heading);
}

void html_section_end(struct buffer *out)
{
	buffer_printf(out, "</section>\n");
}

double html_at(const struct report_document *s, int64_t ns)
{
	double whole = (double)(s->to_ns - s->from_ns), at = (double)(ns - s->from_ns);

	if (whole <= 0 || at < 0)
		return 0;
	return at >= whole ? HTML_WIDE : HTML_WIDE * at / whole;
}

void html_clock(struct buffer *out, const struct report_document *s)
{
	int64_t whole = s->to_ns - s->from_ns;
	const char *format = whole > 3 * DAY_NS	      ? "%m-%d"
			     : whole > DAY_NS	      ? "%m-%d %H:%M"
			     : whole > 10 * MINUTE_NS ? "%H:%M"
						      : "%H:%M:%S";
	char text[32];

	buffer_printf(out, "<p class=\"clock\" aria-hidden=\"true\">");
	for (int i = 0; i <= CLOCK_LABELS; i++) {
		time_t t = (time_t)((s->from_ns + whole / CLOCK_LABELS * i) / 1000000000);
		struct tm tm;

		gmtime_r(&t, &tm);
		strftime(text, sizeof(text), format, &tm);
		buffer_printf(out, "<span>%s%s</span>", text, i == CLOCK_LABELS ? " UTC" : "");
	}
	buffer_printf(out, "</p>\n");
}
