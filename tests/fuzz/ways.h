/* SPDX-License-Identifier: Apache-2.0 */
/* ways.h - exporters that write files, and OTLP: what they are given goes out and is read back, by
 * the rules of each form. */
#ifndef TESTS_FUZZ_WAYS_H
#define TESTS_FUZZ_WAYS_H

#include <cjson/cJSON.h>
#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"
#include "userspace/export/exporter.h"
#include "userspace/export/otlp/otlp_metric.h"
#include "userspace/export/otlp/otlp_tree.h"
#include "userspace/export/tensorboard/tensorboard_record.h"

#define WAY_PATH 128

enum way { WAY_TRACE, WAY_CSV, WAY_TENSORBOARD, WAYS };

static struct {
	char top[WAY_PATH], arg[WAYS][WAY_PATH];
	void *state[WAYS];
	struct otlp_queue *queue;
	struct otlp_tree *tree;
} ways;
static const struct exporter *const way_of[WAYS] = {&export_trace, &export_csv,
						    &export_tensorboard};

static inline void ways_init(void)
{
	static const char *const under[WAYS] = {"trace", "tables", "board"};

	snprintf(ways.top, sizeof(ways.top), "%s/ways", fuzz_folder());
	for (int i = 0; i < WAYS; i++)
		snprintf(ways.arg[i], WAY_PATH, "%.100s/%s", ways.top, under[i]);
}

static inline void ways_open(void)
{
	const struct export_options o = {.replay = true};

	REQUIRE(!mkdir(ways.top, 0700));
	for (int i = 0; i < WAYS; i++)
		REQUIRE(!way_of[i]->open(&ways.state[i], ways.arg[i], &o));
	ways.queue = otlp_queue_new(0, 0);
	ways.tree = ways.queue ? otlp_tree_new(ways.queue, 1, "host") : NULL;
	REQUIRE(ways.tree);
}

static inline void ways_fact(const struct fact *f)
{
	for (int i = 0; i < WAYS; i++)
		way_of[i]->fact(ways.state[i], f);
	otlp_tree_fact(ways.tree, f);
}

/* Elements of an array of JSON, each of which has these. */
static inline void way_json(struct buffer *b, const char *const *has)
{
	const cJSON *each;
	cJSON *all;

	buffer_add(b, "]", 1);
	REQUIRE(!b->failed && fuzz_printable(b->data, b->len, false));
	all = cJSON_ParseWithLength(b->data, b->len);
	REQUIRE(cJSON_IsArray(all));
	cJSON_ArrayForEach(each, all)
	{
		for (int i = 0; has[i]; i++)
			REQUIRE(cJSON_IsString(cJSON_GetObjectItem(each, has[i])));
	}
	cJSON_Delete(all);
	buffer_free(b);
}

static inline void way_spans(void)
{
	static const char *const has[] = {"traceId",	       "spanId",	  "name",
					  "startTimeUnixNano", "endTimeUnixNano", NULL};
	struct buffer b = {0};

	otlp_tree_free(ways.tree);
	buffer_add(&b, "[", 1);
	otlp_queue_take(ways.queue, UINT32_MAX, SIZE_MAX, &b);
	way_json(&b, has);
	otlp_queue_free(ways.queue);
}

static inline void way_metrics(const struct snapshot *s)
{
	static const char *const has[] = {"name", "unit", "description", NULL};
	struct buffer b = {0};
	uint32_t at = 0;

	buffer_add(&b, "[", 1);
	otlp_metrics(&b, s, &at);
	way_json(&b, has);
}

static inline void ways_snapshot(struct snapshot *s)
{
	for (int i = 0; i < WAYS; i++)
		way_of[i]->snapshot(ways.state[i], s);
	way_metrics(s);
}

/* ---- reading back ---------------------------------------------------------------------------- */

static inline char *way_text(const char *path, size_t *ret_len)
{
	FILE *in = fopen(path, "rb");
	struct stat st;
	char *text;

	REQUIRE(in && !fstat(fileno(in), &st));
	*ret_len = (size_t)st.st_size;
	text = malloc(*ret_len + 1);
	REQUIRE(text && fread(text, 1, *ret_len, in) == *ret_len);
	text[*ret_len] = '\0';
	fclose(in);
	return text;
}

static inline void way_trace(void)
{
	const cJSON *each;
	size_t len;
	char *text = way_text(ways.arg[WAY_TRACE], &len);
	cJSON *all = cJSON_ParseWithLength(text, len);

	REQUIRE(fuzz_printable(text, len, true));
	REQUIRE(cJSON_IsArray(all));
	cJSON_ArrayForEach(each, all)
	{
		REQUIRE(cJSON_IsString(cJSON_GetObjectItem(each, "ph")));
		REQUIRE(cJSON_IsString(cJSON_GetObjectItem(each, "name")));
		REQUIRE(cJSON_IsNumber(cJSON_GetObjectItem(each, "pid")));
		REQUIRE(cJSON_IsNumber(cJSON_GetObjectItem(each, "ts")));
		REQUIRE(cJSON_IsObject(cJSON_GetObjectItem(each, "args")) ||
			!strcmp(cJSON_GetObjectItem(each, "ph")->valuestring, "e"));
	}
	cJSON_Delete(all);
	free(text);
}

/* Rows of as many cells as the first, by RFC 4180; no cell is a formula. */
static inline void way_table(const char *name)
{
	char path[WAY_PATH + 32], *text, *at;
	size_t len, cells = 0, head = 0;

	snprintf(path, sizeof(path), "%s/%s.csv", ways.arg[WAY_CSV], name);
	text = at = way_text(path, &len);
	while (*at) {
		char *from = at + (*at == '"');

		REQUIRE(!strchr("=+@\t\r", *from) || !*from || (*from == '\r' && from == at));
		if (*at == '"') {
			for (at++; at[0] != '"' || at[1] == '"'; at += at[0] == '"' ? 2 : 1)
				REQUIRE(*at);
			REQUIRE(fuzz_printable(from, (size_t)(at - from), false));
			at++;
		} else {
			at += strcspn(at, ",\r\n\"");
		}
		cells++;
		if (*at == ',') {
			at++;
			continue;
		}
		REQUIRE(at[0] == '\r' && at[1] == '\n');
		at += 2;
		head = head ? head : cells;
		REQUIRE(cells == head);
		cells = 0;
	}
	REQUIRE(at == text + len && head && !cells);
	free(text);
}

/* Every event file is of whole records; where it lies is below the folder. */
static inline int way_events(const char *path, const struct stat *st, int type, struct FTW *at)
{
	uint64_t count;
	size_t len;
	char *text;

	(void)st;
	REQUIRE(fuzz_printable(path, strlen(path), false));
	REQUIRE(type == FTW_F || type == FTW_D);
	REQUIRE(at->level <= 4);
	if (type != FTW_F)
		return 0;
	text = way_text(path, &len);
	REQUIRE(tb_record_whole(text, len, &count) == len && count);
	free(text);
	return 0;
}

static inline int way_removed(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static inline void ways_close(void)
{
	for (int i = 0; i < WAYS; i++)
		REQUIRE(!way_of[i]->close(ways.state[i]));
	way_spans();
	way_trace();
	way_table("steps");
	way_table("checkpoints");
	way_table("disruptions");
	REQUIRE(!nftw(ways.arg[WAY_TENSORBOARD], way_events, 8, FTW_PHYS));
	REQUIRE(!nftw(ways.top, way_removed, 8, FTW_DEPTH | FTW_PHYS));
}

#endif
