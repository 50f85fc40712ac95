/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_folder.h - folders and files of --export tensorboard. Other users may be able to
 * write there, and gp-bpf may run as root: so below the folder that the user named, links are not
 * followed, and existing files are never opened for writing. New files and folders get the owner of
 * their parent folder and are readable by all. */
#ifndef EXPORT_TENSORBOARD_FOLDER_H
#define EXPORT_TENSORBOARD_FOLDER_H

#include <stddef.h>
#include <stdint.h>

#define TB_NAME_MAX 96	/* limit of a folder's name in bytes */
#define TB_RUN_MAX  224 /* limit of the path below the user's folder in bytes */

/* Writes a safe folder name for any text: letters, digits, '.', '_' and '-'. If other characters
 * were replaced, a hash of the whole text is added. */
void tb_folder_name(char out[TB_NAME_MAX], const char *name);
/* Opens the user's folder, which must not be a link; makes it and its parents if they are missing.
 * Returns a descriptor or -errno. */
int tb_folder_open(const char *path);
/* Creates an event file in run ("job/run-1/rank-0", names from tb_folder_name()). Returns a
 * descriptor or -errno. */
int tb_file_new(int folder, const char *run, int64_t now_s);

#endif
