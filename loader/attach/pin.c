/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/attach/pin.h"
#include "loader/attach/parallel.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "userspace/base/hash.h"
#include "userspace/base/log.h"

#define BPF_MOUNT "/sys/fs/bpf"
/* Attempts to lock the folder, and milliseconds between them: reader processes of a killed gp-bpf
 * hold the lock a little longer than gp-bpf */
#define LOCK_TRIES   200
#define LOCK_POLL_MS 10
#define MAKE_TRIES   100

/* A pin of the folder */
struct pin {
	char name[PIN_NAME_MAX];
	bool waiting; /* the pin existed at the start and has not been claimed */
};

/* The pins of one state directory */
struct pins {
	char dir[64];
	struct pin *list;
	size_t count, room;
	/* Descriptor of dir, locked while this process runs. The lock of the state directory does
	 * not suffice: that directory can be removed and created again */
	int folder;
};

int pins_mount(void)
{
	struct statfs fs;
	int err;

	if (!statfs(BPF_MOUNT, &fs) && fs.f_type == BPF_FS_MAGIC)
		return 0;
	if (!mount("bpf", BPF_MOUNT, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700"))
		return 0;
	err = -errno;
	log_error("--durable: no BPF file system at " BPF_MOUNT
		  ", and mounting it failed: %s; mount -t bpf bpf " BPF_MOUNT,
		  strerror(-err));
	return err;
}

static struct pin *pin_find(const struct pins *p, const char *name)
{
	for (size_t i = 0; i < p->count; i++)
		if (!strcmp(p->list[i].name, name))
			return &p->list[i];
	return NULL;
}

static int pin_note(struct pins *p, const char *name, bool waiting)
{
	size_t room = p->room ? p->room * 2 : 64;
	struct pin *list;

	if (p->count == p->room) {
		list = reallocarray(p->list, room, sizeof(*list));
		if (!list)
			return -ENOMEM;
		p->list = list;
		p->room = room;
	}
	p->list[p->count] = (struct pin){.waiting = waiting};
	snprintf(p->list[p->count++].name, PIN_NAME_MAX, "%s", name);
	return 0;
}

static int pins_list(struct pins *p)
{
	DIR *d = opendir(p->dir);
	struct dirent *e;
	int err = 0;

	if (!d)
		return -errno;
	while (!err && (e = readdir(d)))
		if (e->d_name[0] != '.' && strlen(e->d_name) < PIN_NAME_MAX)
			err = pin_note(p, e->d_name, true);
	closedir(d);
	return err;
}

static void pin_folder(const char *state_dir, char dir[64])
{
	snprintf(dir, 64, PIN_ROOT "/%016lx",
		 (unsigned long)hash_bytes(HASH_START, state_dir, strlen(state_dir)));
}

/* Refuses a folder that others can write to: they could make gp-bpf use any map. */
static int pins_folder_ours(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return -errno;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022) ? 0 : -EACCES;
}

static int pins_folder_make(const char *path)
{
	return mkdir(path, 0700) && errno != EEXIST ? -errno : pins_folder_ours(path);
}

/* Makes PIN_ROOT and dir. Retries if another gp-bpf removes the empty PIN_ROOT between the two
 * steps, as it does when it ends. */
static int pins_folders_make(const char *dir)
{
	int err, tries = MAKE_TRIES;

	do {
		err = pins_folder_make(PIN_ROOT);
		err = err ? err : pins_folder_make(dir);
	} while (err == -ENOENT && --tries);
	return err;
}

static int pins_open_dir(struct pins **ret, const char *dir)
{
	struct pins *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	snprintf(p->dir, sizeof(p->dir), "%s", dir);
	p->folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	err = p->folder < 0 ? -errno : pins_list(p);
	if (err) {
		pins_close(p);
		return err;
	}
	*ret = p;
	return 0;
}

static bool pins_lock(const struct pins *p, int tries)
{
	while (flock(p->folder, LOCK_EX | LOCK_NB)) {
		if (!--tries)
			return false;
		poll(NULL, 0, LOCK_POLL_MS);
	}
	return true;
}

bool pins_busy(const struct pins *p)
{
	return !pins_lock(p, 1);
}

int pins_open(struct pins **ret, const char *state_dir)
{
	struct pins *p = NULL;
	char dir[64];
	int err = pins_mount();

	if (err)
		return err;
	pin_folder(state_dir, dir);
	err = pins_folders_make(dir);
	err = err ? err : pins_open_dir(&p, dir);
	if (err) {
		log_error("--durable: %s: %s", dir, strerror(-err));
		return err;
	}
	if (!pins_lock(p, LOCK_TRIES)) {
		log_error(
			"--durable: another gp-bpf still uses %s, but does not hold the lock in %s; stop it first",
			dir, state_dir);
		pins_close(p);
		return -EBUSY;
	}
	*ret = p;
	return 0;
}

void pins_close(struct pins *p)
{
	if (!p)
		return;
	if (p->folder >= 0)
		close(p->folder);
	free(p->list);
	free(p);
}

static void pin_path(const struct pins *p, const char *name, char path[192])
{
	snprintf(path, 192, "%s/%s", p->dir, name);
}

int pins_claim(struct pins *p, const char *name)
{
	struct pin *pin = pin_find(p, name);
	char path[192];
	int fd;

	if (!pin)
		return -ENOENT;
	pin_path(p, name, path);
	fd = bpf_obj_get(path);
	if (fd >= 0)
		pin->waiting = false;
	return fd < 0 ? -errno : fd;
}

int pins_peek(const char *state_dir, const char *name)
{
	char dir[64], path[192];
	int fd, err = pins_folder_ours(PIN_ROOT);

	pin_folder(state_dir, dir);
	err = err ? err : pins_folder_ours(dir);
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = bpf_obj_get(path);
	return fd < 0 ? -errno : fd;
}

static void pin_forget(struct pins *p, const char *name)
{
	struct pin *pin = pin_find(p, name);

	if (pin)
		*pin = p->list[--p->count];
}

int pins_put(struct pins *p, const char *name, int fd)
{
	char path[192], fresh[200];
	int err = 0;

	pin_path(p, name, path);
	snprintf(fresh, sizeof(fresh), "%s+", path);
	unlink(fresh);
	/* Pinned under a temporary name and renamed, so that the name always refers to the old
	 * object or the new one. */
	if (bpf_obj_pin(fd, fresh) || rename(fresh, path))
		err = -errno;
	pin_forget(p, name);
	if (!err)
		err = pin_note(p, name, false);
	if (err) {
		unlink(fresh);
		unlink(path);
	}
	return err;
}

void pins_remove(struct pins *p, const char *name)
{
	char path[192];

	if (!pin_find(p, name))
		return;
	pin_path(p, name, path);
	unlink(path);
	pin_forget(p, name);
}

size_t pins_waiting(const struct pins *p, const char *prefix)
{
	size_t n = 0;

	for (size_t i = 0; i < p->count; i++)
		n += p->list[i].waiting && !strncmp(p->list[i].name, prefix, strlen(prefix));
	return n;
}

typedef char pin_path_text[192];

static void pins_path_unlink(void *ctx, size_t i)
{
	/* The descriptor is closed after unlink(), as the last reference to the link: close() then
	 * waits until the link is gone (bpf_link_put_direct()). If unlink() dropped the last
	 * reference, a kernel worker would close the link later (bpf_link_put()). */
	const pin_path_text *paths = ctx;
	int fd = bpf_obj_get(paths[i]);

	unlink(paths[i]);
	if (fd >= 0)
		close(fd);
}

/* Removes the unclaimed pins whose names begin with prefix; if `but` is set, those whose names do
 * not begin with it. all: also removes claimed pins. */
static void pins_drop(struct pins *p, const char *prefix, bool all, bool but)
{
	pin_path_text *paths = calloc(p->count + 1, sizeof(*paths));
	size_t kept = 0, dropped = 0;

	for (size_t i = 0; paths && i < p->count; i++) {
		struct pin *pin = &p->list[i];

		if ((all || pin->waiting) && but == !!strncmp(pin->name, prefix, strlen(prefix)))
			pin_path(p, pin->name, paths[dropped++]);
		else
			p->list[kept++] = *pin;
	}
	if (paths)
		p->count = kept;
	parallel_each(dropped, pins_path_unlink, NULL, paths);
	free(paths);
}

void pins_drop_waiting(struct pins *p, const char *prefix)
{
	pins_drop(p, prefix, false, false);
}

void pins_drop_waiting_but(struct pins *p, const char *prefix)
{
	pins_drop(p, prefix, false, true);
}

void pins_clear(struct pins *p)
{
	pins_drop(p, "", true, false);
	rmdir(p->dir);
	rmdir(PIN_ROOT); /* has no effect while another folder exists */
}

int pins_each(pins_each_fn *fn, void *ctx)
{
	DIR *d = opendir(PIN_ROOT);
	struct dirent *e;
	struct pins *p;
	char dir[64];
	int n = 0;

	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.' || strlen(e->d_name) > 32)
			continue;
		snprintf(dir, sizeof(dir), PIN_ROOT "/%.32s", e->d_name);
		if (pins_open_dir(&p, dir))
			continue;
		fn(ctx, p, dir);
		pins_close(p);
		n++;
	}
	closedir(d);
	return n;
}
