/* SPDX-License-Identifier: Apache-2.0 */
/* export.h - exporters, which write results to files or send them. An exporter is a struct exporter
 * in a file of its own, listed in exporter.h; registry.c passes facts and snapshots, both
 * immutable, to the open exporters. A slow or dead reader of an output must not delay anything
 * else. Functions are called from the main thread unless their comment says otherwise. */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/account/log/answer.h"
#include "userspace/base/archive.h"
#include "userspace/base/buffer.h"
#include "userspace/model/job/fact.h"
#include "userspace/model/snapshot.h"
#include "userspace/store/query.h"

struct export_options {
	const char *listen; /* ADDR:PORT or unix:PATH of the HTTP server */
	bool resume;	    /* continue the files that a predecessor (an earlier process) wrote */
	const char *web_config; /* TLS and basic auth of the HTTP server; NULL: none */
	/* Writes a snapshot as one JSON object, for /debug/state. Called from any thread. NULL: not
	 * served. */
	void (*state_json)(struct buffer *out, const struct snapshot *s);
	/* Like state_json, but without the arguments of jobs, for an address that other users can
	 * reach. */
	void (*state_masked)(struct buffer *out, const struct snapshot *s);
	const char *state_dir; /* folder for data that survives restarts; NULL: none */
	/* Options of --export cloud-monitoring. NULL: the value is detected, or the default is
	 * used. */
	const char *project, *location, *cluster, *accelerator, *replica, *prefix, *endpoint,
		*rolling;
	bool workload_metrics, dry_run;
	bool service;	    /* this process is a service: runs until a signal */
	bool replay;	    /* facts come from a tape: waiting for a disk or server is allowed */
	char *const *specs; /* all values of --export */
	int nspecs;
	bool several; /* set by the registry: specs name this exporter more than once */
	int64_t interval_ns;
	char *const *hooks; /* all values of --on: EVENT[,EVENT...]=ACTION */
	int nhooks;
	const char *hook_user; /* user that runs hooks; NULL: chosen by hook_user_find() */
};

/* The sources of exports: events as they happen or are replayed; the store (gp-bpf report); a log
 * of the goodput library (gp-bpf account). */
enum export_source { EXPORT_EVENTS, EXPORT_STORE, EXPORT_LOG, EXPORT_SOURCES };

struct goodput_names;
struct export_log { /* a log of the goodput library */
	struct goodput_query *query;
	bool clock;  /* the query is for the current time */
	bool follow; /* the log is read while it grows */
	/* options that exclude an export are given: another output format, windows or a store */
	bool combined;
	size_t jobs;
	/* Fills in the answer of job i, which the caller frees with goodput_answer_free(), and the
	 * names it refers to. Returns 0 or -ENOMEM. */
	int (*answer)(void *ctx, size_t i, struct goodput_answer *ret,
		      const struct goodput_names **ret_names);
	void *ctx;
};

enum export_place { EXPORT_ELSEWHERE, EXPORT_TO_FILE, EXPORT_TO_FOLDER };

struct exporter {
	const char *name, *help; /* --export NAME[:ARG] */
	const char *spec[2];	 /* values of --export that the shell completes: "json:FILE" */
	/* How the help for --export shows this exporter, for each source; NULL: this exporter does
	 * not support the source. */
	const char *usage[EXPORT_SOURCES];
	/* Whether the argument is the path of a file or folder, and the settings that may follow
	 * the path, like ",size=". */
	enum export_place place;
	const char *setting[2];
	/* Resources that the exporter uses, see struct export_use. */
	bool serves, prints; /* prints: --dry-run writes to stdout */
	bool url;	     /* the argument is a URL, which may hold a password */
	/* Linux capabilities that the exporter needs, as CONFINE_CAP() bits */
	uint64_t capabilities;
	const char *const *of_options; /* options that only this exporter uses, NULL-terminated;
					  NULL: none */
	/* Checks the argument (NULL: none given) without opening anything. Returns 0, or -EINVAL
	 * after one logged line. May be NULL: any argument is valid. */
	int (*check)(const char *arg, const struct export_options *opt);
	/* Opens the exporter; arg: as for check(). Returns 0, or -errno after logging one line. */
	int (*open)(void **ret_state, const char *arg, const struct export_options *opt);
	void (*fact)(void *state, const struct fact *f);   /* may be NULL */
	void (*snapshot)(void *state, struct snapshot *s); /* takes a reference of s; may be NULL */
	/* During a replay, when the tape has reached mono_ns: returns true if the exporter needs a
	 * snapshot now. May be NULL: the last snapshot is enough. */
	bool (*due)(void *state, uint64_t mono_ns);
	/* Writes what is queued, because the state is about to be saved: after a restart, facts
	 * from before are not passed again. May be NULL. */
	void (*save)(void *state);
	/* Saves the lines that are not in the files yet; in a successor that was just opened,
	 * restores them. May be NULL. */
	void (*archive)(void *state, struct archive *a);
	/* Counts facts up to number `upto` as lost if they are not in the exporter's files, because
	 * they will not be passed again. May be NULL. */
	void (*missed)(void *state, uint64_t upto);
	void (*view)(void *state,
		     struct export_view *ret); /* fills in the exporter's state; may be NULL */
	/* Returns the number of the last fact that a predecessor wrote; 0: none. May be NULL:
	 * unknown. */
	uint64_t (*last_written)(void *state);
	/* Called when gp-bpf starts to exit: starts the last, slow work, but does not wait for it.
	 * soon: a successor waits for this process. May be NULL. */
	void (*end)(void *state, bool soon);
	int (*close)(void *state); /* Returns -errno if output was lost. */
	/* If usage[EXPORT_STORE] is set: writes the history of a job. arg was accepted by check().
	 * Returns 0, or -errno after logging the error. */
	int (*store_write)(const char *arg, struct store *st, const struct store_job *job,
			   const struct store_span *span);
	/* If usage[EXPORT_LOG] is set: checks all options before the log is read, and adds windows
	 * and the time to the query if the export needs them. Returns 0, -EINVAL after logging the
	 * error, or -ENOMEM. */
	int (*log_check)(const char *arg, const struct export_options *opt, struct export_log *log);
	/* Writes the time by bucket of all jobs of the log. Returns 0, -ENOMEM, or another -errno
	 * after logging the error. */
	int (*log_write)(const char *arg, const struct export_options *opt,
			 const struct export_log *log);
};

/* The resources that an export uses, known before anything is opened. */
struct export_use {
	bool prints; /* writes to standard output */
	bool files;  /* writes to named files or folders */
	bool serves; /* answers HTTP at --listen */
	uint64_t capabilities;
};
/* Returns what an export uses. spec: a value of --export; an unknown exporter uses nothing. */
struct export_use export_use(const char *spec, bool dry_run);
/* Returns the resources that several exports use together. */
struct export_use export_uses(char *const *specs, int count, bool dry_run);
/* Returns the exporter that uses this option, if specs do not name the exporter, so that the option
 * has no effect; else NULL. */
const struct exporter *export_missing(const char *option, char *const *specs, int count);

/* Checks that no two values of --export are equal or write to the same file. Returns 0, or -EINVAL
 * after logging the two. */
int export_clash(char *const *specs, int count);

/* Returns the exporter whose name is the first len bytes of spec; NULL: none. */
const struct exporter *export_find(const char *spec, size_t len);
/* Returns how many of the values `specs` name this exporter. */
int export_count(const struct exporter *e, char *const *specs, int count);
/* Returns the exporter that --listen implies. */
const struct exporter *export_server(void);
/* Returns exporter i = 0, 1...; NULL after the last. */
const struct exporter *export_at(size_t i);
/* Returns value i = 0, 1... of --export for completion, static text; NULL after the last. */
const char *export_spec(enum export_source source, size_t i);
/* Returns all values of --export for a source, as a list for help and messages: static text, valid
 * until the next call for this source. */
const char *export_usage(enum export_source source);
/* Checks a value of --export of gp-bpf report, which exports a stored job. Returns 0; -EINVAL after
 * logging an error in the argument, or that this exporter cannot export a stored job. */
int export_store_check(const char *spec);
/* Writes the history of a job. spec was accepted by export_store_check(). Returns 0, or -errno
 * after logging the error. */
int export_store_write(const char *spec, struct store *st, const struct store_job *job,
		       const struct store_span *span);
/* Functions for the export of a log; they do nothing if --export is not given. export_log_check()
 * returns 0, -EINVAL after logging the error, or -ENOMEM. export_log_write() returns 0, -ENOMEM, or
 * another -errno after logging the error. */
int export_log_check(const struct export_options *opt, struct export_log *log);
int export_log_write(const struct export_options *opt, const struct export_log *log);
/* Calls check() of the exporter that spec names. Returns -EINVAL after logging the error if there
 * is no such exporter. */
int export_check(const char *spec, const struct export_options *opt);

struct export_set; /* the open exporters of this process */
int export_set_new(struct export_set **ret, const struct export_options *opt);
/* Opens an exporter. spec: like "json:out.jsonl". Returns 0 or -errno (logged). */
int export_set_add(struct export_set *set, const char *spec);
/* Opens the hooks of the options. Returns 0 or -errno (logged). */
int export_set_add_hooks(struct export_set *set);
/* Opens the unix socket that `gp-bpf top` reads. Returns 0 also if this fails, which is logged. */
int export_set_add_socket(struct export_set *set, const char *path);
void export_set_fact(struct export_set *set, const struct fact *f);
/* Returns false if no exporter needs snapshots. */
bool export_set_takes_snapshots(const struct export_set *set);
void export_set_snapshot(struct export_set *set, struct snapshot *s);
/* During a replay, when the tape has reached mono_ns: passes a snapshot, made by make(), to each
 * exporter whose due() returns true. */
void export_set_moment(struct export_set *set, uint64_t mono_ns,
		       struct snapshot *(*make)(void *ctx), void *ctx);
void export_set_save(const struct export_set *set); /* call before a state is saved: calls save() */
/* Appends to out the lines that are not in the files yet. A successor passes them to
 * export_set_resume(), which ignores damaged bytes. */
void export_set_archive(const struct export_set *set, struct buffer *out);
void export_set_resume(const struct export_set *set, const struct buffer *saved);
void export_set_missed(const struct export_set *set, uint64_t upto);
void export_set_view(const struct export_set *set, struct snapshot *s); /* fills s->exports */
/* Returns the highest last_written() of all exporters; 0: unknown. */
uint64_t export_set_last_written(const struct export_set *set);
void export_set_end(const struct export_set *set,
		    bool soon); /* calls end() of all exporters; call before export_set_close() */
int export_set_close(struct export_set *set);

/* JSON Schema (draft 2020-12) of the JSON lines, which `gp-bpf schema` prints. */
extern const char export_json_schema[];

#endif
