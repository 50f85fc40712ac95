/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/yaml_table.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/grow.h"
#include "userspace/base/log.h"
#include "userspace/base/yaml_stream.h"

#define SHOWN_MAX 64 /* most bytes of a text from the file that a message shows */

struct yaml_reader {
	struct yaml_memory *memory;
	struct yaml_stream *stream;
	const char *name;
};

static int yaml_table_error(const struct yaml_reader *r, int line, const char *key,
			    const char *what)
{
	log_error("%s:%d: %s: %s", r->name, line, key, what);
	return -EINVAL;
}

static void *yaml_table_alloc(const struct yaml_reader *r, size_t count, size_t size)
{
	struct yaml_memory *m = r->memory;
	void **piece = grow_append(&m->piece, &m->count, &m->cap, sizeof(*m->piece));

	return piece ? *piece = calloc(count, size) : NULL;
}

void yaml_memory_free(struct yaml_memory *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->piece[i]);
	free(m->piece);
	*m = (struct yaml_memory){0};
}

static bool yaml_table_number(const char *text, enum yaml_type type, void *at)
{
	char *end;

	errno = 0;
	if (type == YAML_INT) {
		long long number = strtoll(text, &end, 0);

		*(int *)at = (int)number;
		return end != text && !*end && !errno && number >= INT_MIN && number <= INT_MAX;
	}
	unsigned long long number = strtoull(text, &end, 0);
	unsigned long long max = type == YAML_UINT ? UINT_MAX : UINT64_MAX;

	if (type == YAML_UINT)
		*(unsigned *)at = (unsigned)number;
	else
		*(uint64_t *)at = number;
	return end != text && !*end && !errno && number <= max && !strchr(text, '-');
}

static int yaml_table_scalar(const struct yaml_reader *r, const struct yaml_field *f,
			     const struct yaml_part *part, void *at)
{
	const struct yaml_choice *c = f->choices;
	size_t len = strlen(part->text);
	char what[SHOWN_MAX + 32], shown[SHOWN_MAX];
	const char *wrong = "is not a number in range";

	if (f->type == YAML_TEXT) {
		char *text;

		if (!len || len > YAML_TEXT_MAX)
			return yaml_table_error(r, part->line, f->key,
						"a text has 1 to 1024 bytes");
		text = yaml_table_alloc(r, 1, len + 1);
		if (!text)
			return -ENOMEM;
		memcpy(text, part->text, len);
		*(char **)at = text;
		return 0;
	}
	if (f->type != YAML_CHOICE && yaml_table_number(part->text, f->type, at))
		return 0;
	if (f->type == YAML_CHOICE) {
		while (c->name && strcmp(c->name, part->text) != 0)
			c++;
		*(int *)at = c->value;
		if (c->name)
			return 0;
		wrong = "is not a value of this key";
	}
	snprintf(what, sizeof(what), "%s %s", log_escape(shown, sizeof(shown), part->text, len),
		 wrong);
	return yaml_table_error(r, part->line, f->key, what);
}

static int yaml_table_structure(const struct yaml_reader *r, const struct yaml_field *fields,
				int line, void *object);

static int yaml_table_value(const struct yaml_reader *r, const struct yaml_field *f,
			    const struct yaml_part *part, void *at)
{
	bool structure = f->type == YAML_STRUCTURE;

	if (part->kind != (structure ? YAML_PART_MAPPING : YAML_PART_SCALAR))
		return yaml_table_error(r, part->line, f->key,
					structure ? "expected a mapping" : "expected one value");
	return structure ? yaml_table_structure(r, f->fields, part->line, at)
			 : yaml_table_scalar(r, f, part, at);
}

static int yaml_table_list(const struct yaml_reader *r, const struct yaml_field *f, int line,
			   char *object)
{
	char *entries = yaml_table_alloc(r, f->max, f->size), what[48];
	struct yaml_part part;
	unsigned count = 0;
	int err = entries ? yaml_stream_next(r->stream, &part) : -ENOMEM;

	while (!err && part.kind != YAML_PART_CLOSE && count < f->max) {
		err = yaml_table_value(r, f, &part, entries + count++ * f->size);
		err = err ? err : yaml_stream_next(r->stream, &part);
	}
	if (err)
		return err;
	if (!count || part.kind != YAML_PART_CLOSE) {
		snprintf(what, sizeof(what), "a list has 1 to %u entries", f->max);
		return yaml_table_error(r, line, f->key, what);
	}
	*(void **)(object + f->at) = entries;
	*(unsigned *)(object + f->count_at) = count;
	return 0;
}

static int yaml_table_member(const struct yaml_reader *r, const struct yaml_field *f,
			     const struct yaml_part *part, char *object)
{
	void *at = object + f->at, *value = at;

	if (f->max && part->kind != YAML_PART_LIST)
		return yaml_table_error(r, part->line, f->key, "expected a list");
	if (f->max)
		return yaml_table_list(r, f, part->line, object);
	if (f->size) {
		value = yaml_table_alloc(r, 1, f->size);
		if (!value)
			return -ENOMEM;
		*(void **)at = value;
	}
	return yaml_table_value(r, f, part, value);
}

static size_t yaml_table_find(const struct yaml_field *fields, const char *key)
{
	size_t i = 0;

	while (fields[i].key && (!key || strcmp(fields[i].key, key) != 0))
		i++;
	return i;
}

static int yaml_table_key(const struct yaml_reader *r, const struct yaml_field *fields, int *lines,
			  const struct yaml_part *part, char *object)
{
	char shown[SHOWN_MAX];
	struct yaml_part value;
	size_t i;
	int err;

	if (part->kind != YAML_PART_SCALAR)
		return yaml_table_error(r, part->line, "file", "a key is a mapping or a list");
	i = yaml_table_find(fields, part->text);
	if (!fields[i].key || lines[i + 1])
		return yaml_table_error(
			r, part->line,
			log_escape(shown, sizeof(shown), part->text, strlen(part->text)),
			fields[i].key ? "given twice" : "unknown key");
	lines[i + 1] = part->line;
	err = yaml_stream_next(r->stream, &value);
	return err ? err : yaml_table_member(r, &fields[i], &value, object);
}

/* Reads a mapping into a struct. Sets the struct's first member to an array of line numbers: of the
 * struct, then of each of its fields. */
static int yaml_table_structure(const struct yaml_reader *r, const struct yaml_field *fields,
				int line, void *object)
{
	int *lines = yaml_table_alloc(r, yaml_table_find(fields, NULL) + 1, sizeof(*lines));
	struct yaml_part part;
	int err = lines ? yaml_stream_next(r->stream, &part) : -ENOMEM;

	while (!err && part.kind != YAML_PART_CLOSE) {
		err = yaml_table_key(r, fields, lines, &part, object);
		err = err ? err : yaml_stream_next(r->stream, &part);
	}
	if (err)
		return err;
	for (size_t i = 0; fields[i].key; i++)
		if (fields[i].required && !lines[i + 1])
			return yaml_table_error(r, line, fields[i].key, "is missing");
	lines[0] = line;
	*(const int **)object = lines;
	return 0;
}

int yaml_table_read(struct yaml_memory *m, const char *name, const char *text, size_t len,
		    const struct yaml_field *fields, void *object)
{
	struct yaml_reader r = {.memory = m, .name = name};
	struct yaml_part part = {0};
	int err = yaml_stream_open(&r.stream, name, text, len);

	err = err ? err : yaml_stream_next(r.stream, &part);
	if (!err && part.kind != YAML_PART_MAPPING)
		err = yaml_table_error(&r, 1, "file",
				       part.kind == YAML_PART_END ? "is empty"
								  : "expected a mapping");
	err = err ? err : yaml_table_structure(&r, fields, part.line, object);
	err = err ? err : yaml_stream_next(r.stream, &part);
	if (!err && part.kind != YAML_PART_END)
		err = yaml_table_error(&r, part.line, "file", "has more than one document");
	yaml_stream_close(r.stream);
	return err;
}

int yaml_table_line(const struct yaml_field *fields, const int *lines, const char *key)
{
	size_t i = yaml_table_find(fields, key);

	return lines[fields[i].key && lines[i + 1] ? i + 1 : 0];
}
