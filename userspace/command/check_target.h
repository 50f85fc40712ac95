/* SPDX-License-Identifier: Apache-2.0 */
/* check_target.h - what `gp-bpf check` has found so far in one process or one file. */
#ifndef COMMAND_CHECK_TARGET_H
#define COMMAND_CHECK_TARGET_H

#include "userspace/base/buffer.h"
#include "userspace/report/check.h"

struct loader;
struct probe_table;

struct check_find {
	const struct probe_table *table;
	struct loader *loader; /* NULL: costs of probes are unknown */
	char *name, *error;    /* malloc'd; error is NULL if there was none */
	uint32_t pid;
	struct buffer probes;	/* of struct check_probe */
	struct buffer runtimes; /* of struct check_runtime */
	/* of char *: files of the runtimes, by paths that can be opened from this process */
	struct buffer paths;
};

/* Add a probe: check_find_planned() as loader_plan_fn, by its id, and check_find_attached() as
 * loader_attach_fn, by its hash; ctx: struct check_find. A later result for the same address
 * replaces the earlier one. */
void check_find_planned(void *ctx, const char *probe_id, const struct gp_attach *a);
void check_find_attached(void *ctx, uint32_t probe, const struct gp_attach *a);
/* Finds the files of the runtimes: in a process's maps, or the file at path. */
void check_find_files(struct check_find *f, const char *path);
/* Finds the versions of the libraries. May wait for a file system: call after everything is
 * detached. */
void check_find_versions(struct check_find *f);
/* Returns the result, which points into f. */
struct check_target check_find_target(const struct check_find *f);
void check_find_free(struct check_find *f);

#endif
