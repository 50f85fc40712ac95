/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/identity/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/table.h"

#define PATH_BYTES	   4096
#define STAT_BYTES	   1024
#define COMMAND_BYTES	   4096
#define ENVIRON_CHUNK	   (64 << 10)
#define ENVIRON_BYTES	   (1 << 20) /* a process may have more; what launchers set stands well before that */
#define ENTRY_BYTES	   256	     /* of one NAME=value kept */
#define DESCENDANTS_MAX	   65536
#define DESCENDANTS_ROUNDS 8

/* Facts that the environment tells, and the names that tell them, most trusted first. */
static const struct {
	const char *name;
	size_t field;
} int_names[] = {
	{"RANK", offsetof(struct gp_process, rank)},
	{"OMPI_COMM_WORLD_RANK", offsetof(struct gp_process, rank)},
	{"SLURM_PROCID", offsetof(struct gp_process, rank)},
	{"PMI_RANK", offsetof(struct gp_process, rank)},
	{"WORLD_SIZE", offsetof(struct gp_process, world_size)},
	{"OMPI_COMM_WORLD_SIZE", offsetof(struct gp_process, world_size)},
	{"SLURM_NTASKS", offsetof(struct gp_process, world_size)},
	{"PMI_SIZE", offsetof(struct gp_process, world_size)},
	{"LOCAL_RANK", offsetof(struct gp_process, local_rank)},
	{"OMPI_COMM_WORLD_LOCAL_RANK", offsetof(struct gp_process, local_rank)},
	{"SLURM_LOCALID", offsetof(struct gp_process, local_rank)},
	{"MPI_LOCALRANKID", offsetof(struct gp_process, local_rank)},
};
static const char *const job_names[] = {"TORCHELASTIC_RUN_ID", "SLURM_JOB_ID"};

#define INT_NAMES (sizeof(int_names) / sizeof(int_names[0]))
#define JOB_NAMES (sizeof(job_names) / sizeof(job_names[0]))

struct environment {
	int32_t ints[INT_NAMES]; /* -1: not seen */
	char jobs[JOB_NAMES][64];
	char entry[ENTRY_BYTES];
	size_t entry_len; /* of the entry so far; its tail beyond ENTRY_BYTES is not kept */
};

static int process_error(int err)
{
	switch (err) {
	case ENOENT:
	case ESRCH:
		return -ESRCH;
	case EACCES:
	case EPERM:
		return -EACCES;
	default:
		return -err;
	}
}

static int process_open(const char *root, pid_t pid, const char *name, int flags)
{
	char path[PATH_BYTES];
	int fd, len = snprintf(path, sizeof(path), "%s/proc/%d%s%s", root, (int)pid, *name ? "/" : "", name);

	if (len < 0 || (size_t)len >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? process_error(errno) : fd;
}

static ssize_t read_again(int fd, void *buf, size_t len)
{
	ssize_t n;

	do {
		n = read(fd, buf, len);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? process_error(errno) : n;
}

/* The beginning of a small file, NUL-terminated. Returns its bytes or -errno. */
static ssize_t process_slurp(const char *root, pid_t pid, const char *name, char *buf, size_t cap)
{
	int fd = process_open(root, pid, name, O_RDONLY);
	ssize_t n = 0, len = 0;

	if (fd < 0)
		return fd;
	while ((size_t)len < cap - 1) {
		n = read_again(fd, buf + len, cap - 1 - (size_t)len);
		if (n <= 0)
			break;
		len += n;
	}
	close(fd);
	buf[len] = '\0';
	return n < 0 ? n : len;
}

struct stat_line {
	char comm[64];
	uint32_t parent;
	uint64_t start_ns;
};

/* proc(5): pid (comm) state ppid ... starttime, the 22nd. comm may hold anything, ")" and newlines too,
 * but nothing after it does: the last ")" is its end. */
static int parse_stat(char *line, struct stat_line *ret)
{
	char *open = strchr(line, '('), *close = strrchr(line, ')'), *at, *end;
	long hz = sysconf(_SC_CLK_TCK);
	unsigned long long value = 0;
	struct stat_line s;

	if (!open || !close || close < open || hz <= 0)
		return -EBADMSG;
	log_escape(s.comm, sizeof(s.comm), open + 1, (size_t)(close - open - 1));
	at = close + 1;
	at += strspn(at, " ");
	if (!*at)
		return -EBADMSG;
	at++; /* state */
	s.parent = 0;
	for (int field = 4; field <= 22; field++, at = end) {
		value = strtoull(at, &end, 10);
		if (end == at)
			return -EBADMSG;
		if (field == 4)
			s.parent = (uint32_t)value;
	}
	s.start_ns = value * (1000000000ull / (unsigned long)hz);
	*ret = s;
	return 0;
}

static int process_stat(const char *root, pid_t pid, struct stat_line *ret)
{
	char line[STAT_BYTES];
	ssize_t len = process_slurp(root, pid, "stat", line, sizeof(line));

	if (len < 0)
		return (int)len;
	/* The kernel gives an empty file, not an error, for a process that went between open and read. */
	return len ? parse_stat(line, ret) : -ESRCH;
}

uint64_t process_start_ns(const char *root, pid_t pid)
{
	struct stat_line s;

	return process_stat(root, pid, &s) ? 0 : s.start_ns;
}

static int read_command(const char *root, pid_t pid, char *out, size_t out_len)
{
	char argv[COMMAND_BYTES];
	ssize_t len = process_slurp(root, pid, "cmdline", argv, sizeof(argv));

	if (len < 0)
		return (int)len;
	while (len && !argv[len - 1])
		len--;
	for (ssize_t i = 0; i < len; i++) {
		if (!argv[i])
			argv[i] = ' ';
	}
	log_escape(out, out_len, argv, (size_t)len);
	return 0;
}

/* A whole non-negative decimal, else -1. */
static int32_t parse_count(const char *text)
{
	long long value;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -1;
	errno = 0;
	value = strtoll(text, &end, 10);
	return *end || errno || value > INT32_MAX ? -1 : (int32_t)value;
}

/* One entry is complete. As for getenv(3), the first of a name counts. */
static void environment_entry(struct environment *env)
{
	char *value;

	if (env->entry_len >= ENTRY_BYTES)
		return;
	env->entry[env->entry_len] = '\0';
	value = strchr(env->entry, '=');
	if (!value)
		return;
	*value++ = '\0';
	for (size_t i = 0; i < INT_NAMES; i++) {
		if (env->ints[i] < 0 && !strcmp(env->entry, int_names[i].name))
			env->ints[i] = parse_count(value);
	}
	for (size_t i = 0; i < JOB_NAMES; i++) {
		if (!*env->jobs[i] && strcmp(value, "none") && !strcmp(env->entry, job_names[i]))
			log_escape(env->jobs[i], sizeof(env->jobs[i]), value, strlen(value));
	}
}

static void environment_feed(struct environment *env, const char *data, size_t len)
{
	const char *end = data + len, *nul;
	size_t part, room;

	for (; data < end; data = nul + 1) {
		nul = memchr(data, '\0', (size_t)(end - data));
		part = (size_t)((nul ? nul : end) - data);
		room = ENTRY_BYTES - env->entry_len;
		memcpy(env->entry + env->entry_len, data, part < room ? part : room);
		env->entry_len += part < room ? part : room;
		if (!nul)
			break;
		environment_entry(env);
		env->entry_len = 0;
	}
}

static int environment_read(struct environment *env, const char *root, pid_t pid)
{
	int fd = process_open(root, pid, "environ", O_RDONLY);
	size_t total = 0;
	ssize_t n = 0;
	char *chunk;

	if (fd < 0)
		return fd;
	chunk = malloc(ENVIRON_CHUNK);
	if (!chunk) {
		close(fd);
		return -ENOMEM;
	}
	while (total < ENVIRON_BYTES && (n = read_again(fd, chunk, ENVIRON_CHUNK)) > 0) {
		environment_feed(env, chunk, (size_t)n);
		total += (size_t)n;
	}
	/* /proc/PID/environ ends after a NUL; a file of a test need not. */
	if (!n && env->entry_len)
		environment_entry(env);
	free(chunk);
	close(fd);
	return n < 0 ? (int)n : 0;
}

static int read_environment(const char *root, pid_t pid, struct gp_process *p)
{
	struct environment env = {0};
	int err;

	memset(env.ints, 0xff, sizeof(env.ints));
	err = environment_read(&env, root, pid);
	if (err)
		return err;
	for (size_t i = INT_NAMES; i-- > 0;) {
		if (env.ints[i] >= 0)
			memcpy((char *)p + int_names[i].field, &env.ints[i], sizeof(env.ints[i]));
	}
	for (size_t i = JOB_NAMES; i-- > 0;) {
		if (*env.jobs[i])
			memcpy(p->job, env.jobs[i], sizeof(p->job));
	}
	return 0;
}

int process_read(const char *root, pid_t pid, struct gp_process *ret)
{
	struct gp_process p = {.rank = -1, .world_size = -1, .local_rank = -1};
	struct stat_line s;
	uint64_t suspended_ns = clock_suspended_ns();
	int err;

	err = process_stat(root, pid, &s);
	if (err)
		return err;
	p.start_ns = s.start_ns;
	p.start_mono_ns = s.start_ns > suspended_ns ? s.start_ns - suspended_ns : 0;
	p.parent = s.parent;
	log_escape(p.comm, sizeof(p.comm), s.comm, sizeof(s.comm));
	err = read_command(root, pid, p.command, sizeof(p.command));
	if (err && err != -EACCES)
		return err;
	err = read_environment(root, pid, &p);
	if (err && err != -EACCES)
		return err;
	/* The files were opened one by one: the pid may have passed to another process in between. */
	if (process_start_ns(root, pid) != p.start_ns)
		return -ESRCH;
	*ret = p;
	return 0;
}

struct family {
	struct table *known; /* pid -> itself, in order of discovery */
	pid_t *pids;
	size_t count, cap;
};

static int family_add(struct family *f, pid_t pid)
{
	size_t cap;
	pid_t *pids;
	int err;

	if (pid <= 0 || f->count >= DESCENDANTS_MAX || table_get(f->known, (uint64_t)pid))
		return 0;
	if (f->count == f->cap) {
		cap = f->cap ? f->cap * 2 : 64;
		pids = realloc(f->pids, cap * sizeof(*pids));
		if (!pids)
			return -ENOMEM;
		f->pids = pids;
		f->cap = cap;
	}
	err = table_put(f->known, (uint64_t)pid, f);
	if (!err)
		f->pids[f->count++] = pid;
	return err;
}

/* /proc/PID/task/TID/children: pids, each followed by a space. */
static int family_add_children(struct family *f, int dir, const char *tid)
{
	char path[64], buf[4096];
	pid_t pid = 0;
	ssize_t n;
	int fd, err = 0;

	snprintf(path, sizeof(path), "%.20s/children", tid);
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	while (!err && (n = read_again(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n && !err; i++) {
			if (isdigit((unsigned char)buf[i]) && pid < INT32_MAX / 10 - 1) {
				pid = pid * 10 + (buf[i] - '0');
				continue;
			}
			err = family_add(f, pid);
			pid = 0;
		}
	}
	close(fd);
	return err;
}

static int family_add_tasks(struct family *f, const char *root, pid_t pid)
{
	int fd = process_open(root, pid, "task", O_RDONLY | O_DIRECTORY), err = 0;
	struct dirent *d;
	DIR *dir;

	if (fd < 0)
		return 0; /* gone since */
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (!err && (d = readdir(dir))) {
		if (isdigit((unsigned char)d->d_name[0]))
			err = family_add_children(f, fd, d->d_name);
	}
	closedir(dir);
	return err;
}

struct kin {
	pid_t parent, pid;
};

struct kin_list {
	struct kin *all;
	size_t count, cap;
};

static int kin_order(const void *a, const void *b)
{
	const struct kin *x = a, *y = b;

	return x->parent != y->parent ? (x->parent > y->parent) - (x->parent < y->parent)
				      : (x->pid > y->pid) - (x->pid < y->pid);
}

static int kin_read(struct kin_list *list, const char *root, pid_t pid)
{
	struct stat_line s;
	struct kin *all;
	size_t cap;

	if (process_stat(root, pid, &s))
		return 0; /* gone since */
	if (list->count == list->cap) {
		cap = list->cap ? list->cap * 2 : 256;
		all = realloc(list->all, cap * sizeof(*all));
		if (!all)
			return -ENOMEM;
		list->all = all;
		list->cap = cap;
	}
	list->all[list->count++] = (struct kin){(pid_t)s.parent, pid};
	return 0;
}

static int kin_read_all(struct kin_list *list, const char *root)
{
	char path[PATH_BYTES];
	struct dirent *d;
	int err = 0;
	pid_t pid;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/proc", root);
	dir = opendir(path);
	if (!dir)
		return process_error(errno);
	while (!err && (d = readdir(dir))) {
		pid = parse_count(d->d_name);
		if (pid > 0)
			err = kin_read(list, root, pid);
	}
	closedir(dir);
	return err;
}

/* Without CONFIG_PROC_CHILDREN: from everybody's parent. */
static int family_add_by_parent(struct family *f, const char *root)
{
	struct kin_list list = {0};
	size_t low, high, mid;
	int err = kin_read_all(&list, root);

	if (list.count)
		qsort(list.all, list.count, sizeof(*list.all), kin_order);
	for (size_t i = 0; !err && i < f->count; i++) {
		for (low = 0, high = list.count; low < high;) {
			mid = low + (high - low) / 2;
			if (list.all[mid].parent < f->pids[i])
				low = mid + 1;
			else
				high = mid;
		}
		for (; !err && low < list.count && list.all[low].parent == f->pids[i]; low++)
			err = family_add(f, list.all[low].pid);
	}
	free(list.all);
	return err;
}

static bool has_children_file(const char *root, pid_t pid)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "task/%d/children", (int)pid);
	fd = process_open(root, pid, name, O_RDONLY);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int process_descendants(const char *root, pid_t pid, pid_t **ret)
{
	struct family f = {.known = table_new()};
	size_t before;
	struct stat_line s;
	bool children;
	int err = -ENOMEM;

	if (!f.known)
		goto out;
	err = process_stat(root, pid, &s);
	if (err)
		goto out;
	children = has_children_file(root, pid);
	err = family_add(&f, pid);
	/* Neither source is a snapshot: again until a whole round finds nobody new. */
	for (int round = 0; !err && round < DESCENDANTS_ROUNDS; round++) {
		before = f.count;
		for (size_t i = 0; children && !err && i < f.count; i++)
			err = family_add_tasks(&f, root, f.pids[i]);
		if (!children)
			err = family_add_by_parent(&f, root);
		if (f.count == before)
			break;
	}
out:
	table_free(f.known, NULL);
	if (err) {
		free(f.pids);
		return err;
	}
	*ret = f.pids;
	return (int)f.count;
}
