/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/tensorboard/tensorboard_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/base/hash.h"
#include "userspace/base/path.h"

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK)
#define NAMES	     100 /* limit of event files that one folder can get in a second */
#define HOST_MAX     65

static const char fine[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

void tb_folder_name(char out[TB_NAME_MAX], const char *name)
{
	size_t len = strlen(name), n = 0;
	bool changed = !len;

	for (; n < len && n < TB_NAME_MAX - 18; n++) {
		/* A leading dot hides a folder, and ".." is the parent. */
		bool keeps = strchr(fine, name[n]) && !(n == 0 && name[0] == '.');

		out[n] = name[n];
		if (!keeps)
			out[n] = '_';
		changed |= !keeps;
	}
	out[n] = '\0';
	if (changed || n < len)
		snprintf(out + n, TB_NAME_MAX - n, "-%08x",
			 (unsigned)hash_bytes(HASH_START, name, len));
}

/* Gives the file or folder fd the owner of its parent folder; a failure is ignored. */
static void tb_folder_give(int fd, int folder)
{
	struct stat above;

	if (geteuid() == 0 && !fstat(folder, &above) && above.st_uid != 0 &&
	    fchownat(fd, "", above.st_uid, above.st_gid, AT_EMPTY_PATH))
		return;
}

/* Opens the folder `name` below `at`; makes it if it is missing. flags: O_NOFOLLOW or 0. */
static int tb_folder_below(int at, const char *name, int flags)
{
	int why = mkdirat(at, name, 0755) ? errno : 0, fd;

	fd = openat(at, name, FOLDER_FLAGS | flags);
	if (fd < 0)
		return errno == ENOENT && why ? -why : -errno;
	if (!why)
		tb_folder_give(fd, at);
	return fd;
}

int tb_folder_open(const char *path)
{
	char above[PATH_MAX], *name;
	size_t len = strlen(path);
	int at, fd;

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (len >= sizeof(above))
		return -ENAMETOOLONG;
	memcpy(above, path, len);
	above[len] = '\0';
	name = strrchr(above, '/');
	if (name)
		*name = '\0';
	at = path_folder(!name ? "." : *above ? above : "/", 0755, tb_folder_give);
	if (at < 0)
		return at;
	name = name ? name + 1 : above;
	fd = tb_folder_below(at, *name ? name : ".", O_NOFOLLOW);
	close(at);
	return fd;
}

static void tb_folder_host_name(char out[HOST_MAX])
{
	char host[HOST_MAX] = "";

	if (gethostname(host, sizeof(host) - 1) || !*host)
		snprintf(host, sizeof(host), "localhost");
	for (size_t i = 0; host[i]; i++)
		if (!strchr(fine, host[i]))
			host[i] = '_';
	memcpy(out, host, sizeof(host));
}

static int tb_folder_file_in(int folder, int64_t now_s)
{
	char name[NAME_MAX + 1], host[HOST_MAX], again[12] = "";
	int fd;

	tb_folder_host_name(host);
	for (int i = 1; i <= NAMES; i++) {
		snprintf(name, sizeof(name), "events.out.tfevents.%010lld.%s%s", (long long)now_s,
			 host, again);
		fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0644);
		if (fd >= 0) {
			tb_folder_give(fd, folder);
			return fd;
		}
		if (errno != EEXIST)
			return -errno;
		snprintf(again, sizeof(again), ".%02d", i);
	}
	return -EEXIST;
}

int tb_file_new(int folder, const char *run, int64_t now_s)
{
	int at = folder, next = folder, fd;
	char name[TB_NAME_MAX];
	size_t len;

	for (; *run; run += len, run += *run == '/') {
		len = strcspn(run, "/");
		if (!len || len >= sizeof(name))
			next = -EINVAL;
		if (next < 0)
			break;
		memcpy(name, run, len);
		name[len] = '\0';
		next = tb_folder_below(at, name, O_NOFOLLOW);
		if (at != folder)
			close(at);
		at = next;
		if (next < 0)
			return next;
	}
	fd = next < 0 ? next : tb_folder_file_in(at, now_s);
	if (at != folder)
		close(at);
	return fd;
}
