/* SPDX-License-Identifier: Apache-2.0 */
/* shown.h - what must hold of everything that is shown or exported, whatever was put in. */
#ifndef TESTS_FUZZ_SHOWN_H
#define TESTS_FUZZ_SHOWN_H

#include <cjson/cJSON.h>
#include <ctype.h>

#include "tests/fuzz/fuzz.h"
#include "userspace/export/file/json_line.h"
#include "userspace/export/prometheus/prometheus_text.h"
#include "userspace/view/frame.h"
#include "userspace/report/report.h"
#include "userspace/view/view.h"

/* One line of JSON, or nothing. */
static inline void shown_json(const struct buffer *b)
{
	cJSON *j;

	if (!b->len)
		return;
	REQUIRE(memchr(b->data, '\n', b->len) == b->data + b->len - 1);
	REQUIRE(fuzz_printable(b->data, b->len - 1, false));
	j = cJSON_ParseWithLength(b->data, b->len);
	REQUIRE(j);
	cJSON_Delete(j);
}

/* name="value",...} */
static inline const char *shown_labels(const char *at)
{
	while (*at != '}') {
		REQUIRE(isalpha((unsigned char)*at) || *at == '_');
		while (isalnum((unsigned char)*at) || *at == '_')
			at++;
		REQUIRE(at[0] == '=' && at[1] == '"');
		for (at += 2; *at != '"'; at++) {
			REQUIRE(*at && *at != '\n');
			if (*at != '\\')
				continue;
			at++;
			REQUIRE(*at == '\\' || *at == '"' || *at == 'n');
		}
		at++;
		REQUIRE(*at == ',' || *at == '}');
		at += *at == ',';
	}
	return at + 1;
}

static inline void shown_metrics(struct buffer *b)
{
	char *line, *rest, *end;

	REQUIRE(fuzz_printable(b->data, b->len, true));
	for (line = strtok_r(b->data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const char *at = line;

		if (*at == '#')
			continue;
		REQUIRE(isalpha((unsigned char)*at));
		at += strcspn(at, "{ ");
		if (*at == '{')
			at = shown_labels(at + 1);
		REQUIRE(*at == ' ');
		(void)!strtod(at + 1, &end);
		REQUIRE(end != at + 1 && (!*end || *end == ' '));
	}
}

static inline void shown_text(const struct buffer *b)
{
	REQUIRE(fuzz_printable(b->data, b->len, true));
}

static inline void shown_fact(const struct fact *f, const struct snapshot *last)
{
	struct buffer b = {0};
	char *text = NULL;
	size_t len = 0;
	FILE *out;

	json_line(&b, f, last);
	shown_json(&b);
	buffer_free(&b);
	out = open_memstream(&text, &len);
	REQUIRE(out);
	plain_fact(out, f);
	fclose(out);
	REQUIRE(fuzz_printable(text, len, true));
	free(text);
}

static inline void shown_snapshot(const struct snapshot *s, int cols)
{
	struct frame_options o = {.cols = cols, .rows = 40};
	struct buffer b = {0};
	char *text = NULL;
	size_t len = 0;
	FILE *out;

	prometheus_text(&b, s, PROMETHEUS_TEXT);
	buffer_add(&b, "", 1);
	b.len--;
	shown_metrics(&b);
	buffer_clear(&b);
	report_text(&b, s, 0, false);
	shown_text(&b);
	buffer_clear(&b);
	report_json(&b, s);
	shown_json(&b);
	buffer_clear(&b);
	frame_draw(&b, s, &o);
	shown_text(&b);
	buffer_free(&b);
	out = open_memstream(&text, &len);
	REQUIRE(out);
	plain_snapshot(out, s);
	fclose(out);
	REQUIRE(fuzz_printable(text, len, true));
	free(text);
}

#endif
