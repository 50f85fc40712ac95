/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/config_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "userspace/base/log.h"
#include "userspace/base/path.h"

#define CONFIG_DEPTH   8
#define CONFIG_KEY_MAX 128
#define CONFIG_MAX     (1 << 20) /* bytes */
#define CONFIG_WAIT_MS 3000	 /* limit for the writer of a pipe */

struct config_walk {
	const char *file;
	char key[CONFIG_KEY_MAX];
	size_t len[CONFIG_DEPTH]; /* length of key at each open mapping */
	bool sequence[CONFIG_DEPTH];
	int depth;
	bool have_key;
};

static int config_walk_scalar(struct config_walk *w, const yaml_event_t *ev, config_fn *set,
			      void *ctx)
{
	const char *text = (const char *)ev->data.scalar.value;
	int line = (int)ev->start_mark.line + 1;
	size_t base;

	if (!w->depth) {
		log_error("%s:%d: expected a mapping like 'version: 1'", w->file, line);
		return -EINVAL;
	}
	if (w->have_key || w->sequence[w->depth - 1]) {
		w->have_key = false;
		return set(ctx, w->file, line, w->key, text);
	}
	base = w->len[w->depth - 1];
	if (base + 1 + strlen(text) >= CONFIG_KEY_MAX) {
		log_error("%s:%d: key too long", w->file, line);
		return -EINVAL;
	}
	snprintf(w->key + base, CONFIG_KEY_MAX - base, "%s%s", base ? "." : "", text);
	w->have_key = true;
	return 0;
}

static int config_walk_event(struct config_walk *w, const yaml_event_t *ev, config_fn *set,
			     void *ctx)
{
	switch (ev->type) {
	case YAML_MAPPING_START_EVENT:
	case YAML_SEQUENCE_START_EVENT:
		if (w->depth == CONFIG_DEPTH) {
			log_error("%s:%zu: nested too deep", w->file, ev->start_mark.line + 1);
			return -EINVAL;
		}
		w->sequence[w->depth] = ev->type == YAML_SEQUENCE_START_EVENT;
		w->len[w->depth++] = strlen(w->key);
		w->have_key = false;
		return 0;
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		w->depth--;
		w->key[w->depth ? w->len[w->depth - 1] : 0] = 0;
		return 0;
	case YAML_SCALAR_EVENT:
		return config_walk_scalar(w, ev, set, ctx);
	case YAML_ALIAS_EVENT:
		log_error("%s:%zu: aliases are not supported", w->file, ev->start_mark.line + 1);
		return -EINVAL;
	default:
		return 0;
	}
}

int config_read_text(const char *file, const char *text, size_t len, config_fn *set, void *ctx)
{
	struct config_walk w = {.file = file};
	yaml_parser_t parser;
	yaml_event_t ev;
	bool end = false;
	int err = 0;

	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	while (!err && !end) {
		if (!yaml_parser_parse(&parser, &ev)) {
			log_error("%s:%zu: %s", file, parser.problem_mark.line + 1,
				  parser.problem ? parser.problem : "not YAML");
			err = -EINVAL;
			break;
		}
		end = ev.type == YAML_STREAM_END_EVENT;
		err = config_walk_event(&w, &ev, set, ctx);
		yaml_event_delete(&ev);
	}
	yaml_parser_delete(&parser);
	return err;
}

static int config_read_file(const char *option, const char *file, int wait_ms, config_fn *set,
			    void *ctx)
{
	struct buffer text = {0};
	int err = path_read(file, &text, CONFIG_MAX, wait_ms);

	if (err)
		log_error("%s %s: %s", option, file,
			  err == -EINVAL ? "it is not a regular file"
			  : err == -ETIMEDOUT
				  ? "no process writes to this pipe, or its writer does not end it"
				  : strerror(-err));
	else
		err = config_read_text(file, text.data ? text.data : "", text.len, set, ctx);
	buffer_free(&text);
	return err;
}

int config_read(const char *file, config_fn *set, void *ctx)
{
	return config_read_file("--config", file, CONFIG_WAIT_MS, set, ctx);
}

int config_read_again(const char *file, config_fn *set, void *ctx)
{
	return config_read_file("--web-config", file, 0, set, ctx);
}
