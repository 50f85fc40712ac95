/* SPDX-License-Identifier: Apache-2.0 */
/* path.h - opens files that a user, a job or a configuration named.
 *
 * Nothing here waits for a peer: every file is opened with O_NONBLOCK, O_CLOEXEC and O_NOCTTY. A
 * FIFO without a reader is -ENXIO.
 *
 * Another user must not choose what we write. So these rules apply to files opened for writing, and
 * for folders in which files are made:
 * - a symbolic link, the last component or one before it, is followed only if root or our user
 *   owns it; else -ELOOP. In /proc the kernel follows its own links.
 * - in a sticky folder that others may write (/tmp), an existing file must belong to root, to us
 *   or to the folder's owner; else -ENOTUNIQ.
 * - in a folder that others may write, an existing file must have one name only; else -EMLINK.
 *
 * These files are opened for writing by functions of this module: lines, traces and tables of
 * --export and of `report --export csv` (line_writer.c, file_writer.c, csv.c, csv_store.c), event
 * files (tensorboard_folder.c), --html (page.c), tapes of `record` and --durable (tape.c,
 * durable.c), --output of `run` (child.c), the store (store.c), the queue of Cloud Monitoring
 * (disk_queue.c), --carry (carry_file.c), the symbol cache (symbol_cache.c), archives
 * (cmd_bundle.c), and the folders of unix sockets (listen.c, prometheus.c). These are opened for
 * reading: --config and --web-config (config_file.c), probe files (probe_yaml.c), libraries that
 * are named (plan.c), tapes (tape.c), logs of `account` (goodput_file.c), files of --on
 * (hook_file.c), certificates (http_tls.c), credentials (credentials.c, access.c, carry_map.c).
 *
 * These files are opened without this module: files of /proc, /sys (with --root, below it),
 * /dev/kmsg and cgroups, which the kernel makes; those of /etc that `bundle` reads (bundle_host.c,
 * bundle_mask.c); libraries and packages of a watched process, which helper processes read
 * (mapping.c, package.c); pins, below /sys/fs/bpf (pin.c); files that are opened without following
 * links in a folder that was opened here (track.c, tensorboard_held.c); the socket that `top`
 * connects to (top_fetch.c). SQLite opens the store's file by its name without links, after store.c
 * has opened it. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stddef.h>
#include <sys/types.h>

#include "userspace/base/buffer.h"

/* Opens a file like open(2), by the rules at the top of this file. Returns a descriptor, which the
 * caller owns, or -errno. O_TRUNC empties the file only after the rules were checked. */
int path_open(const char *path, int flags, mode_t mode);
/* Opens a file for writing. If it is a FIFO, waits up to wait_ms for a process that reads it. */
int path_open_fifo(const char *path, int flags, mode_t mode, int wait_ms);
/* Opens an input that is read while it grows. If it is a FIFO, waits for a process that writes to
 * it, and logs that. */
int path_open_input(const char *path);
/* Appends the content of a file to out, up to max bytes. wait_ms: how long to wait for each part
 * from a pipe; 0: only a regular file is accepted, otherwise -EINVAL. Returns 0 or -errno: -EFBIG,
 * -ETIMEDOUT, -ENOMEM... */
int path_read(const char *path, struct buffer *out, size_t max, int wait_ms);
/* Opens a folder, by the rules for writing at the top of this file. mode: creates missing folders
 * on the path with this mode; 0: creates none. made (may be NULL) is called for each folder that
 * was created. Returns a descriptor or -errno. */
int path_folder(const char *path, mode_t mode, void (*made)(int fd, int above));
/* Creates the folder that is the last component of path, by the rules for writing at the top of
 * this file. Succeeds if it exists. Returns 0 or -errno. */
int path_make(const char *path, mode_t mode);
/* Opens the folder that contains path, by the rules for writing at the top of this file. *ret_name:
 * the last component, within path. Returns a descriptor of O_PATH, for renameat() and the like, or
 * -errno. */
int path_parent(const char *path, const char **ret_name);
/* Checks in a helper process whether the disk of path responds. Returns 0 (also if the file does
 * not exist), or -ETIMEDOUT if not within 5 s. Call before the main thread opens the path, which
 * would hang. */
int path_answers(const char *path);
/* Returns the text for an error (-errno) of the functions of this file. */
const char *path_why(int err);

#endif
