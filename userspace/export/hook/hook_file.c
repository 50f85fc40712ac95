/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/hook/hook_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/base/log.h"
#include "userspace/base/path.h"

/* Returns true if users other than the owner can write the file. Members of the group root are
 * trusted. With access lists, the group bits are the maximum that any entry grants. */
static bool hook_file_others_write(const struct stat *st)
{
	if (S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX)
		return false;
	return st->st_mode & S_IWOTH || (st->st_mode & S_IWGRP && st->st_gid);
}

/* Checks owner and mode of one file or folder. path: absolute, without links. */
static int hook_file_trusted(const char *path, uid_t uid, char *why, size_t len)
{
	struct stat st;

	if (lstat(path, &st)) {
		int err = -errno;

		snprintf(why, len, "%s: %s", path, strerror(-err));
		return err;
	}
	if (st.st_uid && st.st_uid != geteuid() && st.st_uid != uid) {
		snprintf(why, len,
			 "%s belongs to user %u, neither to root nor to the user that runs it",
			 path, (unsigned int)st.st_uid);
		return -EPERM;
	}
	if (hook_file_others_write(&st)) {
		snprintf(why, len, "%s can be written by others (chmod go-w)", path);
		return -EPERM;
	}
	return 0;
}

/* Checks the file and all folders of its path. Changes path during the call, and restores it. */
static int hook_file_trusted_way(char *path, uid_t uid, char *why, size_t len)
{
	int err = hook_file_trusted("/", uid, why, len);

	for (char *p = path + 1; !err && *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		err = hook_file_trusted(path, uid, why, len);
		*p = '/';
	}
	return err ? err : hook_file_trusted(path, uid, why, len);
}

int hook_file_program(const char *path, uid_t uid, char *ret, char *why, size_t len)
{
	char folder[PATH_MAX], real[PATH_MAX], *slash;
	struct stat st;
	int err;

	if (strlen(path) >= sizeof(folder)) {
		snprintf(why, len, "%s", strerror(ENAMETOOLONG));
		return -ENAMETOOLONG;
	}
	memcpy(folder, path, strlen(path) + 1);
	slash = strrchr(folder, '/');
	slash[slash == folder] = '\0';
	/* If path is a link, check its folder, too: a user who can write there can change the
	 * link. */
	if (!realpath(folder, real) || !realpath(path, ret)) {
		err = -errno;
		snprintf(why, len, "%s", strerror(-err));
		return err;
	}
	err = hook_file_trusted_way(real, uid, why, len);
	if (!err)
		err = hook_file_trusted_way(ret, uid, why, len);
	if (!err && (lstat(ret, &st) || !S_ISREG(st.st_mode) || !(st.st_mode & 0111))) {
		snprintf(why, len, "not a program: %s",
			 S_ISREG(st.st_mode) ? "the file is not executable" : "not a regular file");
		err = -EACCES;
	}
	return err;
}

static int hook_file_secret_read(int fd, const char *path, size_t max, char **ret)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || (st.st_uid && st.st_uid != geteuid()) || st.st_mode & 027) {
		log_error(
			"%s: not a private file; it must belong to root or this user, and others must not be able to read or write it (chmod 600)",
			path);
		return -EPERM;
	}
	*ret = calloc(1, max + 1);
	if (!*ret)
		return -ENOMEM;
	n = pread(fd, *ret, max, 0);
	if (n < 0)
		return -errno;
	if ((size_t)n < max && strlen(*ret) == (size_t)n)
		return 0;
	log_error("%s: not a text file of less than %zu bytes", path, max);
	return -EINVAL;
}

int hook_file_secret(const char *path, size_t max, char **ret)
{
	int fd = path_open(path, O_RDONLY, 0), err;
	char *text = NULL;

	err = fd < 0 ? fd : hook_file_secret_read(fd, path, max, &text);
	if (fd >= 0)
		close(fd);
	if (!err) {
		*ret = text;
		return 0;
	}
	free(text);
	if (err != -EPERM && err != -EINVAL)
		log_error("--on: %s: %s", path, strerror(-err));
	return err;
}
