/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/identity/accelerator.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/log.h"
#include "userspace/base/proc_file.h"

#define GPUS	 "/proc/driver/nvidia/gpus"
#define GPUS_MAX 256
#define INFO_MAX 4096

/* Reads the model of a device from a line such as "Model: NVIDIA H100 80GB HBM3". */
static int accelerator_model_read(int dir, const char *name, char *out, size_t len)
{
	char path[300], info[INFO_MAX], *at;
	ssize_t n;
	int fd;

	if (snprintf(path, sizeof(path), "%s/information", name) >= (int)sizeof(path))
		return -ENOENT;
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	n = proc_read(fd, info, sizeof(info) - 1);
	close(fd);
	if (n < 0)
		return -EIO;
	info[n] = '\0';
	at = strncmp(info, "Model:", 6) != 0 ? strstr(info, "\nModel:") : info;
	if (!at)
		return -ENOENT;
	at = strchr(at, ':') + 1;
	at += strspn(at, " \t");
	log_escape(out, len, at, strcspn(at, "\n"));
	return *out ? 0 : -ENOENT;
}

int accelerator_model(const char *root, char *out, size_t len)
{
	char path[PROC_PATH_MAX], one[128], all[128] = "";
	const struct dirent *e;
	int err = -ENOENT, seen = 0;
	DIR *d;

	if (snprintf(path, sizeof(path), "%s" GPUS, root) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	d = opendir(path);
	if (!d)
		return -ENOENT;
	while (err != -EMEDIUMTYPE && seen < GPUS_MAX && (e = readdir(d))) {
		if (*e->d_name == '.' ||
		    accelerator_model_read(dirfd(d), e->d_name, one, sizeof(one)))
			continue;
		err = seen++ && strcmp(one, all) != 0 ? -EMEDIUMTYPE : 0;
		snprintf(all, sizeof(all), "%s", one);
	}
	closedir(d);
	if (!err)
		snprintf(out, len, "%s", all);
	return err;
}
