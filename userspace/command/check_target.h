/* SPDX-License-Identifier: Apache-2.0 */
/* check_target.h - collects the results of `gp-bpf check` for one process or file. */
#ifndef COMMAND_CHECK_TARGET_H
#define COMMAND_CHECK_TARGET_H

#include "userspace/base/buffer.h"
#include "userspace/report/check.h"

struct loader;
struct probe_table;

struct check_find {
	const struct probe_table *table;
	struct loader *loader; /* used to measure the cost of probes; NULL: costs are unknown */
	/* malloc'd; error: why the target could not be checked; NULL: it was checked */
	char *name, *error;
	uint32_t pid;
	struct buffer probes;	/* array of struct check_probe */
	struct buffer runtimes; /* array of struct check_runtime */
	/* array of char *: paths of the runtimes' files, as this process can open them */
	struct buffer paths;
};

/* Add a probe to the struct check_find in ctx. check_find_planned() is a loader_plan_fn and gets
 * the probe's id; check_find_attached() is a loader_attach_fn and gets its hash. A later result for
 * the same address replaces the earlier one. */
void check_find_planned(void *ctx, const char *probe_id, const struct gp_attach *a);
void check_find_attached(void *ctx, uint32_t probe, const struct gp_attach *a);
/* Finds the files of the runtimes: in the maps of a process, or the file at path. */
void check_find_files(struct check_find *f, const char *path);
/* Finds the versions of the libraries. It may block on a slow file system: call it after detaching
 * all probes. */
void check_find_versions(struct check_find *f);
/* Returns the result. It points into f. */
struct check_target check_find_target(const struct check_find *f);
void check_find_free(struct check_find *f);

#endif
