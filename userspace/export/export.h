/* SPDX-License-Identifier: Apache-2.0 */
/* export.h - the ways out. An exporter is one file and one row of the table in registry.c. It sees
 * immutable facts and snapshots; a slow or dead reader of its output delays nobody. */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/model/fact.h"
#include "userspace/model/snapshot.h"

struct export_options {
	const char *listen; /* ADDR:PORT or unix:PATH of the HTTP server */
	bool resume;	    /* go on with what a predecessor wrote, where its file is kept */
};

struct exporter {
	const char *name, *help; /* --export NAME[:ARG] */
	/* arg may be NULL. 0 or -errno after logging one line. */
	int (*open)(void **ret_state, const char *arg, const struct export_options *opt);
	void (*fact)(void *state, const struct fact *f);   /* may be NULL */
	void (*snapshot)(void *state, struct snapshot *s); /* may be NULL; takes its own reference */
	uint64_t (*told)(
		void *state); /* number of the last fact that a predecessor wrote; may be NULL: unknown */
	int (*close)(void *state); /* -errno when output was lost */
};

struct export_set; /* those that the user asked for */
int export_set_new(struct export_set **ret, const struct export_options *opt);
int export_set_add(struct export_set *set, const char *spec); /* "json:out.jsonl"; -EINVAL logged */
void export_set_fact(struct export_set *set, const struct fact *f);
bool export_set_takes_snapshots(const struct export_set *set); /* else none need be made */
void export_set_snapshot(struct export_set *set, struct snapshot *s);
uint64_t export_set_told(const struct export_set *set); /* the highest; 0: none is known */
int export_set_close(struct export_set *set);

/* What `gp-bpf schema` prints: a JSON Schema (draft 2020-12) of the JSON lines. */
extern const char export_json_schema[];

#endif
