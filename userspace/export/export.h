/* SPDX-License-Identifier: Apache-2.0 */
/* export.h - exporters: the ways by which results leave gp-bpf. An exporter is a struct exporter in
 * a file of its own, listed in exporter.h; registry.c passes facts to those that are open. It reads
 * immutable facts and snapshots; a slow or dead reader of its output delays nothing else. Functions
 * are called from the main thread unless their comment says otherwise. */
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
	const char *listen;	/* ADDR:PORT or unix:PATH of the HTTP server */
	bool resume;		/* continue files of a predecessor, where they are kept */
	const char *web_config; /* TLS and basic auth of that server; NULL: none */
	/* Writes a snapshot as one JSON object, for /debug/state. Called from any thread. NULL: not
	 * served. */
	void (*state_json)(struct buffer *out, const struct snapshot *s);
	/* The same without the arguments of jobs, for an address that other users can reach. */
	void (*state_masked)(struct buffer *out, const struct snapshot *s);
	const char *state_dir; /* folder that survives restarts; NULL: none */
	/* For Cloud Monitoring. NULL or 0: detect it. */
	const char *project, *location, *cluster, *accelerator, *replica, *prefix, *endpoint,
		*rolling;
	bool workload_metrics, dry_run;
	bool service;	    /* runs until a signal ends it */
	bool replay;	    /* time is that of a tape, and waiting delays nothing */
	char *const *specs; /* all values of --export */
	int nspecs;
	bool several; /* set by the registry: specs name this exporter more than once */
	int64_t interval_ns;
	char *const *hooks; /* EVENT[,EVENT...]=ACTION */
	int nhooks;
	const char *hook_user; /* user that runs their commands; NULL: chosen by hook_user_find() */
};

/* The sources of exports: events as they happen or are replayed; the store (gp-bpf report); a log
 * of the goodput library (gp-bpf account). */
enum export_source { EXPORT_EVENTS, EXPORT_STORE, EXPORT_LOG, EXPORT_SOURCES };

struct goodput_names;
struct export_log { /* a log of the goodput library */
	struct goodput_query *query;
	bool clock;    /* the instant of the query is to be taken from the clock */
	bool follow;   /* the log is read while it grows */
	bool combined; /* an option asks for another form of the answer, for windows or a store */
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
	/* Its values as the help of --export has them, by source; NULL: not made of that source. */
	const char *usage[EXPORT_SOURCES];
	/* For a file or folder the argument is a path, followed by settings that begin with these
	 * texts. */
	enum export_place place;
	const char *setting[2]; /* ",size=" */
	/* Its other uses, see struct export_use. */
	bool serves, prints;	       /* prints: with --dry-run */
	bool url;		       /* the argument is a URL, which may hold a password */
	uint64_t capabilities;	       /* CONFINE_CAP() bits; watch/sandbox.c names each */
	const char *const *of_options; /* names of options that have no effect without it, then
					  NULL; NULL: none */
	/* Checks the argument (NULL: none given) without opening anything. Returns 0, or -EINVAL
	 * after one logged line. May be NULL: any argument is valid. */
	int (*check)(const char *arg, const struct export_options *opt);
	/* Opens the exporter; arg as for check(). Returns 0, or -errno after one logged line. */
	int (*open)(void **ret_state, const char *arg, const struct export_options *opt);
	void (*fact)(void *state, const struct fact *f); /* may be NULL */
	void (*snapshot)(void *state,
			 struct snapshot *s); /* may be NULL; takes its own reference */
	/* During a replay: returns true if the exporter wants a snapshot of this instant of the
	 * tape. May be NULL: the last one is enough. */
	bool (*due)(void *state, uint64_t mono_ns);
	/* The state is about to be saved: after a restart, facts before this point are not sent
	 * again. May be NULL. */
	void (*save)(void *state);
	/* Saves the lines that were accepted but are not in the files yet; in a successor, which
	 * was just opened, restores them. May be NULL. */
	void (*archive)(void *state, struct archive *a);
	/* Facts up to this number will not be sent again: those that are in no file are missing.
	 * May be NULL. */
	void (*missed)(void *state, uint64_t upto);
	void (*view)(void *state,
		     struct export_view *ret); /* fills *ret, zeroed, with its state; may be NULL */
	/* Returns the number of the last fact that a predecessor wrote; 0: none. May be NULL:
	 * unknown. */
	uint64_t (*last_written)(void *state);
	/* The end has begun: start slow work now, but do not wait for it. soon: a successor waits
	 * for this process. May be NULL. */
	void (*end)(void *state, bool soon);
	int (*close)(void *state); /* Returns -errno if output was lost. */
	/* With usage[EXPORT_STORE]: writes the history of a job. arg passed check(). Returns 0, or
	 * -errno after one logged line. */
	int (*store_write)(const char *arg, struct store *st, const struct store_job *job,
			   const struct store_span *span);
	/* With usage[EXPORT_LOG]: checks all options, before the log is read, and adds to the query
	 * what the export needs: windows, and the instant where the clock gives it. Returns 0, or
	 * -EINVAL after one logged line, or -ENOMEM. */
	int (*log_check)(const char *arg, const struct export_options *opt, struct export_log *log);
	/* Writes the answers of all jobs. Returns 0, -ENOMEM, or another -errno after one logged
	 * line. */
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
/* spec: a value of --export. An unknown exporter uses nothing. */
struct export_use export_use(const char *spec, bool dry_run);
/* The union of the uses of several exports. */
struct export_use export_uses(char *const *specs, int count, bool dry_run);
/* Returns the exporter that this option belongs to, if specs do not name it: the option then has no
 * effect. NULL otherwise. */
const struct exporter *export_missing(const char *option, char *const *specs, int count);

/* Finds two exporters of the list ("json:out.jsonl") that are equal or write to one file. Returns
 * -EINVAL after a line that names both; otherwise 0. */
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
const char *export_spec(enum export_source source, size_t i);
/* Returns the values of --export in words, for help and messages: static text until the next call
 * for this source. */
const char *export_usage(enum export_source source);
/* Returns 0; -EINVAL after one line if spec cannot be made of the store, or its argument is bad. */
int export_store_check(const char *spec);
/* Writes the history of a job as spec says, which passed export_store_check(). Returns 0, or -errno
 * after one line. */
int export_store_write(const char *spec, struct store *st, const struct store_job *job,
		       const struct store_span *span);
/* The same for a log, with the one export of the options; without one there is nothing to do. The
 * check returns 0, -EINVAL after one line, or -ENOMEM; the other 0, -ENOMEM, or another -errno
 * after one line. */
int export_log_check(const struct export_options *opt, struct export_log *log);
int export_log_write(const struct export_options *opt, const struct export_log *log);
/* The same as the exporter's check(). -EINVAL after one line if there is no such exporter. */
int export_check(const char *spec, const struct export_options *opt);

struct export_set; /* the exporters that the user asked for */
int export_set_new(struct export_set **ret, const struct export_options *opt);
/* spec: "json:out.jsonl". Returns 0 or -errno (logged). */
int export_set_add(struct export_set *set, const char *spec);
int export_set_add_hooks(struct export_set *set); /* Adds the hooks of the options. Likewise. */
/* Adds the unix socket that `gp-bpf top` reads. If it cannot be opened: one line, and 0. */
int export_set_add_socket(struct export_set *set, const char *path);
void export_set_fact(struct export_set *set, const struct fact *f);
/* false: no snapshot needs to be made */
bool export_set_takes_snapshots(const struct export_set *set);
void export_set_snapshot(struct export_set *set, struct snapshot *s);
/* During a replay: gives each exporter that wants one a snapshot of this instant of the tape, made
 * by make(). */
void export_set_moment(struct export_set *set, uint64_t mono_ns,
		       struct snapshot *(*make)(void *ctx), void *ctx);
void export_set_save(const struct export_set *set); /* call before the state is saved */
/* Appends to out the lines that files have not received yet; export_set_resume() gives them to a
 * successor. Damaged bytes are ignored. */
void export_set_archive(const struct export_set *set, struct buffer *out);
void export_set_resume(const struct export_set *set, const struct buffer *saved);
void export_set_missed(const struct export_set *set, uint64_t upto);
void export_set_view(const struct export_set *set, struct snapshot *s); /* fills s->exports */
/* Returns the highest number; 0: none is known. */
uint64_t export_set_last_written(const struct export_set *set);
void export_set_end(const struct export_set *set,
		    bool soon); /* Begins the end of all exporters at once; call before close. */
int export_set_close(struct export_set *set);

/* The text that `gp-bpf schema` prints: a JSON Schema (draft 2020-12) of the JSON lines. */
extern const char export_json_schema[];

#endif
