/* SPDX-License-Identifier: Apache-2.0 */
/* mapping.h - files that a process maps executable, and descriptors of them. Everything about them
 * (names, contents, when they vanish) is in the hands of that process. */
#ifndef LOADER_MAPPING_H
#define LOADER_MAPPING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_private.h"

struct bpf_program;

/* Mappings of the process, by address, from the kernel itself (vmas) or, where that is NULL, from
 * /proc/PID/maps, whose numbers an overlay file system may have changed. Returns the count (array is
 * malloc'd), or -ESRCH and kin. */
int mapping_list(const struct bpf_program *vmas, pid_t pid, struct gp_vma **ret);

/* Full path as the process named it when it mapped the file, " (deleted)" stripped. 0 or -errno. */
int mapping_path(pid_t pid, const struct gp_vma *vma, char *path, size_t len);

/* Read-only descriptor of the mapped regular file itself; path only helps where map_files is closed to
 * us. -EINVAL: no regular file; -ESTALE: the path names another file by now. */
int mapping_open(pid_t pid, const struct gp_vma *vma, const char *path);

#endif
