/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/gp_private.h"
#include "loader/probe/probe_check.h"
#include "loader/probe/probe_file.h"
#include "loader/probe/probe_match.h"
#include "loader/probe/probe_yaml.h"
#include "userspace/base/log.h"

#define FILES_MAX  128
#define WORDS_MAX  64 /* limit of entries in `threads`, and in `devices`, of all files together */
#define OWNED_EACH 4  /* limit of allocated texts and lists for each row */
#define OWNED_MAX  ((2 * GP_ROWS_MAX + FILES_MAX) * OWNED_EACH)
#define OWNED_KEEP (2 * GP_KEEP * GP_ROWS_MAX) /* lists that probe_table_keep() allocates */

/* All rows of the probe files, and the memory that they point to */
struct probe_table {
	struct yaml_file *files[FILES_MAX]; /* the parsed files, which own the texts of the rows */
	size_t files_count;
	struct probe_row rows[GP_ROWS_MAX];
	size_t count, counted, returning;
	struct gp_code *codes;
	size_t codes_count;
	const char *threads[WORDS_MAX + 1], *devices[WORDS_MAX + 1]; /* end with NULL */
	int folder; /* number of the current folder: its rows replace rows of earlier folders with
		       the same id */
	void *owned[OWNED_MAX + OWNED_KEEP]; /* memory of rows, also of refused and replaced rows */
	size_t owned_count;
};

/* A probe of a file that is being added to the table. */
struct source {
	const struct yaml_file *file;
	const struct yaml_probe *yaml;
	int index;
};

static int probe_file_error(const struct source *s, const char *field, const char *what)
{
	log_error("%s:%d: %s: %s", s->file->path, yaml_file_line(s->file, s->index, field),
		  field ? field : "probe", what);
	return -EINVAL;
}

static void *probe_file_table_own(struct probe_table *t, void *memory)
{
	if (memory)
		t->owned[t->owned_count++] = memory;
	return memory;
}

static const char *const *probe_file_list_dup(struct probe_table *t, const struct yaml_list *list)
{
	const char **copy = probe_file_table_own(t, calloc(list->count + 1, sizeof(*copy)));

	for (unsigned i = 0; copy && i < list->count; i++)
		copy[i] = list->entry[i];
	return copy;
}

static int probe_file_number_clamp(unsigned number)
{
	return number > INT8_MAX ? INT8_MAX : (int)number;
}

static struct probe_capture probe_file_capture_from(const struct yaml_capture *c)
{
	struct probe_capture ret = {
		.name = c->name,
		.arg = c->arg,
		.arg_arm64 = c->arm64 ? *c->arm64 : c->arg,
		.derefs = probe_file_number_clamp(c->path_count ? c->path_count : c->deref),
		.width = c->width ? probe_file_number_clamp(c->width) : 8,
		.as = (enum probe_as)c->as,
		.late = c->late,
	};

	for (unsigned i = 0; i < c->path_count && i < GP_DEREFS_MAX; i++)
		ret.offset[i] = c->path[i];
	/* The argument is a reference to a word that points to the tensor's object. */
	if (ret.as == PROBE_AS_TENSOR)
		ret.derefs = 1;
	if (!c->path_count && ret.derefs <= GP_DEREFS_MAX)
		ret.offset[ret.derefs ? ret.derefs - 1 : 0] = c->offset;
	return ret;
}

static void probe_file_row_string(const struct yaml_string *y, struct probe_row *row)
{
	struct yaml_capture c = {.arg = y->arg, .deref = y->deref, .offset = y->offset};

	row->string = (enum probe_string)y->as;
	row->text = probe_file_capture_from(&c);
}

/* Sets the value that `unless` compares: the return value or a captured one; -1: none. */
static void probe_file_row_unless(const struct yaml_unless *y, struct probe_row *row)
{
	row->unless_of = strcmp(y->of, "return") ? -1 : GP_UNLESS_RETURN;
	for (int i = 0; i < row->captures; i++)
		if (!strcmp(y->of, row->capture[i].name))
			row->unless_of = GP_UNLESS_ARG + i;
	for (unsigned i = 0; i < y->is_count && i < GP_UNLESS; i++)
		row->unless[row->unless_count++] = y->is[i];
}

static void probe_file_row_captures(const struct yaml_probe *y, struct probe_row *row)
{
	row->captures = (int)y->captures_count;
	for (int i = 0; i < row->captures; i++)
		row->capture[i] = probe_file_capture_from(&y->captures[i]);
	if (y->string)
		probe_file_row_string(y->string, row);
	if (y->unless)
		probe_file_row_unless(y->unless, row);
	if (y->only) {
		row->has_only = true;
		row->only = probe_file_capture_from(y->only);
		row->only_value = y->only->equals;
	}
}

/* Parses a return code. Returns false when it is not a number of that type. */
static bool probe_file_code_read(const char *text, int is, char **ret_end, int64_t *ret)
{
	errno = 0;
	*ret = strtoll(text, ret_end, 0);
	if (*ret_end == text || errno || *ret < INT32_MIN || *ret > UINT32_MAX)
		return false;
	*ret = is == GP_RETURNS_unsigned ? (int64_t)(uint32_t)*ret : (int32_t)*ret;
	return true;
}

/* Parses a code or a range of codes: "0", "1003..1004". */
static bool probe_file_range_read(const char *text, int is, int64_t ret[2])
{
	char *end;

	if (!probe_file_code_read(text, is, &end, &ret[0]))
		return false;
	ret[1] = ret[0];
	if (!strncmp(end, "..", 2) && !probe_file_code_read(end + 2, is, &end, &ret[1]))
		return false;
	return !*end && ret[0] <= ret[1];
}

static bool probe_file_row_result(const struct source *s, struct probe_row *row)
{
	const struct yaml_result *y = s->yaml->result ? s->yaml->result : s->file->probes.result;
	bool code = y && (y->is == GP_RETURNS_signed || y->is == GP_RETURNS_unsigned);

	if (!y)
		return true;
	row->result = (enum gp_returns)y->is;
	if (y->ok.count && !code)
		return false;
	for (unsigned i = 0; i < y->ok.count && i < GP_OKS; i++)
		if (!probe_file_range_read(y->ok.entry[i], y->is, row->ok[row->noks++]))
			return false;
	return true;
}

static int probe_file_row_texts(struct probe_table *t, const struct source *s,
				struct probe_row *row)
{
	const struct yaml_probes *file = &s->file->probes;
	const struct yaml_probe *y = s->yaml;
	char *id = NULL;

	if (asprintf(&id, "%s.%s", file->runtime, y->id) < 0)
		return -ENOMEM;
	row->id = probe_file_table_own(t, id);
	row->libraries = probe_file_list_dup(t,
					     y->libraries.count ? &y->libraries : &file->libraries);
	row->variants = probe_file_list_dup(t, &y->variants);
	row->texts = probe_file_list_dup(t, &y->texts);
	row->keep = probe_file_list_dup(t, y->only_names.count ? &y->only_names : &y->keep);
	if (!row->libraries || !row->variants || !row->texts || !row->keep)
		return -ENOMEM;
	row->runtime = file->runtime;
	row->symbol = y->symbol ? y->symbol : y->prefix ? y->prefix : "";
	row->follow = y->follow ? y->follow->probe : NULL;
	row->follow_capture = y->follow ? y->follow->capture : NULL;
	row->join = y->follow ? y->follow->join : NULL;
	row->join_with = y->follow ? y->follow->with : NULL;
	row->prefix = y->prefix;
	row->versions = y->versions ? y->versions : "";
	row->why = y->why;
	row->operations = y->operations;
	row->hash = gp_probe_hash(row->id);
	row->file = s->file->path;
	row->line = yaml_file_line(s->file, s->index, NULL);
	return 0;
}

static int probe_file_row_from(struct probe_table *t, const struct source *s, struct probe_row *row)
{
	const struct yaml_probe *y = s->yaml;

	*row = (struct probe_row){
		.abi = (enum probe_abi)y->abi,
		.group = (enum gp_group)y->group,
		.role = (enum gp_role)y->role,
		.count = y->emit,
		.returns = y->returns,
		.may_block = y->may_block,
		.anonymous = y->anonymous,
		.max_hz = y->max_hz,
		.wake = y->wake,
		.linked = y->linked,
		.pair = y->pair,
		.object = y->object,
		.between_ranks = s->file->probes.between_ranks,
		.once = y->once,
		.only_names = y->only_names.count,
		.verified = y->status,
		.folder = t->folder,
	};
	probe_file_row_captures(y, row);
	return probe_file_row_texts(t, s, row);
}

/* Checks the rules that concern only this probe, not other rows. */
static int probe_file_source_check(const struct source *s)
{
	const struct yaml_probe *y = s->yaml;
	size_t room = sizeof(((struct gp_probe *)0)->id) - strlen(s->file->probes.runtime) - 1;

	if (!probe_name_ok(y->id, room))
		return probe_file_error(
			s, "id",
			"must consist of [a-z0-9_], and with the runtime be shorter than 48 characters");
	if (y->keep.count && y->only_names.count)
		return probe_file_error(s, "only_names", "not allowed with keep");
	for (unsigned i = 0; i < y->captures_count; i++)
		if (y->captures[i].path_count && (y->captures[i].deref || y->captures[i].offset))
			return probe_file_error(
				s, "captures",
				"path replaces deref and offset; give only one of them");
	if (!!y->symbol + !!y->prefix + !!y->follow != 1)
		return probe_file_error(s,
					y->follow   ? "follow"
					: y->symbol ? "prefix"
						    : "symbol",
					"give exactly one of symbol, prefix and follow");
	if (y->follow && !y->follow->join != !y->follow->with)
		return probe_file_error(s, "follow", "join needs with, and with needs join");
	return 0;
}

static bool probe_file_table_replaces(const struct probe_table *t, size_t i,
				      const struct probe_row *row)
{
	return t->rows[i].folder < t->folder && !strcmp(t->rows[i].id, row->id);
}

/* Warns if a row lacks a key of the row that it replaces: a user's copy of a row may be older than
 * the key. */
static void probe_file_check_replaced(const struct probe_row *old, const struct probe_row *row)
{
	const struct {
		const char *key;
		bool had, has;
	} keys[] = {
		{"pair", old->pair, row->pair},
		{"object", old->object, row->object},
		{"between_ranks", old->between_ranks, row->between_ranks},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].had && !keys[i].has)
			log_warn("%s:%d: %s: replaces a row of %s that has %s: add it here, too",
				 row->file, row->line, row->id, old->file, keys[i].key);
}

static void probe_file_table_put(struct probe_table *t, struct probe_row *row)
{
	size_t at = 0;

	while (at < t->count && !probe_file_table_replaces(t, at, row))
		at++;
	if (at < t->count) {
		t->counted -= t->rows[at].count;
		t->returning -= t->rows[at].returns;
		row->replaces = true;
		probe_file_check_replaced(&t->rows[at], row);
	}
	t->rows[at] = *row;
	t->counted += row->count;
	t->returning += row->returns;
	t->count += at == t->count;
}

size_t probe_table_capture(const struct probe_table *t, const char *runtime, const char *name,
			   const char *capture, int *ret_capture)
{
	size_t i = 0;

	while (i < t->count && (strcmp(t->rows[i].runtime, runtime) != 0 ||
				strcmp(t->rows[i].id + strlen(runtime) + 1, name) != 0))
		i++;
	for (*ret_capture = 0; i < t->count && *ret_capture < t->rows[i].captures; ++*ret_capture)
		if (!strcmp(t->rows[i].capture[*ret_capture].name, capture))
			return i;
	return t->count;
}

static bool probe_file_follow_known(const struct probe_table *t, const struct probe_row *row)
{
	int capture;

	if (probe_table_capture(t, row->runtime, row->follow, row->follow_capture, &capture) ==
	    t->count)
		return false;
	return !row->join ||
	       (probe_table_capture(t, row->runtime, row->follow, row->join, &capture) < t->count &&
		probe_table_capture(t, row->runtime, row->join_with, row->join, &capture) <
			t->count);
}

/* Checks the rules that concern a new row together with the rows that are already in the table. */
static int probe_file_table_check(const struct probe_table *t, const struct source *s,
				  const struct probe_row *row)
{
	char what[160];

	for (size_t i = 0; i < t->count; i++) {
		if (t->rows[i].hash != row->hash || probe_file_table_replaces(t, i, row))
			continue;
		snprintf(what, sizeof(what), "%s %s at %s:%d",
			 strcmp(t->rows[i].id, row->id) ? "has the hash of" : "is taken by",
			 t->rows[i].id, t->rows[i].file, t->rows[i].line);
		return probe_file_error(s, "id", what);
	}
	if (row->follow && !probe_file_follow_known(t, row))
		return probe_file_error(s, "follow", "no row above has this name and capture");
	if (row->count && t->counted == GP_HOT_ROWS)
		return probe_file_error(s, "emit", "more than 32 rows have emit: count");
	if (row->returns && t->returning == GP_RETURN_ROWS_MAX)
		return probe_file_error(s, "return", "more than 128 rows have return: true");
	return 0;
}

static int probe_file_table_add(struct probe_table *t, const struct source *s)
{
	struct probe_fault fault = {0};
	struct probe_row row;
	int err = probe_file_source_check(s);

	if (err)
		return err;
	if (t->count == GP_ROWS_MAX || t->owned_count + OWNED_EACH > OWNED_MAX)
		return probe_file_error(s, NULL, "more than 512 rows");
	err = probe_file_row_from(t, s, &row);
	if (err)
		return err;
	if (!probe_file_row_result(s, &row))
		return probe_file_error(
			s, "result",
			"ok must be 32-bit codes, A or A..B, and is: signed or unsigned");
	if (probe_row_check(&row, &fault))
		return probe_file_error(s, fault.field, fault.what);
	err = probe_file_table_check(t, s, &row);
	if (!err)
		probe_file_table_put(t, &row);
	return err;
}

/* Adds the names of the file's return codes. */
static int probe_file_table_add_codes(struct probe_table *t, const struct source *s)
{
	const struct yaml_probes *file = &s->file->probes;
	int is = file->result ? file->result->is : GP_RETURNS_unknown;
	struct gp_code *codes;

	if (!file->codes_count)
		return 0;
	codes = reallocarray(t->codes, t->codes_count + file->codes_count, sizeof(*codes));
	if (!codes)
		return -ENOMEM;
	t->codes = codes;
	for (unsigned i = 0; i < file->codes_count; i++) {
		const struct yaml_code *y = &file->codes[i];
		struct gp_code *c = &codes[t->codes_count];
		int64_t code;
		char *end;

		if (!probe_file_code_read(y->code, is, &end, &code) || *end || !*y->name ||
		    strlen(y->name) >= sizeof(c->name))
			return probe_file_error(
				s, "codes",
				"a code must have 32 bits and a name shorter than 48 characters");
		*c = (struct gp_code){.code = code, .kind = (__u8)y->fault};
		snprintf(c->runtime, sizeof(c->runtime), "%s", file->runtime);
		snprintf(c->name, sizeof(c->name), "%s", y->name);
		t->codes_count++;
	}
	return 0;
}

static int probe_file_words_add(const struct source *s, const char *key,
				const struct yaml_list *list, const char **words)
{
	size_t n = 0;

	while (words[n])
		n++;
	if (n + list->count > WORDS_MAX)
		return probe_file_error(s, key, "more than 64 in all files together");
	for (unsigned i = 0; i < list->count; i++)
		words[n++] = list->entry[i];
	return 0;
}

static int probe_file_table_add_words(struct probe_table *t, const struct source *s)
{
	const struct yaml_probes *file = &s->file->probes;
	int err = probe_file_words_add(s, "threads", &file->threads, t->threads);

	for (unsigned i = 0; i < file->devices.count; i++)
		if (strncmp(file->devices.entry[i], "/dev/", 5) != 0)
			return probe_file_error(s, "devices", "must begin with /dev/");
	return err ? err : probe_file_words_add(s, "devices", &file->devices, t->devices);
}

const char *const *probe_table_threads(const struct probe_table *t)
{
	return t->threads;
}

const char *const *probe_table_devices(const struct probe_table *t)
{
	return t->devices;
}

size_t probe_table_codes(const struct probe_table *t)
{
	return t->codes_count;
}

const struct gp_code *probe_table_code(const struct probe_table *t, size_t i)
{
	return &t->codes[i];
}

static int probe_file_table_add_file(struct probe_table *t, const char *path)
{
	const struct yaml_probes *probes;
	struct source s = {.index = -1};
	int err;

	if (t->files_count == FILES_MAX) {
		log_error("%s: too many probe files: at most %d are read", path, FILES_MAX);
		return -EINVAL;
	}
	err = yaml_file_load(&t->files[t->files_count], path);
	if (err)
		return err;
	s.file = t->files[t->files_count++];
	probes = &s.file->probes;
	if (!probe_name_ok(probes->runtime, sizeof(((struct gp_probe *)0)->runtime)))
		return probe_file_error(
			&s, "runtime",
			"must consist of [a-z0-9_] and be shorter than 16 characters");
	err = probe_file_table_add_words(t, &s);
	if (!err)
		err = probe_file_table_add_codes(t, &s);
	for (unsigned i = 0; i < probes->probes_count && !err; i++) {
		s.yaml = &probes->probes[i];
		s.index = (int)i;
		err = probe_file_table_add(t, &s);
	}
	return err;
}

static int probe_file_is_one(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && !fnmatch("*.yaml", entry->d_name, 0);
}

static int probe_file_table_add_entry(struct probe_table *t, const char *dir, const char *name)
{
	char *path = NULL;
	int err;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return -ENOMEM;
	err = probe_file_table_add_file(t, path);
	free(path);
	return err;
}

/* Refuses two rows that probe the same function. Called after a folder is read, as a later row of
 * the folder may replace an earlier one. */
static int probe_file_table_check_sites(const struct probe_table *t)
{
	int err = 0;

	for (size_t i = 1; i < t->count; i++) {
		for (size_t k = 0; k < i; k++) {
			if (!probe_rows_collide(&t->rows[i], &t->rows[k]))
				continue;
			log_error(
				"%s:%d: %s: %s at %s:%d probes the same function; to replace that row, give its id",
				t->rows[i].file, t->rows[i].line,
				t->rows[i].prefix ? "prefix" : "symbol", t->rows[k].id,
				t->rows[k].file, t->rows[k].line);
			err = -EINVAL;
			break;
		}
	}
	return err;
}

int probe_table_add(struct probe_table *t, const char *dir)
{
	struct dirent **entries = NULL;
	int err = 0, one, n;

	t->folder++;
	n = scandir(dir, &entries, probe_file_is_one, alphasort);
	if (n <= 0) {
		err = n < 0 ? -errno : -ENOENT;
		log_error("--probes %s: %s", dir,
			  err == -ENOTDIR ? "expected a folder with probe files (*.yaml)"
			  : n < 0	  ? strerror(-err)
					  : "has no probe file (*.yaml)");
	}
	for (int i = 0; i < n; i++) {
		/* Continue after an error, so that one run reports the errors of all files. */
		one = probe_file_table_add_entry(t, dir, entries[i]->d_name);
		if (one && !err)
			err = one == -ENOMEM ? one : -EINVAL;
		free(entries[i]);
	}
	free(entries);
	return err ? err : probe_file_table_check_sites(t);
}

int probe_table_load(struct probe_table **ret, const char *dir)
{
	struct probe_table *t = calloc(1, sizeof(*t));
	int err = t ? probe_table_add(t, dir) : -ENOMEM;

	if (err)
		probe_table_free(t);
	else
		*ret = t;
	return err;
}

static int probe_file_row_keep(struct probe_table *t, struct probe_row *row, const char *prefix)
{
	size_t n = 0;
	const char **list;
	char *own;

	while (row->keep[n] && strncmp(row->keep[n], prefix, sizeof(__u64)) != 0)
		n++;
	if (row->keep[n] || n == GP_KEEP)
		return row->keep[n] ? 0 : -ENOSPC;
	own = probe_file_table_own(t, strdup(prefix));
	list = own ? probe_file_table_own(t, calloc(n + 2, sizeof(*list))) : NULL;
	if (!list)
		return -ENOMEM;
	memcpy(list, row->keep, n * sizeof(*list));
	list[n] = own;
	row->keep = list;
	return 0;
}

int probe_table_keep(struct probe_table *t, const char *prefix)
{
	int err = 0, one;

	for (size_t i = 0; i < t->count && err != -ENOMEM; i++) {
		struct probe_row *row = &t->rows[i];

		if (row->role != GP_ROLE_range_begin || row->anonymous || !row->max_hz)
			continue;
		one = probe_file_row_keep(t, row, prefix);
		err = one ? one : err;
	}
	return err;
}

void probe_table_free(struct probe_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->owned_count; i++)
		free(t->owned[i]);
	for (size_t i = 0; i < t->files_count; i++)
		yaml_file_free(t->files[i]);
	free(t->codes);
	free(t);
}

size_t probe_table_count(const struct probe_table *t)
{
	return t->count;
}

const struct probe_row *probe_table_row(const struct probe_table *t, size_t i)
{
	return i < t->count ? &t->rows[i] : NULL;
}

size_t probe_table_index(const struct probe_table *t, uint32_t hash)
{
	size_t i = 0;

	while (i < t->count && t->rows[i].hash != hash)
		i++;
	return i;
}

size_t probe_rows_for(const struct probe_table *probes, const char *name, size_t rows[GP_ROWS_MAX])
{
	size_t n = 0;

	if (probe_name_forbidden(name))
		return 0;
	for (size_t i = 0; i < probe_table_count(probes) && n < GP_ROWS_MAX; i++)
		if (!probe_table_row(probes, i)->follow &&
		    probe_row_names(probe_table_row(probes, i), name))
			rows[n++] = i;
	return n;
}
