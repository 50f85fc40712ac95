/* SPDX-License-Identifier: Apache-2.0 */
/* check_target.h - what `gp-bpf check` finds in one process or one file, while it is being
 * found. */
#ifndef COMMAND_CHECK_TARGET_H
#define COMMAND_CHECK_TARGET_H

#include "userspace/base/buffer.h"
#include "userspace/report/check.h"

struct loader;
struct probe_table;

struct check_find {
	const struct probe_table *table;
	struct loader *loader; /* NULL: prices are not known */
	char *name, *error;    /* malloc'd; error NULL: none */
	uint32_t pid;
	struct buffer probes;	/* of struct check_probe */
	struct buffer runtimes; /* of struct check_runtime */
	struct buffer paths;	/* of char *: files of the runtimes, as they can be opened here */
};

/* One probe; as loader_plan_fn and, by its hash, as loader_attach_fn (ctx: struct check_find). A
 * later word on the same place replaces the one before. */
void check_find_planned(void *ctx, const char *probe_id, const struct gp_attach *a);
void check_find_attached(void *ctx, uint32_t probe, const struct gp_attach *a);
/* Which files they are in: of a process by its maps, of a file by its path. */
void check_find_files(struct check_find *f, const char *path);
/* Versions, which may wait for a file system: when nothing is attached any more. */
void check_find_versions(struct check_find *f);
/* Points into f. */
struct check_target check_find_target(const struct check_find *f);
void check_find_free(struct check_find *f);

#endif
