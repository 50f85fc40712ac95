/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/maps_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "loader/loader.h"
#include "loader/probe/probe_file.h"
#include "userspace/base/helper.h"
#include "userspace/base/clock.h"
#include "userspace/base/proc_file.h"

/* Size of the buffer for /proc/PID/maps in bytes; a read returns one page at most. */
#define CHUNK	   32768
#define NAME_BYTES 256
/* Limit of bytes read from the maps of one process: 65530 mappings with paths of 1 KiB. */
#define MAPS_MAX (64u << 20)
/* Limit of CPU time of one request: once it is used up, no further process is scanned. */
#define ASK_NS 8000000ull

/* Limit of memory files (memfd) of a process that are opened to read their names */
#define MEMORY_MAX 256

struct scan { /* scan of one process */
	const struct probe_names *names;
	pid_t pid; /* 0: a process of another machine (--root), whose files cannot be opened */
	unsigned int opened;
};

/* Returns true if a memory file (memfd) is a known library by its soname. line: a line of
 * /proc/PID/maps, ends with NUL. */
static bool maps_scan_memory_is_ours(struct scan *l, const char *line)
{
	char name[NAME_BYTES];

	if (!l->pid || l->opened == MEMORY_MAX)
		return false;
	l->opened++;
	return !loader_memory_name(l->pid, line, name, sizeof(name)) &&
	       probe_names_have(l->names, name);
}

/* Returns true if the mapping is executable and its file is a known library. line: "start-end r-xp
 * offset dev inode   /path/libx.so (deleted)". */
static bool maps_scan_line_is_ours(struct scan *l, char *line, size_t len)
{
	static const char deleted[] = " (deleted)", memory[] = "/memfd:";
	const size_t gone = sizeof(deleted) - 1;
	const char *perms = memchr(line, ' ', len), *slash;
	char name[NAME_BYTES];
	size_t n;

	if (!perms || (size_t)(perms - line) + 5 > len || perms[3] != 'x')
		return false;
	line[len] = '\0';
	slash = memchr(line, '/', len);
	if (slash && !strncmp(slash, memory, strlen(memory)))
		return perms[4] == 'p' && maps_scan_memory_is_ours(l, line);
	if (len > gone && !memcmp(line + len - gone, deleted, gone))
		len -= gone;
	slash = memrchr(line, '/', len);
	n = slash ? len - (size_t)(slash + 1 - line) : 0;
	if (!n || n >= sizeof(name))
		return false;
	memcpy(name, slash + 1, n);
	name[n] = '\0';
	return probe_names_have(l->names, name);
}

/* Checks the complete lines in text for known libraries; moves the incomplete rest to the beginning
 * of text, and returns its length. */
static size_t maps_scan_lines_take(struct scan *l, char *text, size_t len, bool *ours)
{
	size_t at = 0;
	char *end;

	while (!*ours && (end = memchr(text + at, '\n', len - at))) {
		*ours = maps_scan_line_is_ours(l, text + at, (size_t)(end - text) - at);
		at = (size_t)(end - text) + 1;
	}
	memmove(text, text + at, len - at);
	return len - at;
}

enum maps_answer maps_read(const struct probe_names *names, const char *root, pid_t pid)
{
	struct scan scan = {.names = names, .pid = *root ? 0 : pid};
	char text[CHUNK + PATH_MAX + 256];
	int fd = proc_open(root, pid, "maps", O_RDONLY);
	size_t len = 0, total = 0;
	bool ours = false;
	ssize_t n;

	if (fd < 0)
		return MAPS_OTHER;
	while (!ours && total < MAPS_MAX &&
	       (n = proc_read(fd, text + len, sizeof(text) - len)) > 0) {
		len = maps_scan_lines_take(&scan, text, len + (size_t)n, &ours);
		total += (size_t)n;
		if (len == sizeof(text))
			len = 0; /* a line that fills the buffer is not valid: skip it */
	}
	close(fd);
	return ours ? MAPS_OURS : MAPS_OTHER;
}

struct ask {
	const struct probe_names *names;
	const char *root;
	uint32_t n;
	pid_t pid[MAPS_BATCH];
};
_Static_assert(sizeof(struct ask) <= HELPER_ARG_MAX, "one question");

static ssize_t maps_there(const void *arg, void *ret, size_t cap)
{
	const struct ask *ask = arg;
	unsigned char *answer = ret;
	uint64_t until_ns = clock_thread_ns() + ASK_NS;
	uint32_t n = 0;

	while (n < ask->n && n < cap && (!n || clock_thread_ns() < until_ns)) {
		answer[n] = (unsigned char)maps_read(ask->names, ask->root, ask->pid[n]);
		n++;
	}
	return n;
}

/* Sends a batch of processes to the helper process. Returns how many of pids got an answer, or
 * -errno. */
static ssize_t maps_ask(struct helper *a, struct ask *ask, const pid_t *pids, size_t n,
			enum maps_answer *ret)
{
	const unsigned char *answer;
	const void *at;
	ssize_t got;

	ask->n = (uint32_t)n;
	memcpy(ask->pid, pids, n * sizeof(*pids));
	got = helper_call(a, maps_there, ask, sizeof(*ask), &at);
	answer = at;
	for (ssize_t i = 0; i < got; i++)
		ret[i] = answer[i] == MAPS_OURS ? MAPS_OURS : MAPS_OTHER;
	return got;
}

/* If the helper process does not answer for a batch, each process is read alone, and the one that
 * blocks gets MAPS_LOCKED. */
size_t maps_scan(struct helper *a, const struct probe_names *names, const char *root,
		 const pid_t *pids, size_t n, enum maps_answer *ret)
{
	struct ask ask = {.names = names, .root = root};
	ssize_t got = maps_ask(a, &ask, pids, n, ret);

	if (got >= 0)
		return (size_t)got;
	for (size_t i = 0; i < n; i++) {
		got = maps_ask(a, &ask, &pids[i], 1, &ret[i]);
		if (got == -EBUSY)
			return i;
		if (got < 0)
			ret[i] = MAPS_LOCKED;
	}
	return n;
}
