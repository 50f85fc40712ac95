/* SPDX-License-Identifier: Apache-2.0 */
/* export.h - the ways out. An exporter is a struct exporter in a file of its own folder, declared
 * in exporter.h and listed in registry.c. It sees immutable facts and snapshots; a slow or dead
 * reader of its output delays nothing else. */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/base/archive.h"
#include "userspace/base/buffer.h"
#include "userspace/model/job/fact.h"
#include "userspace/model/snapshot.h"

struct export_options {
	const char *listen;	/* ADDR:PORT or unix:PATH of the HTTP server */
	bool resume;		/* go on with what a predecessor wrote, where its file is kept */
	const char *web_config; /* TLS and basic auth of that server; NULL: none */
	/* A snapshot as one JSON object, for /debug/state; from any thread; NULL: not served. */
	void (*state_json)(struct buffer *out, const struct snapshot *s);
	/* The same without the arguments of jobs: at an address, which others can reach. */
	void (*state_masked)(struct buffer *out, const struct snapshot *s);
	const char *state_dir; /* folder that lasts; NULL: none */
	/* For Cloud Monitoring; NULL, 0: found out. */
	const char *project, *location, *cluster, *accelerator, *replica, *prefix, *endpoint,
		*rolling;
	bool workload_metrics, dry_run;
	bool service;	    /* runs until it is told to end */
	bool replay;	    /* time is a tape's, and nobody is kept waiting */
	char *const *specs; /* all values of --export */
	int nspecs;
	bool several; /* the exporter is there more than once among them; the registry says so */
	int64_t interval_ns;
	char *const *hooks; /* EVENT[,EVENT...]=ACTION */
	int nhooks;
	const char *hook_user; /* user that their commands run as; NULL: found out */
};

enum export_place { EXPORT_ELSEWHERE, EXPORT_TO_FILE, EXPORT_TO_FOLDER };

struct exporter {
	const char *name, *help; /* --export NAME[:ARG] */
	const char *spec[2];	 /* values of --export that the shell completes: "json:FILE" */
	/* With a place the argument is a path and then settings, which begin with these texts. */
	enum export_place place;
	const char *setting[2]; /* ",size=" */
	/* What else it uses, see struct export_use. */
	bool serves, prints;	       /* prints: with --dry-run */
	bool url;		       /* the argument is a URL, which may hold a password */
	uint64_t capabilities;	       /* CONFINE_CAP() bits; watch/sandbox.c names each */
	const char *const *of_options; /* names of options that have no effect without it, then
					  NULL; NULL: none */
	/* What can be said of the argument (may be NULL) before anything is opened: -EINVAL after
	 * one line. May be NULL: any argument will do. */
	int (*check)(const char *arg, const struct export_options *opt);
	/* The same argument. 0 or -errno after logging one line. */
	int (*open)(void **ret_state, const char *arg, const struct export_options *opt);
	void (*fact)(void *state, const struct fact *f); /* may be NULL */
	void (*snapshot)(void *state,
			 struct snapshot *s); /* may be NULL; takes its own reference */
	/* During a replay: returns true if the exporter wants a snapshot of this instant of the
	 * tape. May be NULL: the last one is enough. */
	bool (*due)(void *state, uint64_t mono_ns);
	/* The state is about to be saved: a successor will not get the facts before it again. May
	 * be NULL. */
	void (*save)(void *state);
	/* Writes what its files are owed of what it was told; of a successor, which was just
	 * opened: reads it. May be NULL. */
	void (*archive)(void *state, struct archive *a);
	/* Facts up to this number are told to nobody again: what is in no file is missing. May be
	 * NULL. */
	void (*missed)(void *state, uint64_t upto);
	void (*view)(void *state,
		     struct export_view *ret); /* what it tells of itself; may be NULL */
	uint64_t (*last_written)(void *state); /* number of the last fact that a predecessor wrote;
					  may be NULL: unknown */
	/* The end comes: what takes a while may begin, and is not waited for; soon: a successor
	 * waits for us. May be NULL. */
	void (*end)(void *state, bool soon);
	int (*close)(void *state); /* -errno when output was lost */
};

/* What an export uses, known before anything is opened. */
struct export_use {
	bool prints; /* writes to standard output */
	bool files;  /* writes to files or folders that were named */
	bool serves; /* answers HTTP at --listen */
	uint64_t capabilities;
};
/* spec: a value of --export. An unknown exporter uses nothing. */
struct export_use export_use(const char *spec, bool dry_run);
/* All of them together. */
struct export_use export_uses(char *const *specs, int count, bool dry_run);
/* Returns the exporter that is not among specs and without which this option has no effect; NULL:
 * there is none. */
const struct exporter *export_missing(const char *option, char *const *specs, int count);

/* Two of what is asked for ("json:out.jsonl") write to one file, or are the same: -EINVAL after a
 * line that names both. */
int export_clash(char *const *specs, int count);

/* Returns the exporter of this name, the first len bytes of spec; NULL: there is none. */
const struct exporter *export_find(const char *spec, size_t len);
/* Returns how many of specs are of this exporter. */
int export_count(const struct exporter *e, char *const *specs, int count);
/* The exporter that --listen alone asks for. */
const struct exporter *export_server(void);
/* Returns exporter i = 0, 1...; NULL after the last. */
const struct exporter *export_at(size_t i);
/* Returns value i = 0, 1... of --export for completion, static text; NULL after the last. */
const char *export_spec(size_t i);
/* As check(); also where there is no such exporter. */
int export_check(const char *spec, const struct export_options *opt);

struct export_set; /* those that the user asked for */
int export_set_new(struct export_set **ret, const struct export_options *opt);
int export_set_add(struct export_set *set, const char *spec); /* "json:out.jsonl"; -EINVAL logged */
int export_set_add_hooks(struct export_set *set);	      /* those of the options; likewise */
/* What gp-bpf top reads, at a unix socket; a line when it cannot be, and 0. */
int export_set_add_socket(struct export_set *set, const char *path);
void export_set_fact(struct export_set *set, const struct fact *f);
bool export_set_takes_snapshots(const struct export_set *set); /* else none need be made */
void export_set_snapshot(struct export_set *set, struct snapshot *s);
/* During a replay: gives each exporter that wants one a snapshot of this instant of the tape, made
 * by make(). */
void export_set_moment(struct export_set *set, uint64_t mono_ns,
		       struct snapshot *(*make)(void *ctx), void *ctx);
void export_set_save(const struct export_set *set); /* before the state is saved */
/* What files are owed, appended to out; of a successor, from there. What cannot be read is as
 * nothing. */
void export_set_archive(const struct export_set *set, struct buffer *out);
void export_set_resume(const struct export_set *set, const struct buffer *saved);
void export_set_missed(const struct export_set *set, uint64_t upto);
void export_set_view(const struct export_set *set, struct snapshot *s); /* fills its exports */
uint64_t export_set_last_written(const struct export_set *set); /* the highest; 0: none is known */
void export_set_end(const struct export_set *set,
		    bool soon); /* before close; all of them at once */
int export_set_close(struct export_set *set);

/* What `gp-bpf schema` prints: a JSON Schema (draft 2020-12) of the JSON lines. */
extern const char export_json_schema[];

#endif
