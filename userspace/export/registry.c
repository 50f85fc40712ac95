/* SPDX-License-Identifier: Apache-2.0 */
/* registry.c - keeps the set of open exporters, and passes facts and snapshots to each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/buffer.h"
#include "userspace/base/clock.h"
#include "userspace/base/hash.h"
#include "userspace/base/log.h"
#include "userspace/export/exporter.h"

#define EXPORTER_ADDRESS(name) &export_##name,
static const struct exporter *const exporters[] = {EXPORTERS(EXPORTER_ADDRESS) NULL};

#define ARCHIVE_MAGIC  "GPBPFEX\1"
#define PART_MAGIC     "GPBPFEP\1"
#define ARCHIVE_FORMAT 2
#define PARTS_MAX      1024
#define PART_BYTES_MAX (64u << 20)

struct export_open {
	const struct exporter *exporter;
	uint64_t key; /* hash of the --export argument; identifies the exporter's saved lines */
	void *state;
};

struct export_set {
	struct export_options options;
	struct export_open *open;
	size_t count;
	int64_t opened_real_ns;
};

int export_set_new(struct export_set **ret, const struct export_options *opt)
{
	struct export_set *set = calloc(1, sizeof(*set));

	if (!set)
		return -ENOMEM;
	if (opt)
		set->options = *opt;
	set->opened_real_ns = clock_real_ns();
	*ret = set;
	return 0;
}

const struct exporter *export_find(const char *spec, size_t len)
{
	for (size_t i = 0; exporters[i]; i++)
		if (strlen(exporters[i]->name) == len && !memcmp(exporters[i]->name, spec, len))
			return exporters[i];
	return NULL;
}

const struct exporter *export_at(size_t i)
{
	return i < sizeof(exporters) / sizeof(exporters[0]) ? exporters[i] : NULL;
}

const struct exporter *export_server(void)
{
	size_t i = 0;

	while (!exporters[i]->serves)
		i++;
	return exporters[i];
}

int export_count(const struct exporter *e, char *const *specs, int count)
{
	int n = 0;

	for (int i = 0; i < count; i++)
		n += export_find(specs[i], strcspn(specs[i], ":")) == e;
	return n;
}

static void export_unknown(const char *spec)
{
	struct buffer names = {0};

	for (size_t i = 0; exporters[i]; i++)
		buffer_printf(&names, "%s%s (%s)", i ? ", " : "", exporters[i]->name,
			      exporters[i]->help);
	log_error("--export %s: no such exporter; use one of: %s", spec,
		  names.data ? names.data : "");
	buffer_free(&names);
}

static int export_set_open(struct export_set *set, const struct exporter *e, const char *arg)
{
	uint64_t key = hash_bytes(HASH_START, e->name, strlen(e->name) + 1);
	struct export_options opt = set->options;
	struct export_open *open = realloc(set->open, (set->count + 1) * sizeof(*open));
	int err;

	if (!open)
		return -ENOMEM;
	set->open = open;
	open += set->count;
	open->exporter = e;
	open->key = arg ? hash_bytes(key, arg, strlen(arg)) : key;
	open->state = NULL;
	opt.several = export_count(e, opt.specs, opt.nspecs) > 1;
	err = e->open(&open->state, arg, &opt);
	if (!err)
		set->count++;
	return err;
}

int export_check(const char *spec, const struct export_options *opt)
{
	size_t len = strcspn(spec, ":");
	const struct exporter *e = export_find(spec, len);

	if (e)
		return e->check ? e->check(spec[len] ? spec + len + 1 : NULL, opt) : 0;
	export_unknown(spec);
	return -EINVAL;
}

int export_set_add(struct export_set *set, const char *spec)
{
	size_t len = strcspn(spec, ":");
	int err = export_check(spec, &set->options);

	return err ? err
		   : export_set_open(set, export_find(spec, len),
				     spec[len] ? spec + len + 1 : NULL);
}

int export_set_add_hooks(struct export_set *set)
{
	return set->options.nhooks ? export_set_open(set, &export_hooks, NULL) : 0;
}

int export_set_add_socket(struct export_set *set, const char *path)
{
	return export_set_open(set, &export_socket, path);
}

void export_set_fact(struct export_set *set, const struct fact *f)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->open[i].exporter->fact)
			set->open[i].exporter->fact(set->open[i].state, f);
}

bool export_set_takes_snapshots(const struct export_set *set)
{
	bool takes = false;

	for (size_t i = 0; i < set->count; i++)
		takes |= set->open[i].exporter->snapshot != NULL;
	return takes;
}

void export_set_snapshot(struct export_set *set, struct snapshot *s)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->open[i].exporter->snapshot)
			set->open[i].exporter->snapshot(set->open[i].state, s);
}

void export_set_moment(struct export_set *set, uint64_t mono_ns,
		       struct snapshot *(*make)(void *ctx), void *ctx)
{
	struct snapshot *s = NULL;

	for (size_t i = 0; i < set->count; i++) {
		const struct exporter *e = set->open[i].exporter;

		if (!e->due || !e->due(set->open[i].state, mono_ns))
			continue;
		s = s ? s : make(ctx);
		if (s)
			e->snapshot(set->open[i].state, s);
	}
	snapshot_unref(s);
}

/* Adds the view of a second export to that of the first one. The causes of dropped data are the
 * same in both, because both have the same exporter. */
static void export_view_join(struct export_view *to, const struct export_view *more)
{
	to->up = to->up && more->up;
	to->sent += more->sent;
	to->superseded += more->superseded;
	to->waiting += more->waiting;
	to->waiting_bytes += more->waiting_bytes;
	to->last_ns = to->last_ns < more->last_ns ? to->last_ns : more->last_ns;
	for (uint32_t i = 0; i < to->ndropped && i < more->ndropped; i++)
		to->dropped[i].count += more->dropped[i].count;
	if (!*to->trouble)
		memcpy(to->trouble, more->trouble, sizeof(to->trouble));
}

void export_set_save(const struct export_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->open[i].exporter->save)
			set->open[i].exporter->save(set->open[i].state);
}

/* ---- state for a successor ------------------------------------------------------------------- */

static int export_part_archive(const struct export_open *o, struct buffer *out)
{
	struct archive a;

	archive_write(&a, out, PART_MAGIC, ARCHIVE_FORMAT);
	o->exporter->archive(o->state, &a);
	return archive_end(&a);
}

static void export_part_resume(const struct export_set *set, uint64_t key, const void *data,
			       size_t len)
{
	struct archive a;

	for (size_t i = 0; i < set->count; i++) {
		if (!set->open[i].exporter->archive || set->open[i].key != key)
			continue;
		archive_read(&a, data, len, PART_MAGIC, ARCHIVE_FORMAT);
		if (a.error)
			return;
		set->open[i].exporter->archive(set->open[i].state, &a);
		if (archive_end(&a))
			log_warn(
				"--export %s: cannot read the unwritten lines of the previous gp-bpf: they may be missing in the file",
				set->open[i].exporter->name);
		return;
	}
}

void export_set_archive(const struct export_set *set, struct buffer *out)
{
	struct buffer part = {0};
	uint32_t count = 0, len;
	struct archive a;

	for (size_t i = 0; i < set->count; i++)
		count += set->open[i].exporter->archive != NULL;
	archive_write(&a, out, ARCHIVE_MAGIC, ARCHIVE_FORMAT);
	archive_count(&a, &count, PARTS_MAX, 1);
	for (size_t i = 0; i < set->count && !a.error; i++) {
		if (!set->open[i].exporter->archive)
			continue;
		buffer_clear(&part);
		if (export_part_archive(&set->open[i], &part))
			archive_require(&a, false);
		len = (uint32_t)part.len;
		archive_field(&a, set->open[i].key);
		archive_count(&a, &len, PART_BYTES_MAX, 1);
		archive_bytes(&a, part.data, len);
	}
	buffer_free(&part);
	if (archive_end(&a))
		log_error(
			"--export: lines that are not written yet cannot be saved; a restart would lose them");
}

void export_set_resume(const struct export_set *set, const struct buffer *saved)
{
	uint32_t count = 0, len;
	struct archive a;
	uint64_t key;
	void *part;

	archive_read(&a, saved->data, saved->len, ARCHIVE_MAGIC, ARCHIVE_FORMAT);
	archive_count(&a, &count, PARTS_MAX, 1);
	for (uint32_t i = 0; i < count && !a.error; i++) {
		key = len = 0;
		archive_field(&a, key);
		archive_count(&a, &len, PART_BYTES_MAX, 1);
		part = len ? archive_alloc(&a, len, 1) : NULL;
		if (part) {
			archive_bytes(&a, part, len);
			export_part_resume(set, key, part, len);
		}
		free(part);
	}
}

void export_set_missed(const struct export_set *set, uint64_t upto)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->open[i].exporter->missed)
			set->open[i].exporter->missed(set->open[i].state, upto);
}

void export_set_view(const struct export_set *set, struct snapshot *s)
{
	size_t n = 0, at;

	s->opened_real_ns = set->opened_real_ns;
	for (size_t i = 0; i < set->count; i++) {
		const struct exporter *e = set->open[i].exporter;
		struct export_view view = {0};

		if (!e->view)
			continue;
		e->view(set->open[i].state, &view);
		for (at = 0; at < n && strcmp(s->exports[at].name, view.name) != 0;)
			at++;
		if (at < n)
			export_view_join(&s->exports[at], &view);
		else if (n < EXPORT_VIEWS)
			s->exports[n++] = view;
	}
}

uint64_t export_set_last_written(const struct export_set *set)
{
	uint64_t last = 0, number;

	for (size_t i = 0; i < set->count; i++) {
		number = set->open[i].exporter->last_written
				 ? set->open[i].exporter->last_written(set->open[i].state)
				 : 0;
		last = number > last ? number : last;
	}
	return last;
}

void export_set_end(const struct export_set *set, bool soon)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->open[i].exporter->end)
			set->open[i].exporter->end(set->open[i].state, soon);
}

int export_set_close(struct export_set *set)
{
	int err = 0, lost;

	if (!set)
		return 0;
	export_set_end(set, false);
	for (size_t i = 0; i < set->count; i++) {
		lost = set->open[i].exporter->close(set->open[i].state);
		err = err ? err : lost;
	}
	free(set->open);
	free(set);
	return err;
}
