/* SPDX-License-Identifier: Apache-2.0 */
/* library.h - libraries that watched processes map, by inode: each is probed once, while a watched
 * process uses it. Helper processes read the files (reader.h), so nothing here waits for a file. */
#ifndef LOADER_LIBRARY_H
#define LOADER_LIBRARY_H

#include "loader/attach/attach.h"
#include "loader/budget/cost.h"
#include "loader/kernel/kernel.h"
#include "loader/loader.h"
#include "loader/budget/hit_cost.h"
#include "loader/reader/reader.h"
#include "loader/probe/rows.h"

struct libraries;

struct library_deps { /* all borrowed */
	const struct probe_table *probes;
	const struct kernel *kernel;
	const struct hit_cost *hit_cost;
	struct rows *rows;
	struct attach *attach;
	struct reader *reader;
	struct helper *helper;	 /* NULL: gp-bpf reads /proc of other processes itself */
	struct pins *pins;	 /* for links that outlive this process; or NULL */
	const struct cost *cost; /* NULL: no limit of cost, so everything is attached */
	loader_attach_fn *on_attach;
	void *ctx;
};

/* deps is read at every call: it may change between calls. Returns 0 or -errno. */
int libraries_new(struct libraries **ret, const struct library_deps *deps);
void libraries_free(struct libraries *ls); /* does not close links, which the attach module owns */

/* See loader_scan(). */
int libraries_scan(struct libraries *ls, pid_t pid);
/* Returns true when the last scan ran out of time: scan again soon. */
bool libraries_unfinished(const struct libraries *ls);
/* See loader_poll(). */
size_t libraries_poll(struct libraries *ls);
/* Gives a new child the libraries of its parent. */
void libraries_forked(struct libraries *ls, pid_t parent, pid_t child);
/* Removes a process that is gone, or no longer watched, from the users of all libraries. */
void libraries_forget(struct libraries *ls, pid_t pid);
/* Searches records read from a ring for calls that report the address of a function to probe
 * (site_follow.c). */
void libraries_spent(struct libraries *ls, const void *records, size_t len);
/* Searches records read from a ring for calls by processes that were not scanned yet: the libraries
 * that they call stay attached. */
void libraries_used(struct libraries *ls, const void *records, size_t len);
/* Makes new links for all attached libraries, in addition to the present links. Returns 0, or
 * -errno of the first failure. */
int libraries_relink(struct libraries *ls);
/* Carries out the budget's decisions: attaches probes, detaches them, or has their hits counted
 * instead of sent. */
void libraries_settle(struct libraries *ls);
/* Detaches libraries that had no users for some seconds. */
void libraries_reap(struct libraries *ls);

#endif
