/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_folder.h - the folders and files of --export tensorboard. They may lie where others
 * can write, and this may run as root: below the folder that the user named no link is followed,
 * and a file is always a new one. New files and folders belong to the owner of the folder that they
 * are made in, and all may read them. */
#ifndef EXPORT_TENSORBOARD_FOLDER_H
#define EXPORT_TENSORBOARD_FOLDER_H

#include <stddef.h>
#include <stdint.h>

#define TB_NAME_MAX 96	/* one folder's name */
#define TB_RUN_MAX  224 /* its path below the user's folder */

/* A folder's name for what others chose the name of: letters, digits, '.', '_', '-'; where anything
 * else was replaced, with a hash of all of it. */
void tb_folder_name(char out[TB_NAME_MAX], const char *name);
/* The user's folder, made with those above it where it is missing; itself no link. Its descriptor
 * or -errno. */
int tb_folder_open(const char *path);
/* A new event file in run ("job/run-1/rank-0", of tb_folder_name()'s names). Its descriptor or
 * -errno. */
int tb_file_new(int folder, const char *run, int64_t now_s);

#endif
