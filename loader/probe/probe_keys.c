/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "loader/probe/probe_keys.h"
#include "userspace/base/log.h"

#define DEPTH_MAX 8 /* file, probes, probe, captures, capture are five; the rest is reserve */

struct key {
	char name[24];	     /* cut: all known keys are shorter */
	size_t line, column; /* from 1 */
	int depth;	     /* number of enclosing containers */
	int probe;	     /* index in `probes`; -1: outside */
};

struct probe_keys {
	struct key *keys;
	size_t count, room;
	size_t *starts; /* line of each probe */
	size_t starts_count, starts_room;
};

struct walk {
	struct probe_keys *keys;
	bool mapping[DEPTH_MAX]; /* true: a mapping; false: a list */
	bool want_key[DEPTH_MAX];
	int depth;
	bool in_probes; /* inside the list of the file's key `probes` */
};

static int probe_keys_grow(void **array, size_t *room, size_t count, size_t size)
{
	size_t more = *room ? *room * 2 : 64;
	void *bigger;

	if (count < *room)
		return 0;
	bigger = reallocarray(*array, more, size);
	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	*room = more;
	return 0;
}

static int key_add(struct walk *w, const char *name, size_t line, size_t column)
{
	struct probe_keys *k = w->keys;
	bool inside = w->in_probes && w->depth > 1;
	struct key *key;
	int err;

	err = probe_keys_grow((void **)&k->keys, &k->room, k->count, sizeof(*k->keys));
	if (err)
		return err;
	key = &k->keys[k->count++];
	*key = (struct key){.line = line, .column = column, .depth = w->depth};
	key->probe = inside ? (int)k->starts_count - 1 : -1;
	strncpy(key->name, name, sizeof(key->name) - 1);
	if (w->depth == 1)
		w->in_probes = !strcmp(name, "probes");
	return 0;
}

static int probe_keys_start_add(struct walk *w, size_t line)
{
	struct probe_keys *k = w->keys;
	int err;

	if (w->depth != 2 || !w->in_probes)
		return 0;
	err = probe_keys_grow((void **)&k->starts, &k->starts_room, k->starts_count,
			      sizeof(*k->starts));
	if (!err)
		k->starts[k->starts_count++] = line;
	return err;
}

/* After a value, also a container, the enclosing mapping expects a key again. */
static void probe_keys_walk_value_done(struct walk *w)
{
	if (w->depth && w->mapping[w->depth - 1])
		w->want_key[w->depth - 1] = true;
}

static int keys_walk_scalar(struct walk *w, const yaml_event_t *e)
{
	bool key = w->depth && w->mapping[w->depth - 1] && w->want_key[w->depth - 1];

	if (!key) {
		probe_keys_walk_value_done(w);
		return probe_keys_start_add(w, e->start_mark.line + 1);
	}
	w->want_key[w->depth - 1] = false;
	return key_add(w, (const char *)e->data.scalar.value, e->start_mark.line + 1,
		       e->start_mark.column + 1);
}

static int keys_walk_open(struct walk *w, const yaml_event_t *e)
{
	int err = probe_keys_start_add(w, e->start_mark.line + 1);

	if (err)
		return err;
	if (w->depth == DEPTH_MAX)
		return -ELOOP;
	w->mapping[w->depth] = e->type == YAML_MAPPING_START_EVENT;
	w->want_key[w->depth++] = true;
	return 0;
}

static bool probe_keys_event_anchored(const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_ALIAS_EVENT:
		return true;
	case YAML_SCALAR_EVENT:
		return e->data.scalar.anchor;
	case YAML_SEQUENCE_START_EVENT:
		return e->data.sequence_start.anchor;
	case YAML_MAPPING_START_EVENT:
		return e->data.mapping_start.anchor;
	default:
		return false;
	}
}

static int keys_walk_event(struct walk *w, const yaml_event_t *e)
{
	if (probe_keys_event_anchored(e))
		return -EMLINK;
	switch (e->type) {
	case YAML_SCALAR_EVENT:
		return keys_walk_scalar(w, e);
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		return keys_walk_open(w, e);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		w->depth--;
		probe_keys_walk_value_done(w);
		return 0;
	default:
		return 0;
	}
}

static const char *probe_keys_walk_error(int err)
{
	switch (err) {
	case -EMLINK:
		return "anchors and aliases are not allowed";
	case -ELOOP:
		return "nested too deeply";
	default:
		return strerror(-err);
	}
}

static int keys_walk(struct walk *w, const char *path, yaml_parser_t *parser)
{
	yaml_event_t event;
	bool end = false;
	size_t line;
	int err = 0;

	while (!end && !err) {
		if (!yaml_parser_parse(parser, &event)) {
			log_error("%s:%zu: file: %s", path, parser->problem_mark.line + 1,
				  parser->problem ? parser->problem : "no memory");
			return -EINVAL;
		}
		line = event.start_mark.line + 1;
		end = event.type == YAML_STREAM_END_EVENT;
		err = keys_walk_event(w, &event);
		yaml_event_delete(&event);
		if (err)
			log_error("%s:%zu: file: %s", path, line, probe_keys_walk_error(err));
	}
	return err && err != -ENOMEM ? -EINVAL : err;
}

int probe_keys_read(struct probe_keys **ret, const char *path, const char *text, size_t len)
{
	struct probe_keys *k = calloc(1, sizeof(*k));
	struct walk walk = {.keys = k};
	yaml_parser_t parser;
	int err = -ENOMEM;

	if (!k || !yaml_parser_initialize(&parser))
		goto out;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	err = keys_walk(&walk, path, &parser);
	yaml_parser_delete(&parser);
out:
	if (err)
		probe_keys_free(k);
	else
		*ret = k;
	return err;
}

void probe_keys_free(struct probe_keys *k)
{
	if (!k)
		return;
	free(k->keys);
	free(k->starts);
	free(k);
}

size_t probe_keys_line(const struct probe_keys *k, int i, const char *key)
{
	int depth = i < 0 ? 1 : 3;

	for (size_t j = 0; key && j < k->count; j++)
		if (k->keys[j].probe == (i < 0 ? -1 : i) && k->keys[j].depth == depth &&
		    !strcmp(k->keys[j].name, key))
			return k->keys[j].line;
	return i >= 0 && (size_t)i < k->starts_count ? k->starts[i] : 1;
}

size_t probe_keys_line_after(const struct probe_keys *k, const char *key, size_t line,
			     size_t column)
{
	for (size_t j = 0; j < k->count; j++) {
		const struct key *at = &k->keys[j];
		bool after = at->line > line || (at->line == line && at->column > column);

		if (after && !strncmp(at->name, key, sizeof(at->name) - 1))
			return at->line;
	}
	return line ? line : 1;
}
