/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/base/log.h"
#include "userspace/base/proc_file.h"
#include "userspace/identity/package.h"

#define PACKAGES_MAX 2048
/* Limit of bytes read from the RECORD file of a package; that of torch has 2 MiB. */
#define RECORD_MAX (64 << 20)
#define READ_MAX   (512ull << 20)
#define CHUNK	   (1 << 16)

/* End of the name of a package's metadata folder (PEP 376) */
static const char info[] = ".dist-info";

/* Returns true if the RECORD file has a line that begins with this text. */
static bool package_record_lists(int fd, const char *line, uint64_t *left)
{
	size_t len = strlen(line), kept = 1;
	char *text = malloc(CHUNK + PATH_MAX + 2);
	bool found = false;
	ssize_t got;

	if (!text)
		return false;
	text[0] = '\n';
	for (uint64_t read = 0; !found && read < RECORD_MAX && *left >= CHUNK;
	     read += (uint64_t)got) {
		got = proc_read(fd, text + kept, CHUNK);
		if (got <= 0)
			break;
		*left -= (uint64_t)got;
		kept += (size_t)got;
		found = memmem(text, kept, line, len) != NULL;
		if (kept > len) {
			memmove(text, text + kept - len, len);
			kept = len;
		}
	}
	free(text);
	return found;
}

static bool package_has(int dir, const char *name, const char *line, uint64_t *left)
{
	char record[NAME_MAX + 16];
	struct stat st;
	bool found;
	int fd;

	snprintf(record, sizeof(record), "%s/RECORD", name);
	fd = openat(dir, record, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
	if (fd < 0)
		return false;
	found = !fstat(fd, &st) && S_ISREG(st.st_mode) && package_record_lists(fd, line, left);
	close(fd);
	return found;
}

/* Returns true if the name of a package or file begins with another runtime as a word
 * ("torch_cuda", but not "torchvision"), and does not contain this runtime ("torch_xla",
 * "jax_cuda12_pjrt"). names[0]: this runtime, followed by the others. */
static bool package_named_after(const char *name, const char *const *names)
{
	if (!names || !*names || strcasestr(name, *names))
		return false;
	for (names++; *names; names++)
		if (!strncasecmp(name, *names, strlen(*names)) &&
		    !isalpha((unsigned char)name[strlen(*names)]))
			return true;
	return false;
}

/* Gets the version from the name of a metadata folder: "torch-2.15.0.dist-info". */
static bool package_name_version(const char *name, char *ret, size_t size)
{
	size_t len = strlen(name), end = sizeof(info) - 1;
	const char *dash;

	if (len <= end || strcmp(name + len - end, info) != 0)
		return false;
	len -= end;
	dash = memrchr(name, '-', len);
	if (!dash)
		return false;
	dash++;
	log_escape(ret, size, dash, (size_t)(name + len - dash));
	return true;
}

static bool package_version_of_package(const char *path, const char *const *runtimes, char *ret,
				       size_t size)
{
	static const char *const places[] = {"/site-packages/", "/dist-packages/"};
	char dir[PATH_MAX], line[PATH_MAX + 2];
	const char *at = NULL, *rest = NULL;
	uint64_t left = READ_MAX;
	struct dirent *entry;
	bool found = false;
	DIR *d;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !at; i++) {
		at = strstr(path, places[i]);
		rest = at ? at + strlen(places[i]) : NULL;
	}
	if (!at || (size_t)(rest - path) >= sizeof(dir) || strlen(rest) >= PATH_MAX)
		return false;
	snprintf(dir, sizeof(dir), "%.*s", (int)(rest - path), path);
	snprintf(line, sizeof(line), "\n%s,", rest);
	d = opendir(dir);
	for (int n = 0; d && !found && n < PACKAGES_MAX && (entry = readdir(d)); n++)
		found = package_name_version(entry->d_name, ret, size) &&
			package_has(dirfd(d), entry->d_name, line, &left) &&
			!package_named_after(entry->d_name, runtimes);
	if (d)
		closedir(d);
	return found;
}

/* Gets the version from the real name of a library's file: libcuda.so.550.54.15. */
static bool package_version_of_name(const char *path, const char *const *runtimes, char *ret,
				    size_t size)
{
	const char *base = strrchr(path, '/'), *at;

	base = base ? base + 1 : path;
	at = strstr(base, ".so.");
	if (!at || package_named_after(base + (strncmp(base, "lib", 3) ? 0 : 3), runtimes))
		return false;
	at += 4;
	if (!strchr(at, '.') || at[strspn(at, "0123456789.")])
		return false;
	log_escape(ret, size, at, strlen(at));
	return true;
}

const char *package_version(const char *path, const char *const *runtimes, char *ret, size_t size)
{
	if (package_version_of_package(path, runtimes, ret, size))
		return "package";
	if (package_version_of_name(path, runtimes, ret, size))
		return "file name";
	ret[0] = '\0';
	return NULL;
}
