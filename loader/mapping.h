/* SPDX-License-Identifier: Apache-2.0 */
/* mapping.h - files that a process maps executable, and descriptors of them. Everything about them
 * (names, contents, when they vanish) is in the hands of that process. */
#ifndef LOADER_MAPPING_H
#define LOADER_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_private.h"

struct aside;
struct bpf_program;

/* Of an answer that comes from aside: 65536 mappings, vm.max_map_count being 65530 by default. */
#define MAPPING_ASIDE_BYTES (65536 * sizeof(struct gp_vma))

/* Mappings of the process, by address, from the kernel itself (vmas) or, where that is NULL, from
 * /proc/PID/maps, whose numbers an overlay file system may have changed. Returns the count (array
 * is malloc'd), or -ESRCH and kin. */
int mapping_list(const struct bpf_program *vmas, pid_t pid, struct gp_vma **ret);

/* A line of /proc/PID/maps; false: no executable mapping of a file. */
bool mapping_parse(const char *line, struct gp_vma *ret);

/* The mapping that an address lies in, and the place in its file; NULL: in none of these. */
const struct gp_vma *mapping_at(const struct gp_vma *vmas, int n, uint64_t address,
				uint64_t *ret_offset);

/* Full path as the process named it when it mapped the file, " (deleted)" stripped. 0 or -errno. */
int mapping_path(pid_t pid, const struct gp_vma *vma, char *path, size_t len);

/* The same two for a process that may hold its address space locked, and whoever looks at it with
 * that. a keeps the descriptor of vmas; -ETIMEDOUT: locked. NULL: asked for here, as above. */
int mapping_list_aside(struct aside *a, const struct bpf_program *vmas, pid_t pid,
		       struct gp_vma **ret);
int mapping_path_aside(struct aside *a, pid_t pid, const struct gp_vma *vma, char *path,
		       size_t len);

/* Read-only descriptor of the mapped regular file; *ret_path is one that only names it (O_PATH).
 * path only helps where map_files is closed to us (then *ret_by_path is set), and may name another
 * file by now: whoever must know maps the file and compares. May wait for the file's file system,
 * for ever. -EINVAL: no regular file. */
int mapping_open(pid_t pid, const struct gp_vma *vma, const char *path, int *ret_path,
		 bool *ret_by_path);

#endif
