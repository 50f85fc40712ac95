/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_cache.c - a cache on disk with the file offsets of symbols. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/elf/elf_symbol.h"
#include "userspace/base/file.h"
#include "userspace/base/buffer.h"
#include "userspace/base/hash.h"
#include "userspace/base/log.h"
#include "userspace/base/path.h"

/* Increase the number when the layout of entries or the rules of the search change. */
#define CACHE_MAGIC  "gpsym01"
#define ENTRIES_MAX  512 /* the directory is emptied when it has this many files */
#define SYMBOLS_MAX  65536
#define NAME_PATTERN "%016llx.sym"
#define NAME_LEN     32

/* Head of an entry. It includes the file's ctime, as a job can set back the mtime of its file. */
struct cache_head {
	char magic[8];
	uint64_t dev, ino, size;
	int64_t mtime_s, mtime_ns, ctime_s, ctime_ns;
	uint64_t wants; /* hash of the names to find, and of which are prefixes */
	uint64_t count;
	uint64_t sum; /* hash of the entries */
};

struct cache_entry {
	uint64_t want, offset, size;
};

static uint64_t symbol_cache_sum_wants(const struct elf_want *wants, size_t n)
{
	uint64_t sum = HASH_START;

	for (size_t i = 0; i < n; i++) {
		sum = hash_bytes(sum, wants[i].name, strlen(wants[i].name) + 1);
		sum = hash_bytes(sum, wants[i].prefix ? "*" : "=", 1);
	}
	return sum;
}

static int symbol_cache_head_make(int fd, uint64_t wants, struct cache_head *ret)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	*ret = (struct cache_head){
		.magic = CACHE_MAGIC,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.size = (uint64_t)st.st_size,
		.mtime_s = st.st_mtim.tv_sec,
		.mtime_ns = st.st_mtim.tv_nsec,
		.ctime_s = st.st_ctim.tv_sec,
		.ctime_ns = st.st_ctim.tv_nsec,
		.wants = wants,
	};
	return 0;
}

static void symbol_cache_head_name(const struct cache_head *head, char name[NAME_LEN])
{
	snprintf(name, NAME_LEN, NAME_PATTERN,
		 (unsigned long long)hash_bytes(HASH_START, head, sizeof(*head)));
}

/* Refuses a directory to which other users can write. */
static int cache_open_dir(const char *dir)
{
	struct stat st;
	int fd;

	fd = path_make(dir, 0700);
	fd = fd ? fd : path_open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd < 0)
		return fd;
	if (!fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & 022))
		return fd;
	close(fd);
	return -EPERM;
}

/* ---- reading: an inconsistent entry is a miss ------------------------------------------------ */

static bool symbol_cache_entries_plausible(const struct cache_entry *entries, uint64_t count,
					   const struct cache_head *head, size_t n)
{
	for (uint64_t i = 0; i < count; i++)
		if (entries[i].want >= n || entries[i].offset >= head->size)
			return false;
	return hash_bytes(HASH_START, entries, count * sizeof(*entries)) == head->sum;
}

static int symbol_cache_entries_convert(const struct cache_entry *entries, size_t count,
					struct elf_found **ret)
{
	struct elf_found *found = calloc(count + 1, sizeof(*found));

	if (!found)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		found[i] = (struct elf_found){.want = entries[i].want,
					      .offset = entries[i].offset,
					      .size = entries[i].size};
	*ret = found;
	return (int)count;
}

static int symbol_cache_entry_read(int fd, const struct cache_head *want, size_t n,
				   size_t max_found, struct elf_found **ret)
{
	struct cache_entry *entries = NULL;
	struct cache_head head, expected = *want;
	int err = -EBADMSG;
	struct stat st;
	size_t bytes;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || read(fd, &head, sizeof(head)) != sizeof(head))
		return -EBADMSG;
	expected.count = head.count;
	expected.sum = head.sum;
	if (memcmp(&head, &expected, sizeof(head)) != 0 || head.count > max_found ||
	    head.count > SYMBOLS_MAX)
		return -EBADMSG;
	bytes = head.count * sizeof(*entries);
	if ((uint64_t)st.st_size != sizeof(head) + bytes)
		return -EBADMSG;
	entries = malloc(bytes + 1);
	if (!entries)
		return -ENOMEM;
	if (read(fd, entries, bytes) == (ssize_t)bytes &&
	    symbol_cache_entries_plausible(entries, head.count, &head, n))
		err = symbol_cache_entries_convert(entries, head.count, ret);
	free(entries);
	return err;
}

static int cache_read(int dir, const struct cache_head *head, size_t n, size_t max_found,
		      struct elf_found **ret)
{
	char name[NAME_LEN];
	int fd, err;

	symbol_cache_head_name(head, name);
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	err = symbol_cache_entry_read(fd, head, n, max_found, ret);
	close(fd);
	return err;
}

/* ---- writing: after a failure the next start searches again ---------------------------------- */

static bool symbol_cache_is_entry(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && !strcmp(name + len - 4, ".sym");
}

/* Empties a directory that has too many entries. They accumulate, because each container image
 * brings other libraries. */
static void cache_trim(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	size_t count = 0;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(d)))
		count += symbol_cache_is_entry(entry->d_name);
	if (count >= ENTRIES_MAX) {
		rewinddir(d);
		while ((entry = readdir(d)))
			if (symbol_cache_is_entry(entry->d_name))
				unlinkat(dir, entry->d_name, 0);
	}
	closedir(d);
}

static void cache_write(int dir, const struct cache_head *of, const struct elf_found *found,
			size_t count)
{
	char name[NAME_LEN], partial[NAME_LEN + 16];
	struct cache_head head = *of;
	struct buffer b = {0};
	char *entries;

	if (count > SYMBOLS_MAX)
		return;
	cache_trim(dir);
	buffer_add(&b, &head, sizeof(head));
	for (size_t i = 0; i < count; i++)
		buffer_add(&b, &(struct cache_entry){found[i].want, found[i].offset, found[i].size},
			   sizeof(struct cache_entry));
	if (!b.failed) {
		entries = b.data + sizeof(head);
		head.count = count;
		head.sum = hash_bytes(HASH_START, entries, b.len - sizeof(head));
		memcpy(b.data, &head, sizeof(head));
		symbol_cache_head_name(of, name);
		snprintf(partial, sizeof(partial), ".%s.%d", name, (int)getpid());
		file_replace(dir, name, partial, 0600, b.data, b.len, false);
	}
	buffer_free(&b);
}

/* ---- lookup ---------------------------------------------------------------------------------- */

int symbol_cache_ask(const char *dir, int fd, uint64_t what, size_t n, size_t max_found,
		     symbol_cache_fn *answer, const void *ctx, struct elf_found **ret)
{
	struct cache_head head;
	int count, dirfd = -1;

	count = symbol_cache_head_make(fd, what, &head);
	if (count)
		return count;
	if (dir) {
		dirfd = cache_open_dir(dir);
		if (dirfd < 0)
			log_debug("symbol cache %s is not used: %s", dir, strerror(-dirfd));
	}
	count = dirfd < 0 ? -ENOENT : cache_read(dirfd, &head, n, max_found, ret);
	if (count >= 0)
		goto out;
	count = answer(ctx, fd, ret);
	if (count >= 0 && dirfd >= 0)
		cache_write(dirfd, &head, *ret, (size_t)count);
out:
	if (dirfd >= 0)
		close(dirfd);
	return count;
}

struct search {
	const struct elf_want *wants;
	size_t n, max_found;
};

static int symbol_cache_search(const void *ctx, int fd, struct elf_found **ret)
{
	const struct search *s = ctx;
	struct elf_file *ef;
	int err = elf_file_open(&ef, fd);

	if (err)
		return err;
	err = elf_symbols_find(ef, s->wants, s->n, s->max_found, ret);
	elf_file_close(ef);
	return err;
}

int symbol_cache_find(const char *dir, int fd, const struct elf_want *wants, size_t n,
		      size_t max_found, struct elf_found **ret)
{
	struct search s = {wants, n, max_found};

	return symbol_cache_ask(dir, fd, symbol_cache_sum_wants(wants, n), n, max_found,
				symbol_cache_search, &s, ret);
}
