/* SPDX-License-Identifier: Apache-2.0 */
/* mapping.h - files that a process maps executable, and descriptors of them. That process controls
 * their names and contents, and when they vanish. */
#ifndef LOADER_MAPPING_H
#define LOADER_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "bpf/gp_private.h"

struct helper;
struct bpf_program;

/* Size of an answer from the helper process: 65536 mappings (default vm.max_map_count: 65530). */
#define MAPPING_HELPER_BYTES (65536 * sizeof(struct gp_vma))

/* Lists the mappings of a process by address. vmas: BPF program that reads them in the kernel;
 * NULL: reads /proc/PID/maps, in which an overlay file system may show other device and inode
 * numbers. Returns the number of mappings, or -errno such as -ESRCH. The caller frees *ret. */
int mapping_list(const struct bpf_program *vmas, pid_t pid, struct gp_vma **ret);

/* Parses a line of /proc/PID/maps. Returns false when it is not an executable mapping of a file. */
bool mapping_parse(const char *line, struct gp_vma *ret);

/* Returns the mapping that contains an address, and the offset in its file; NULL: none. */
const struct gp_vma *mapping_at(const struct gp_vma *vmas, int n, uint64_t address,
				uint64_t *ret_offset);

/* Finds the full path as the process named it when it mapped the file, without " (deleted)". A
 * library in memory (memfd_create(2)) is given as /memfd:NAME/SONAME, or /memfd:NAME/ if its soname
 * is missing or cannot be read. Returns 0 or -errno. */
int mapping_path(pid_t pid, const struct gp_vma *vma, char *path, size_t len);

/* Returns the file name in a path from mapping_path(), as a pointer into the path. If the path is
 * /memfd:NAME/, removes the last slash from it and returns NAME. */
const char *mapping_base(char *path);

/* Returns true when a path from mapping_path() is of a file in memory. */
static inline bool mapping_in_memory(const char *path)
{
	return !strncmp(path, "/memfd:", 7);
}

/* Returns true when both are mappings of one file. */
static inline bool mapping_same_file(const struct gp_vma *a, const struct gp_vma *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->generation == b->generation;
}

/* Like mapping_list() and mapping_path(), but helper process a reads, as the process pid may hold
 * its address space locked. vmas must have been passed to the helper process by helper_keep(). a
 * NULL: the calling process reads. Return -ETIMEDOUT if the address space is locked. */
int mapping_list_by_helper(struct helper *a, const struct bpf_program *vmas, pid_t pid,
			   struct gp_vma **ret);
int mapping_path_by_helper(struct helper *a, pid_t pid, const struct gp_vma *vma, char *path,
			   size_t len);

/* The paths of all files that a process maps, from one call of the helper process. */
struct mapping_paths {
	/* Entries in order of address: start of a mapping (uint64_t), path of its file, 0 */
	char *data;
	size_t len, at;
};
/* Reads paths for at most 5 ms, each as mapping_path_by_helper() would. Returns 0 or -errno; the
 * caller frees ret->data. */
int mapping_paths_by_helper(struct helper *a, const struct bpf_program *vmas, pid_t pid,
			    struct mapping_paths *ret);
/* Returns the path of the file whose first mapping begins at start; NULL: not read. Fast if called
 * with rising addresses; for a smaller address than before, searches from the beginning. */
const char *mapping_paths_get(struct mapping_paths *p, uint64_t start);

/* Opens a descriptor that only names the mapped file (O_PATH). path is used where map_files is not
 * accessible (*ret_by_path is set then), and may name another file by now: the caller has to map
 * the file and compare. Returns the descriptor or -errno; -ENOLINK: the file was deleted, or is in
 * memory only, and cannot be opened by path. May wait for the file system forever. */
int mapping_name(pid_t pid, const struct gp_vma *vma, const char *path, bool *ret_by_path);
/* Opens the file of a descriptor from mapping_name() for reading. Returns a descriptor or -errno;
 * -EINVAL: not a regular file; -EACCES: its file system lets only other users read it. May wait
 * like mapping_name(). */
int mapping_reopen(int path_fd);

#endif
