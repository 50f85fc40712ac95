/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/handover/carry_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/base/file.h"
#include "userspace/base/hash.h"
#include "userspace/base/path.h"

#define READABLE 40 /* limit of characters of the job's name that are used in the file's name */

void carry_name(char out[CARRY_NAME_MAX], const char *job, const char *uid, bool map)
{
	uint64_t hash = hash_bytes(HASH_START, job, strlen(job) + 1);
	char word[READABLE + 2];
	size_t n = 0;

	hash = hash_bytes(hash, uid, strlen(uid));
	for (const char *c = job; *c && n < READABLE; c++) {
		if (isalnum((unsigned char)*c) && !(*c & 0x80))
			word[n++] = map ? (char)tolower((unsigned char)*c) : *c;
		else if (!map || (n && word[n - 1] != '-'))
			word[n++] = map ? '-' : '_';
	}
	if (!map || (n && word[n - 1] != '-'))
		word[n++] = '-';
	word[n] = '\0';
	snprintf(out, CARRY_NAME_MAX, "%s%s%016llx%s", map ? "gp-bpf-carry-" : "", word,
		 (unsigned long long)hash, map ? "" : ".carry");
}

static int carry_folder_open(const char *dir)
{
	int fd = path_folder(dir, 0, NULL);

	return fd == -ENOENT ? -ENOTDIR : fd;
}

/* Reads a file. Returns its length; -EBADMSG: it is longer than CARRY_MAX bytes. */
static ssize_t carry_text_read(int fd, char out[CARRY_MAX])
{
	char text[CARRY_MAX + 1];
	size_t len = 0;
	ssize_t n;

	while (len < sizeof(text)) {
		n = read(fd, text + len, sizeof(text) - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		len += (size_t)n;
	}
	if (len > CARRY_MAX)
		return -EBADMSG;
	memcpy(out, text, len);
	return (ssize_t)len;
}

static ssize_t carry_file_load(int folder, const char *name, char out[CARRY_MAX])
{
	/* O_NONBLOCK: do not wait for the writer of a FIFO */
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	ssize_t len;

	if (fd < 0)
		return errno == ELOOP || errno == ENXIO ? -EBADMSG : -errno;
	if (fstat(fd, &st))
		len = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_size > CARRY_MAX)
		len = -EBADMSG;
	else
		len = carry_text_read(fd, out);
	close(fd);
	return len;
}

ssize_t carry_file_read(const char *dir, const char *name, char out[CARRY_MAX])
{
	int folder = carry_folder_open(dir);
	ssize_t len;

	if (folder < 0)
		return folder;
	len = carry_file_load(folder, name, out);
	close(folder);
	return len;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Returns 0 if the existing file may be replaced, because its history is older or not valid. */
static int carry_file_may_write(int folder, const char *name, const struct carry *c,
				struct carry *had)
{
	char text[CARRY_MAX];
	ssize_t len = carry_file_load(folder, name, text);

	if (len < 0)
		return len == -ENOENT || len == -EBADMSG ? 0 : (int)len;
	return carry_replaces(c, text, (size_t)len, had);
}

static int carry_file_put(int folder, const char *name, const char *text, size_t len)
{
	char temporary[CARRY_NAME_MAX + 32];
	int err;

	snprintf(temporary, sizeof(temporary), ".%s.%d", name, getpid());
	err = file_replace(folder, name, temporary, 0644, text, len, true);
	if (!err)
		fsync(folder); /* ignore errors: not every file system can sync a folder */
	return err;
}

int carry_file_write(const char *dir, const struct carry *c, struct carry *had)
{
	int folder = carry_folder_open(dir), err;
	char text[CARRY_MAX + 1], name[CARRY_NAME_MAX];
	size_t len;

	if (folder < 0)
		return folder;
	carry_name(name, c->job, c->uid, false);
	len = carry_text(text, c);
	err = carry_file_may_write(folder, name, c, had);
	err = err ? err : carry_file_put(folder, name, text, len);
	close(folder);
	return err;
}
