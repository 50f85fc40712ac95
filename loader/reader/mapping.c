/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loader/elf/elf_symbol.h"
#include "loader/reader/mapping.h"
#include "loader/loader.h"
#include "userspace/base/helper.h"
#include "userspace/base/buffer.h"
#include "userspace/base/clock.h"

/* Limit of the time for reading paths in one request, enough for a thousand paths. */
#define PATHS_NS 5000000ull
#define VMAS_MAX (MAPPING_HELPER_BYTES / sizeof(struct gp_vma))

static int mapping_vmas_read(int fd, struct buffer *out)
{
	const size_t chunk = 64 * sizeof(struct gp_vma);
	ssize_t n;
	char *at;

	do {
		at = buffer_reserve(out, chunk);
		if (!at)
			return -ENOMEM;
		n = read(fd, at, chunk);
		if (n > 0)
			out->len += (size_t)n;
	} while ((n > 0 && out->len < VMAS_MAX * sizeof(struct gp_vma)) ||
		 (n < 0 && errno == EAGAIN));
	return n < 0 ? -errno : 0;
}

static int mapping_list_by_iterator(int program_fd, pid_t pid, struct buffer *out)
{
	union bpf_iter_link_info info = {.task.pid = (uint32_t)pid};
	LIBBPF_OPTS(bpf_link_create_opts, opts, .iter_info = &info, .iter_info_len = sizeof(info));
	int link = bpf_link_create(program_fd, 0, BPF_TRACE_ITER, &opts), fd, err;

	if (link < 0)
		return link;
	fd = bpf_iter_create(link);
	err = fd < 0 ? fd : mapping_vmas_read(fd, out);
	if (fd >= 0)
		close(fd);
	close(link);
	return err;
}

bool mapping_parse(const char *line, struct gp_vma *ret)
{
	unsigned long start, end, offset, ino;
	unsigned int major, minor;
	char perms[5];

	if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu", &start, &end, perms, &offset, &major, &minor,
		   &ino) != 7 ||
	    strlen(perms) != 4 || perms[2] != 'x' || !ino)
		return false;
	*ret = (struct gp_vma){
		.dev = (uint64_t)major << 20 | minor,
		.ino = ino,
		.start = start,
		.end = end,
		.page = offset / (unsigned long)sysconf(_SC_PAGESIZE),
	};
	return true;
}

static int mapping_list_by_maps(pid_t pid, struct buffer *out)
{
	struct gp_vma vma;
	size_t room = 0;
	char path[64], *line = NULL;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	while (getline(&line, &room, f) > 0 && out->len < VMAS_MAX * sizeof(vma))
		if (mapping_parse(line, &vma))
			buffer_add(out, &vma, sizeof(vma));
	free(line);
	fclose(f);
	return 0;
}

static int mapping_list_vmas(int program_fd, pid_t pid, struct gp_vma **ret)
{
	struct buffer out = {0};
	int err = program_fd >= 0 ? mapping_list_by_iterator(program_fd, pid, &out)
				  : mapping_list_by_maps(pid, &out);

	if (!err && out.failed)
		err = -ENOMEM;
	if (!err && !out.len && kill(pid, 0) && errno == ESRCH)
		err = -ESRCH; /* the iterator returns nothing for a process that is gone */
	if (err) {
		buffer_free(&out);
		return err;
	}
	*ret = (struct gp_vma *)out.data; /* malloc'd, so aligned for anything */
	return (int)(out.len / sizeof(struct gp_vma));
}

const struct gp_vma *mapping_at(const struct gp_vma *vmas, int n, uint64_t address,
				uint64_t *ret_offset)
{
	for (int i = 0; i < n; i++) {
		if (address < vmas[i].start || address >= vmas[i].end)
			continue;
		*ret_offset = vmas[i].page * (uint64_t)sysconf(_SC_PAGESIZE) +
			      (address - vmas[i].start);
		return &vmas[i];
	}
	return NULL;
}

int mapping_list(const struct bpf_program *vmas, pid_t pid, struct gp_vma **ret)
{
	return mapping_list_vmas(vmas ? bpf_program__fd(vmas) : -1, pid, ret);
}

static void mapping_map_file_name(char name[80], pid_t pid, const struct gp_vma *vma)
{
	snprintf(name, 80, "/proc/%d/map_files/%lx-%lx", pid, (unsigned long)vma->start,
		 (unsigned long)vma->end);
}

/* Reads the path of a mapping from its line in /proc/PID/maps, for when map_files is not
 * accessible. */
static int mapping_path_from_maps(pid_t pid, const struct gp_vma *vma, char *path, size_t len)
{
	char name[64], *line = NULL, *at;
	size_t room = 0;
	unsigned long start;
	int err = -ENOENT;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	f = fopen(name, "re");
	if (!f)
		return -errno;
	while (err && getline(&line, &room, f) > 0) {
		if (sscanf(line, "%lx-", &start) != 1 || start != vma->start)
			continue;
		at = strchr(line, '/');
		if (!at)
			break;
		at[strcspn(at, "\n")] = 0;
		snprintf(path, len, "%s", at);
		err = 0;
	}
	free(line);
	fclose(f);
	return err;
}

/* Strips " (deleted)" from a path. Returns true if the path had that suffix. */
static bool mapping_path_deleted(char *path)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(path), end = sizeof(deleted) - 1;

	if (len <= end || strcmp(path + len - end, deleted) != 0)
		return false;
	path[len - end] = 0;
	return true;
}

static int mapping_path_read(pid_t pid, const struct gp_vma *vma, char *path, size_t len)
{
	char name[80];
	ssize_t n;

	mapping_map_file_name(name, pid, vma);
	n = readlink(name, path, len - 1);
	if (n < 0)
		return mapping_path_from_maps(pid, vma, path, len);
	path[n] = 0;
	return 0;
}

/* Appends "/" and the soname to the path of a file in memory. A file that is not a library is left
 * unchanged. */
static void mapping_path_add_soname(pid_t pid, const struct gp_vma *vma, char *path, size_t len)
{
	struct elf_file *ef = NULL;
	size_t end = strlen(path);
	bool by_path = false;
	int path_fd = mapping_name(pid, vma, path, &by_path), fd;

	if (path_fd == -ENOLINK && end + 1 < len)
		snprintf(path + end, len - end, "/");
	if (path_fd < 0)
		return;
	fd = mapping_reopen(path_fd);
	if (fd >= 0 && !elf_file_open(&ef, fd) && end + 1 < len) {
		snprintf(path + end, len - end, "/");
		if (elf_file_soname(ef, path + end + 1, len - end - 1) ||
		    strchr(path + end + 1, '/'))
			path[end + 1] = 0;
	}
	elf_file_close(ef);
	if (fd >= 0)
		close(fd);
	close(path_fd);
}

int mapping_path(pid_t pid, const struct gp_vma *vma, char *path, size_t len)
{
	int err = mapping_path_read(pid, vma, path, len);

	if (!err && mapping_path_deleted(path) && mapping_in_memory(path))
		mapping_path_add_soname(pid, vma, path, len);
	return err;
}

const char *mapping_base(char *path)
{
	char *slash = strrchr(path, '/');
	const char *base;

	if (slash && !slash[1] &&
	    mapping_in_memory(path)) { /* it has no soname: use the name given by its creator */
		*slash = 0;
		slash = strrchr(path, '/');
	}
	base = slash ? slash + 1 : path;
	return base == path + 1 && mapping_in_memory(path) ? path + strlen("/memfd:") : base;
}

int loader_memory_name(pid_t pid, const char *line, char *name, size_t len)
{
	char path[PATH_MAX];
	struct gp_vma vma;
	const char *base;
	int err;

	if (!mapping_parse(line, &vma))
		return -ENOENT;
	err = mapping_path(pid, &vma, path, sizeof(path));
	if (err)
		return err;
	if (!mapping_in_memory(path))
		return -ENOENT;
	base = mapping_base(path);
	if (strlen(base) >= len)
		return -ENOENT;
	memcpy(name, base, strlen(base) + 1);
	return 0;
}

/* ---- in the helper process ------------------------------------------------------------------- */

struct ask {
	pid_t pid;
	int program_fd;
	struct gp_vma vma;
};

static ssize_t mapping_list_there(const void *arg, void *ret, size_t cap)
{
	const struct ask *ask = arg;
	struct gp_vma *vmas = NULL;
	int n = mapping_list_vmas(ask->program_fd, ask->pid, &vmas);
	size_t len;

	if (n < 0 || !vmas)
		return n;
	len = (size_t)n * sizeof(*vmas);
	len = len < cap ? len : cap - cap % sizeof(*vmas);
	memcpy(ret, vmas, len);
	free(vmas);
	return (ssize_t)len;
}

int mapping_list_by_helper(struct helper *a, const struct bpf_program *vmas, pid_t pid,
			   struct gp_vma **ret)
{
	struct ask ask = {.pid = pid, .program_fd = vmas ? HELPER_KEPT_FD : -1};
	const void *answer;
	struct gp_vma *list;
	ssize_t len;

	if (!a)
		return mapping_list(vmas, pid, ret);
	len = helper_call(a, mapping_list_there, &ask, sizeof(ask), &answer);
	if (len < 0)
		return (int)len;
	list = malloc((size_t)len + 1);
	if (!list)
		return -ENOMEM;
	memcpy(list, answer, (size_t)len);
	*ret = list;
	return (int)((size_t)len / sizeof(*list));
}

static ssize_t mapping_path_there(const void *arg, void *ret, size_t cap)
{
	const struct ask *ask = arg;
	int err = mapping_path(ask->pid, &ask->vma, ret, cap < PATH_MAX ? cap : PATH_MAX);

	return err ? err : (ssize_t)strlen(ret) + 1;
}

int mapping_path_by_helper(struct helper *a, pid_t pid, const struct gp_vma *vma, char *path,
			   size_t len)
{
	struct ask ask = {.pid = pid, .vma = *vma};
	const void *answer;
	ssize_t n;

	if (!a)
		return mapping_path(pid, vma, path, len);
	n = helper_call(a, mapping_path_there, &ask, sizeof(ask), &answer);
	if (n < 0)
		return (int)n;
	snprintf(path, len, "%s", (const char *)answer);
	return 0;
}

static ssize_t mapping_paths_there(const void *arg, void *ret, size_t cap)
{
	const struct ask *ask = arg;
	struct gp_vma *vmas = NULL;
	int n = mapping_list_vmas(ask->program_fd, ask->pid, &vmas);
	uint64_t until_ns = clock_mono_ns() + PATHS_NS;
	char *out = ret;
	size_t len = 0;

	for (int i = 0; vmas && i < n && cap - len > sizeof(uint64_t) + PATH_MAX; i++) {
		char *path = out + len + sizeof(uint64_t);

		if (clock_mono_ns() > until_ns)
			break;
		if ((i && mapping_same_file(&vmas[i], &vmas[i - 1])) ||
		    mapping_path(ask->pid, &vmas[i], path, PATH_MAX))
			continue;
		memcpy(out + len, &vmas[i].start, sizeof(uint64_t));
		len += sizeof(uint64_t) + strlen(path) + 1;
	}
	free(vmas);
	return n < 0 ? n : (ssize_t)len;
}

int mapping_paths_by_helper(struct helper *a, const struct bpf_program *vmas, pid_t pid,
			    struct mapping_paths *ret)
{
	struct ask ask = {.pid = pid, .program_fd = vmas ? HELPER_KEPT_FD : -1};
	const void *answer;
	ssize_t len = a ? helper_call(a, mapping_paths_there, &ask, sizeof(ask), &answer) : -ENOSYS;

	*ret = (struct mapping_paths){0};
	if (len < 0)
		return (int)len;
	ret->data = malloc((size_t)len + 1);
	if (!ret->data)
		return -ENOMEM;
	memcpy(ret->data, answer, (size_t)len);
	ret->len = (size_t)len;
	return 0;
}

static uint64_t mapping_paths_start(const struct mapping_paths *p)
{
	uint64_t start = UINT64_MAX;

	if (p->at < p->len)
		memcpy(&start, p->data + p->at, sizeof(start));
	return start;
}

const char *mapping_paths_get(struct mapping_paths *p, uint64_t start)
{
	if (mapping_paths_start(p) > start)
		p->at = 0;
	while (mapping_paths_start(p) < start)
		p->at += sizeof(start) + strlen(p->data + p->at + sizeof(start)) + 1;
	return p->at < p->len && mapping_paths_start(p) == start ? p->data + p->at + sizeof(start)
								 : NULL;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

/* Opens a path inside the process's root directory; symbolic links cannot lead out of it, and the
 * last component may not be one. */
static int mapping_open_by_path(pid_t pid, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	char root[32];
	int fd, dir;

	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	if (fd < 0)
		fd = -errno;
	close(dir);
	return fd;
}

/* Checks that the file is a regular one before it is opened, as opening a device may have effects.
 */
int mapping_reopen(int path_fd)
{
	char name[32];
	struct stat st;
	int fd;

	if (fstat(path_fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int mapping_name(pid_t pid, const struct gp_vma *vma, const char *path, bool *ret_by_path)
{
	char name[80], now[PATH_MAX];
	int fd;

	mapping_map_file_name(name, pid, vma);
	fd = open(name, O_PATH | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	*ret_by_path = fd == -EPERM || fd == -EACCES;
	if (!*ret_by_path)
		return fd;
	if (!mapping_path_read(pid, vma, now, sizeof(now)) && mapping_path_deleted(now))
		return -ENOLINK;
	return mapping_open_by_path(pid, path);
}
