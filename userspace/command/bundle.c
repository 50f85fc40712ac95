/* SPDX-License-Identifier: Apache-2.0 */
/* bundle.c - adds texts to a bug report in memory, and runs programs whose output it includes. */
#include "userspace/command/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/base/clock.h"

#define PATHS	  "/usr/sbin:/usr/bin:/sbin:/bin"
#define NS_PER_MS 1000000ull

extern char **environ;

static size_t bundle_masked_of(struct bundle *b, struct buffer *out, enum bundle_kind kind,
			       const char *text, size_t len)
{
	switch (kind) {
	case BUNDLE_OWN:
		buffer_add(out, text, len);
		return 0;
	case BUNDLE_JSON:
	case BUNDLE_JOBS:
		return mask_json(b->mask, out, text, len, kind == BUNDLE_JOBS);
	case BUNDLE_METRICS:
		return mask_metrics(b->mask, out, text, len);
	case BUNDLE_CONFIG:
		return mask_config(b->mask, out, text, len);
	default:
		return mask_text(b->mask, out, text, len);
	}
}

void bundle_put(struct bundle *b, const char *name, enum bundle_kind kind, const char *from,
		const char *note, const struct buffer *text)
{
	struct bundle_file *f = &b->files[b->count];
	size_t room = BUNDLE_BYTES - b->bytes;

	if (b->count == BUNDLE_FILES)
		return;
	b->count++;
	f->name = name;
	snprintf(f->from, sizeof(f->from), "%s", from);
	snprintf(f->note, sizeof(f->note), "%s", note ? note : "");
	if (text && text->data)
		f->masked = bundle_masked_of(b, &f->text, kind, text->data, text->len);
	room = room < BUNDLE_FILE_BYTES ? room : BUNDLE_FILE_BYTES;
	if (f->text.len > room) {
		f->text.len = room;
		snprintf(f->note, sizeof(f->note), "cut at %zu bytes", room);
	}
	b->bytes += f->text.len;
}

void bundle_free(struct bundle *b)
{
	while (b->count)
		buffer_free(&b->files[--b->count].text);
	mask_free(b->mask);
}

/* ---- other programs -------------------------------------------------------------------------- */

static int bundle_start(pid_t *ret, char *const argv[], const int ends[2])
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	char path[256], dirs[] = PATHS, *rest = NULL;
	int err = ENOENT;

	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, ends[0], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
	if (strchr(argv[0], '/'))
		err = posix_spawn(ret, argv[0], &files, &attr, argv, environ);
	for (char *dir = strtok_r(dirs, ":", &rest); dir && err == ENOENT && !strchr(argv[0], '/');
	     dir = strtok_r(NULL, ":", &rest)) {
		snprintf(path, sizeof(path), "%s/%s", dir, argv[0]);
		err = posix_spawn(ret, path, &files, &attr, argv, environ);
	}
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return -err;
}

/* Appends to `to` the bytes that can be read from fd without waiting. Returns false at the end of
 * the stream. */
static bool bundle_take(struct buffer *to, int fd)
{
	char part[65536];
	ssize_t n = read(fd, part, sizeof(part));

	if (n > 0 && to->len < BUNDLE_FILE_BYTES)
		buffer_add(to, part, (size_t)n);
	return n > 0 || (n < 0 && errno == EINTR);
}

static int bundle_listen_to(struct buffer *out, struct buffer *err, const int from[2],
			    uint64_t until_ns)
{
	struct pollfd fds[] = {{.fd = from[0], .events = POLLIN},
			       {.fd = from[1], .events = POLLIN}};

	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		uint64_t now_ns = clock_mono_ns();

		if (now_ns >= until_ns)
			return -ETIME;
		if (poll(fds, 2, (int)((until_ns - now_ns) / NS_PER_MS + 1)) < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < 2; i++)
			if (fds[i].fd >= 0 && fds[i].revents &&
			    !bundle_take(i ? err : out, fds[i].fd))
				fds[i].fd = -1;
	}
	return 0;
}

int bundle_run(struct buffer *out, struct buffer *err, char *const argv[], unsigned limit_ms)
{
	int says[2] = {-1, -1}, complains[2] = {-1, -1}, status = 0, failed;
	pid_t pid = 0;

	failed = pipe2(says, O_CLOEXEC) || pipe2(complains, O_CLOEXEC) ? -errno : 0;
	if (!failed)
		failed = bundle_start(&pid, argv, (const int[]){says[1], complains[1]});
	if (says[1] >= 0)
		close(says[1]);
	if (complains[1] >= 0)
		close(complains[1]);
	if (!failed) {
		failed = bundle_listen_to(out, err, (const int[]){says[0], complains[0]},
					  clock_mono_ns() + limit_ms * NS_PER_MS);
		if (failed)
			kill(-pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	if (says[0] >= 0)
		close(says[0]);
	if (complains[0] >= 0)
		close(complains[0]);
	return failed ? failed : WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}
