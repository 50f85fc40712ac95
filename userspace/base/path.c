/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "userspace/base/helper.h"
#include "userspace/base/log.h"

#define ANSWER_MS     5000
#define LINKS_MAX     40 /* most symbolic links that are followed in a path, as in the kernel */
#define INPUT_SAID_MS 200
#define READ_BYTES    65536
#define FIFO_TURN_MS  20
#define WALK	      (O_PATH | O_CLOEXEC | O_NOFOLLOW)

/* State of opening a path, one component after the other */
struct walk {
	int at; /* descriptor of the folder that the walk has reached */
	char rest[PATH_MAX];
	char name[NAME_MAX + 1]; /* component of the path that is being entered */
	int links;
	void (*made)(int fd, int above);
	/* mode of the folders that are created if they are missing; 0: none are created */
	mode_t make;
};

static bool path_trusted_owner(uid_t uid)
{
	return !uid || uid == geteuid();
}

static bool path_in_proc(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/* Makes fd the folder that the walk has reached. fd -1: opening it failed, with the error in
 * errno. */
static int path_walk_to(struct walk *w, int fd)
{
	int err = fd < 0 ? -errno : 0;

	if (err)
		return err;
	if (w->at >= 0)
		close(w->at);
	w->at = fd;
	return 0;
}

static int path_walk_begin(struct walk *w, const char *path)
{
	w->at = -1;
	if (!*path)
		return -ENOENT;
	if (snprintf(w->rest, sizeof(w->rest), "%s", path) >= (int)sizeof(w->rest))
		return -ENAMETOOLONG;
	return path_walk_to(w, open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Takes the next component of the path into w->name. Returns 1: more components follow; 0: it is
 * the last; -errno. An empty name: the path ends with the folder w->at. */
static int path_walk_next(struct walk *w)
{
	const char *from = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(from, "/");
	const char *after = from + len + strspn(from + len, "/");

	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(w->name, from, len);
	w->name[len] = '\0';
	memmove(w->rest, after, strlen(after) + 1);
	return *w->rest != '\0';
}

/* Puts the target of the symbolic link fd at the beginning of the rest of the path. */
static int path_walk_link(struct walk *w, int fd)
{
	char target[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st))
		return -errno;
	if (!path_trusted_owner(st.st_uid) || ++w->links > LINKS_MAX)
		return -ELOOP;
	n = readlinkat(fd, "", target, sizeof(target));
	if (n < 0)
		return -errno;
	if ((size_t)n + strlen(w->rest) + 2 > sizeof(w->rest))
		return -ENAMETOOLONG;
	memmove(w->rest + n + 1, w->rest, strlen(w->rest) + 1);
	memcpy(w->rest, target, (size_t)n);
	w->rest[n] = w->rest[n + 1] ? '/' : '\0';
	return *w->rest == '/' ? path_walk_to(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) : 0;
}

/* Follows the link w->name in folder w->at. *ret_proc: the link is in /proc and can only be
 * followed by the kernel. */
static int path_walk_follow(struct walk *w, bool *ret_proc)
{
	int fd = openat(w->at, w->name, WALK), err = fd < 0 ? -errno : 0;
	struct stat st;

	*ret_proc = false;
	if (!err && fstat(fd, &st))
		err = -errno;
	else if (!err && !S_ISLNK(st.st_mode))
		err = -ENOTDIR;
	else if (!err && path_in_proc(fd))
		*ret_proc = true, err = path_trusted_owner(st.st_uid) ? 0 : -ELOOP;
	else if (!err)
		err = path_walk_link(w, fd);
	if (fd >= 0)
		close(fd);
	return err;
}

/* Enters the folder w->name in w->at, and creates it if w->make says so. */
static int path_walk_into(struct walk *w)
{
	int why = w->make && mkdirat(w->at, w->name, w->make) ? errno : 0, fd, err;
	bool proc;

	fd = openat(w->at, w->name, WALK | O_DIRECTORY);
	if (fd < 0 && errno == ENOENT && why)
		return -why;
	if (fd >= 0 && w->make && !why && w->made)
		w->made(fd, w->at);
	if (fd >= 0 || (errno != ENOTDIR && errno != ELOOP))
		return path_walk_to(w, fd);
	err = path_walk_follow(w, &proc);
	if (!err && proc)
		err = path_walk_to(w, openat(w->at, w->name, O_PATH | O_DIRECTORY | O_CLOEXEC));
	return err;
}

/* Enters the folder that contains the last component of the path. w->name is that component. */
static int path_walk_up_to_last(struct walk *w)
{
	int more;

	while ((more = path_walk_next(w)) > 0) {
		int err = path_walk_into(w);

		if (err)
			return err;
	}
	return more;
}

/* Checks that file fd in folder w->at may be written, by the rules in path.h. */
static int path_check_rules(const struct walk *w, int fd)
{
	struct stat st, dir;
	bool shared;

	if (fstat(fd, &st) || fstat(w->at, &dir))
		return -errno;
	shared = !path_trusted_owner(dir.st_uid) || dir.st_mode & 022;
	if (S_ISREG(st.st_mode) && st.st_nlink > 1 && shared)
		return -EMLINK;
	if (dir.st_mode & S_ISVTX && dir.st_mode & 022 && !path_trusted_owner(st.st_uid) &&
	    st.st_uid != dir.st_uid)
		return -ENOTUNIQ;
	return 0;
}

static int path_last_open(struct walk *w, int flags, mode_t mode)
{
	int fd = openat(w->at, *w->name ? w->name : ".", (flags & ~O_TRUNC) | O_NOFOLLOW, mode),
	    err;
	struct stat st;

	if (fd < 0)
		return -errno;
	err = path_check_rules(w, fd);
	if (!err && flags & O_TRUNC &&
	    (fstat(fd, &st) || (S_ISREG(st.st_mode) && st.st_size && ftruncate(fd, 0))))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Opens the path of w by the rules in path.h. Returns a descriptor or -errno. */
static int path_walk_open(struct walk *w, int flags, mode_t mode)
{
	bool proc = false;
	int err, fd;

	for (;;) {
		err = path_walk_up_to_last(w);
		if (err)
			return err;
		fd = path_last_open(w, flags, mode);
		if (fd >= 0 || flags & O_NOFOLLOW ||
		    (fd != -ELOOP && !(fd == -ENOTDIR && flags & O_DIRECTORY)))
			return fd;
		err = path_walk_follow(w, &proc);
		if (err)
			return err;
		if (proc) {
			fd = openat(w->at, w->name, flags, mode);
			return fd < 0 ? -errno : fd;
		}
	}
}

int path_open(const char *path, int flags, mode_t mode)
{
	struct walk w = {0};
	int fd;

	flags |= O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	if ((flags & O_ACCMODE) == O_RDONLY) {
		fd = open(path, flags, mode);
		return fd < 0 ? -errno : fd;
	}
	fd = path_walk_begin(&w, path);
	fd = fd ? fd : path_walk_open(&w, flags, mode);
	if (w.at >= 0)
		close(w.at);
	return fd;
}

int path_open_fifo(const char *path, int flags, mode_t mode, int wait_ms)
{
	int fd = path_open(path, flags, mode);

	for (; fd == -ENXIO && wait_ms > 0; wait_ms -= FIFO_TURN_MS) {
		poll(NULL, 0, FIFO_TURN_MS);
		fd = path_open(path, flags, mode);
	}
	return fd;
}

int path_open_input(const char *path)
{
	int fd = path_open(path, O_RDONLY, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || (S_ISFIFO(st.st_mode) && !poll(&p, 1, INPUT_SAID_MS))) {
		if (fd < 0)
			return fd;
		log_warn("%s: waiting for a process that writes to this FIFO", path);
		poll(&p, 1, -1);
	}
	fcntl(fd, F_SETFL, 0);
	return fd;
}

/* Reads from fd (with O_NONBLOCK) up to max bytes. wait_ms: limit for each part, see
 * path_read(). */
static int path_read_all(int fd, struct buffer *out, size_t max, int wait_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t from = out->len;
	ssize_t n = 1;
	char *at;

	while (n) {
		if (wait_ms && !poll(&p, 1, wait_ms))
			return -ETIMEDOUT;
		at = buffer_reserve(out, READ_BYTES);
		if (!at)
			return -ENOMEM;
		n = read(fd, at, READ_BYTES);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		out->len += n > 0 ? (size_t)n : 0;
		if (out->len - from > max)
			return -EFBIG;
	}
	return 0;
}

int path_read(const char *path, struct buffer *out, size_t max, int wait_ms)
{
	int fd = path_open(path, O_RDONLY, 0), err = 0;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		err = -errno;
	else if (S_ISDIR(st.st_mode))
		err = -EISDIR;
	else if (!S_ISREG(st.st_mode) && !wait_ms)
		err = -EINVAL;
	err = err ? err : path_read_all(fd, out, max, S_ISREG(st.st_mode) ? 0 : wait_ms);
	close(fd);
	return err;
}

/* Opens a folder; mode and made as for path_folder(). Returns a descriptor of O_PATH or -errno. */
static int path_folder_find(const char *path, mode_t mode, void (*made)(int fd, int above))
{
	struct walk w = {.make = mode, .made = made};
	int err = path_walk_begin(&w, path), more = 1;

	while (!err && more) {
		more = path_walk_next(&w);
		err = more < 0 ? more : *w.name ? path_walk_into(&w) : 0;
		/* if the last component was a link, w->rest now has the components of its target */
		more = *w.rest != '\0';
	}
	if (err && w.at >= 0)
		close(w.at);
	return err ? err : w.at;
}

int path_folder(const char *path, mode_t mode, void (*made)(int fd, int above))
{
	int at = path_folder_find(path, mode, made), fd;

	if (at < 0)
		return at;
	fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = fd < 0 ? -errno : fd;
	close(at);
	return fd;
}

int path_parent(const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];

	*ret_name = slash ? slash + 1 : path;
	if (!slash)
		return path_folder_find(".", 0, NULL);
	if (snprintf(folder, sizeof(folder), "%.*s", (int)(slash == path ? 1 : slash - path),
		     path) >= (int)sizeof(folder))
		return -ENAMETOOLONG;
	return path_folder_find(folder, 0, NULL);
}

int path_make(const char *path, mode_t mode)
{
	size_t len = strlen(path);
	char plain[PATH_MAX];
	const char *name;
	int at = path_folder_find(path, 0, NULL), err = 0;

	if (at >= 0)
		close(at);
	if (at != -ENOENT)
		return at < 0 ? at : 0;
	while (len > 1 && path[len - 1] == '/')
		len--;
	if (snprintf(plain, sizeof(plain), "%.*s", (int)len, path) >= (int)sizeof(plain))
		return -ENAMETOOLONG;
	at = path_parent(plain, &name);
	if (at < 0)
		return at;
	if (mkdirat(at, name, mode) && errno != EEXIST)
		err = -errno;
	close(at);
	return err;
}

static ssize_t path_answers_there(const void *arg, void *ret, size_t cap)
{
	const char *path = *(const char *const *)arg;
	struct stat st;
	int fd;

	(void)ret;
	(void)cap;
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		/* opening and closing a pipe would look like an end of file to the process at its
		 * other end */
		return 0;
	fd = path_open(path, O_RDONLY, 0);
	if (fd >= 0)
		close(fd);
	return 0;
}

int path_answers(const char *path)
{
	return (int)helper_once(path_answers_there, &path, sizeof(path), NULL, 0, ANSWER_MS) ==
			       -ETIMEDOUT
		       ? -ETIMEDOUT
		       : 0;
}

const char *path_why(int err)
{
	switch (err) {
	case -ELOOP:
		return "reached through a symbolic link of another user; name the link's target";
	case -EMLINK:
		return "has several names (hard links) in a folder that others may write; choose another name";
	case -ENOTUNIQ:
		return "created by another user in a folder that everyone may write; choose another name";
	case -ENXIO:
		return "no process reads from it (a FIFO?); start the reader first";
	case -ETIMEDOUT:
		return "its disk does not answer";
	default:
		return strerror(-err);
	}
}
