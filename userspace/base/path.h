/* SPDX-License-Identifier: Apache-2.0 */
/* path.h - opens what a user, a job or a configuration named by path.
 *
 * Nothing here waits for a peer: every file is opened with O_NONBLOCK, O_CLOEXEC and O_NOCTTY. A
 * FIFO that no process reads is -ENXIO.
 *
 * Another user must not choose what we write. So, for whatever is opened for writing, and for
 * folders in which files are made:
 * - a symbolic link, the last component or one before it, is followed only if root or our user owns
 * it; else -ELOOP. In /proc the kernel follows its own links.
 * - in a sticky folder that others may write (/tmp), a file that is there already must belong to
 * root, to us or to the folder's owner; else -ENOTUNIQ.
 * - in a folder that others may write, a file that is there already has one name; else -EMLINK.
 *
 * Through here go, of what is written: lines, traces and tables of --export and of `report --export
 * csv` (line_writer.c, file_writer.c, csv.c, report_csv.c), event files (tensorboard_folder.c),
 * --html (page.c), tapes of `record` and --durable (tape.c, durable.c), --output of `run`
 * (child.c), the store (store.c), the queue of Cloud Monitoring (spool.c), --carry (carry_file.c),
 * the symbol cache (symbol_cache.c), archives (cmd_bundle.c), and the folders of unix sockets
 * (listen.c, prometheus.c); of what is read: --config and
 * --web-config (config_file.c), probe files (probe_yaml.c), libraries that are named (plan.c),
 * tapes (tape.c), logs of `account` (goodput_file.c), files of --on (hook_file.c), certificates
 * (http_tls.c), credentials (credentials.c, access.c, carry_map.c).
 *
 * Not through here: files of /proc, /sys (with --root, below it), /dev/kmsg and cgroups, which the
 * kernel makes; those of /etc that `bundle` reads (bundle_host.c, bundle_mask.c); libraries and
 * packages of a watched process, which are read by processes of their own (mapping.c, pjrt_scan.c,
 * package.c); pins, below /sys/fs/bpf (pin.c); files that are opened without following links in a
 * folder that was opened here (track.c, tensorboard_held.c); the socket that `top` connects to
 * (top_fetch.c); SQLite opens the store's file by its name without links, after store.c did. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stddef.h>
#include <sys/types.h>

#include "userspace/base/buffer.h"

/* As open(2). Returns a descriptor, which the caller owns, or -errno. O_TRUNC empties the file only
 * after the rules above were met. */
int path_open(const char *path, int flags, mode_t mode);
/* The same for writing; waits up to wait_ms for a process that reads a FIFO. */
int path_open_fifo(const char *path, int flags, mode_t mode, int wait_ms);
/* Opens input that is read as it comes. Waits for a process that writes to a FIFO, and logs
 * that. */
int path_open_input(const char *path);
/* Appends what the file holds to out, up to max bytes. wait_ms: for each part of what a pipe's
 * writer gives; 0: the file must be a regular one, else -EINVAL. -EFBIG, -ETIMEDOUT, -ENOMEM. */
int path_read(const char *path, struct buffer *out, size_t max, int wait_ms);
/* Opens a folder, by the rules of writing. mode: a missing one, and each missing one above it, is
 * made with it; 0: it must be there. made (may be NULL) is called for each that was made. Returns a
 * descriptor or -errno. */
int path_folder(const char *path, mode_t mode, void (*made)(int fd, int above));
/* Makes a folder, the last component of path only, by the rules of writing; one that is there is
 * fine. 0 or -errno. */
int path_make(const char *path, mode_t mode);
/* Finds the folder that path lies in, by the rules of writing; *ret_name: the last component,
 * within path. Returns a descriptor of O_PATH, for renameat() and the like, or -errno. */
int path_parent(const char *path, const char **ret_name);
/* Whether the disk of path answers, asked by a process of its own: 0, also where there is no such
 * file, or -ETIMEDOUT after 5 s. For what the main thread is about to open. */
int path_answers(const char *path);
/* Why, for people, of a -errno of this module. */
const char *path_why(int err);

#endif
