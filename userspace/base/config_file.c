/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#include "userspace/base/log.h"

#define CONFIG_DEPTH   8
#define CONFIG_KEY_MAX 128
#define CONFIG_MAX     (1 << 20) /* bytes of a file that is read while others wait */

struct config_walk {
	const char *file;
	char key[CONFIG_KEY_MAX];
	size_t len[CONFIG_DEPTH]; /* length of key at each open mapping */
	bool sequence[CONFIG_DEPTH];
	int depth;
	bool have_key;
};

static int walk_scalar(struct config_walk *w, const yaml_event_t *ev, config_fn *set, void *ctx)
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

static int walk_event(struct config_walk *w, const yaml_event_t *ev, config_fn *set, void *ctx)
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
		return walk_scalar(w, ev, set, ctx);
	case YAML_ALIAS_EVENT:
		log_error("%s:%zu: aliases are not supported", w->file, ev->start_mark.line + 1);
		return -EINVAL;
	default:
		return 0;
	}
}

/* Of f, which it closes. */
static int config_parse(FILE *f, const char *file, config_fn *set, void *ctx)
{
	struct config_walk w = {.file = file};
	yaml_parser_t parser;
	yaml_event_t ev;
	bool end = false;
	int err = 0;

	if (!yaml_parser_initialize(&parser)) {
		fclose(f);
		return -ENOMEM;
	}
	yaml_parser_set_input_file(&parser, f);
	while (!err && !end) {
		if (!yaml_parser_parse(&parser, &ev)) {
			log_error("%s:%zu: %s", file, parser.problem_mark.line + 1,
				  parser.problem ? parser.problem : "not YAML");
			err = -EINVAL;
			break;
		}
		end = ev.type == YAML_STREAM_END_EVENT;
		err = walk_event(&w, &ev, set, ctx);
		yaml_event_delete(&ev);
	}
	yaml_parser_delete(&parser);
	fclose(f);
	return err;
}

int config_read(const char *file, config_fn *set, void *ctx)
{
	FILE *f = fopen(file, "re");
	int err = f ? 0 : -errno;

	if (f)
		return config_parse(f, file, set, ctx);
	log_error("config %s: %s", file, strerror(-err));
	return err;
}

int config_read_text(const char *file, const char *text, size_t len, config_fn *set, void *ctx)
{
	FILE *f = fmemopen((void *)text, len, "r"); /* which it does not write */

	return f ? config_parse(f, file, set, ctx) : -errno;
}

int config_read_again(const char *file, config_fn *set, void *ctx)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), err = 0;
	struct stat st;
	FILE *f = NULL;

	if (fd < 0 || fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	else if (st.st_size > CONFIG_MAX)
		err = -EFBIG;
	else if (!(f = fdopen(fd, "r")))
		err = -errno;
	if (f)
		return config_parse(f, file, set, ctx);
	log_error("cannot read %s: %s", file,
		  err == -EINVAL ? "it is no regular file" : strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}
