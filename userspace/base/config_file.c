/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/config_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/base/path.h"
#include "userspace/base/yaml_stream.h"

#define CONFIG_KEY_MAX 128
#define CONFIG_MAX     (1 << 20) /* bytes of a file */
/* If the file is a pipe: time (ms) to wait for each part from its writer */
#define CONFIG_WAIT_MS 3000

/* State of reading a file: the dotted key that the walk has reached */
struct config_walk {
	const char *file;
	char key[CONFIG_KEY_MAX];
	size_t len[YAML_DEPTH_MAX]; /* length of `key` for each mapping that is open */
	bool sequence[YAML_DEPTH_MAX];
	int depth;
	bool have_key;
};

static int config_walk_scalar(struct config_walk *w, const struct yaml_part *part, config_fn *set,
			      void *ctx)
{
	size_t base;

	if (!w->depth) {
		log_error("%s:%d: expected keys with values, like 'version: 1'", w->file,
			  part->line);
		return -EINVAL;
	}
	if (w->have_key || w->sequence[w->depth - 1]) {
		w->have_key = false;
		return set(ctx, w->file, part->line, w->key, part->text);
	}
	base = w->len[w->depth - 1];
	if (base + 1 + strlen(part->text) >= CONFIG_KEY_MAX) {
		log_error("%s:%d: the key is too long", w->file, part->line);
		return -EINVAL;
	}
	snprintf(w->key + base, CONFIG_KEY_MAX - base, "%s%s", base ? "." : "", part->text);
	w->have_key = true;
	return 0;
}

static int config_walk_part(struct config_walk *w, const struct yaml_part *part, config_fn *set,
			    void *ctx)
{
	switch (part->kind) {
	case YAML_PART_MAPPING:
	case YAML_PART_LIST:
		w->sequence[w->depth] = part->kind == YAML_PART_LIST;
		w->len[w->depth++] = strlen(w->key);
		w->have_key = false;
		return 0;
	case YAML_PART_CLOSE:
		w->depth--;
		w->key[w->depth ? w->len[w->depth - 1] : 0] = 0;
		return 0;
	case YAML_PART_SCALAR:
		return config_walk_scalar(w, part, set, ctx);
	case YAML_PART_END:
		break;
	}
	return 0;
}

int config_read_text(const char *file, const char *text, size_t len, config_fn *set, void *ctx)
{
	struct config_walk w = {.file = file};
	struct yaml_part part = {0};
	struct yaml_stream *s;
	int err = yaml_stream_open(&s, file, text, len);

	if (err)
		return err;
	while (!err && part.kind != YAML_PART_END) {
		err = yaml_stream_next(s, &part);
		err = err ? err : config_walk_part(&w, &part, set, ctx);
	}
	yaml_stream_close(s);
	return err;
}

static int config_read_file(const char *option, const char *file, int wait_ms, config_fn *set,
			    void *ctx)
{
	struct buffer text = {0};
	int err = path_read(file, &text, CONFIG_MAX, wait_ms);

	if (err)
		log_error(
			"%s %s: %s", option, file,
			err == -EINVAL ? "not a regular file"
			: err == -ETIMEDOUT
				? "no process writes to this pipe, or its writer does not close it"
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
