/* SPDX-License-Identifier: Apache-2.0 */
/* library.h - the libraries that watched processes map, by kernel inode: each is probed once, for
 * as long as some watched process uses it. What a file holds is read elsewhere (reader.h): nothing
 * here waits for a file. */
#ifndef LOADER_LIBRARY_H
#define LOADER_LIBRARY_H

#include "loader/attach.h"
#include "loader/cost.h"
#include "loader/kernel.h"
#include "loader/loader.h"
#include "loader/price.h"
#include "loader/reader.h"
#include "loader/rows.h"

struct libraries;

struct library_deps { /* all borrowed */
	const struct probe_table *probes;
	const struct kernel *kernel;
	const struct price *price;
	struct rows *rows;
	struct attach *attach;
	struct reader *reader;
	struct aside *aside;	 /* NULL: processes are looked at here */
	struct pins *pins;	 /* NULL: nothing outlives us */
	const struct cost *cost; /* NULL: everything is attached */
	loader_attach_fn *on_attach;
	void *ctx;
};

/* deps is read at every call: it may change between calls. */
int libraries_new(struct libraries **ret, const struct library_deps *deps);
void libraries_free(struct libraries *ls); /* links are the attach module's */

/* As loader_scan(). */
int libraries_scan(struct libraries *ls, pid_t pid);
/* That look ran out of time with files left: go on soon. */
bool libraries_unfinished(const struct libraries *ls);
/* As loader_poll(). */
size_t libraries_poll(struct libraries *ls);
/* A child begins with the mappings of its parent. */
void libraries_forked(struct libraries *ls, pid_t parent, pid_t child);
/* The process is gone or no longer watched. */
void libraries_forget(struct libraries *ls, pid_t pid);
/* Records that were read: some tell where a function is that a row follows. */
void libraries_spent(struct libraries *ls, const void *records, size_t len);
/* Attaches every library once more, beside the links that it has. -errno: the first that could not
 * be. */
int libraries_relink(struct libraries *ls);
/* The budget decided: attaches, detaches and counts accordingly. */
void libraries_settle(struct libraries *ls);
/* Detaches what has been without users for a second. */
void libraries_reap(struct libraries *ls);

#endif
