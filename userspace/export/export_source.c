/* SPDX-License-Identifier: Apache-2.0 */
/* export_source.c - finds exporters by source (events, the store, or a log), and writes exports of
 * the store and of a log, which are written once. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/export/export.h"

const char *export_spec(enum export_source source, size_t i)
{
	const struct exporter *e;

	for (size_t at = 0; (e = export_at(at)); at++)
		for (int k = 0; e->usage[source] && k < 2 && e->spec[k]; k++)
			if (!i--)
				return e->spec[k];
	return NULL;
}

const char *export_usage(enum export_source source)
{
	static char text[EXPORT_SOURCES][1024];
	const struct exporter *e;
	size_t len = 0;

	for (size_t i = 0; (e = export_at(i)); i++)
		if (e->usage[source] && len < sizeof(text[source]))
			len += (size_t)snprintf(text[source] + len, sizeof(text[source]) - len,
						"%s%s", len ? ", " : "", e->usage[source]);
	return text[source];
}

/* Returns the argument in spec (the text after ':'); NULL: there is none. */
static const char *export_source_arg(const char *spec)
{
	size_t len = strcspn(spec, ":");

	return spec[len] ? spec + len + 1 : NULL;
}

/* Returns the exporter that spec names. If it cannot export this source, logs an error and returns
 * NULL. */
static const struct exporter *export_source_find(enum export_source source, const char *spec)
{
	const struct exporter *e = export_find(spec, strcspn(spec, ":"));

	if (e && e->usage[source])
		return e;
	log_error("--export %s: not available in this command; use %s", spec, export_usage(source));
	return NULL;
}

int export_store_check(const char *spec)
{
	const struct exporter *e = export_source_find(EXPORT_STORE, spec);

	if (!e)
		return -EINVAL;
	return e->check ? e->check(export_source_arg(spec), &(struct export_options){0}) : 0;
}

int export_store_write(const char *spec, struct store *st, const struct store_job *job,
		       const struct store_span *span)
{
	const struct exporter *e = export_source_find(EXPORT_STORE, spec);

	return e ? e->store_write(export_source_arg(spec), st, job, span) : -EINVAL;
}

int export_log_check(const struct export_options *opt, struct export_log *log)
{
	const struct exporter *e;

	if (opt->nspecs > 1) {
		log_error("--export: given more than once; gp-bpf account allows only one of: %s",
			  export_usage(EXPORT_LOG));
		return -EINVAL;
	}
	if (!opt->nspecs) {
		/* --dry-run without --export: log_check() logs which options are missing. */
		e = opt->dry_run ? export_missing("dry-run", NULL, 0) : NULL;
		return e ? e->log_check(NULL, opt, log) : 0;
	}
	e = export_source_find(EXPORT_LOG, opt->specs[0]);
	return e ? e->log_check(export_source_arg(opt->specs[0]), opt, log) : -EINVAL;
}

int export_log_write(const struct export_options *opt, const struct export_log *log)
{
	const struct exporter *e;

	if (!opt->nspecs)
		return 0;
	e = export_source_find(EXPORT_LOG, opt->specs[0]);
	return e ? e->log_write(export_source_arg(opt->specs[0]), opt, log) : -EINVAL;
}
