/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/identity/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/aside.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/proc_file.h"

#define COMMAND_BYTES 4096
#define ENVIRON_CHUNK (64 << 10)
#define ENVIRON_BYTES (1 << 20) /* a process may have more; what launchers set stands well before that */
#define ENTRY_BYTES   256	/* of one NAME=value kept */

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

uint64_t process_start_ns(const char *root, pid_t pid)
{
	struct proc_stat s;

	return proc_stat(root, pid, &s) ? 0 : s.start_ns;
}

static int read_command(const char *root, pid_t pid, char *out, size_t out_len)
{
	char argv[COMMAND_BYTES];
	ssize_t len = proc_slurp(root, pid, "cmdline", argv, sizeof(argv));

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
			env->ints[i] = proc_number(value);
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
	int fd = proc_open(root, pid, "environ", O_RDONLY);
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
	while (total < ENVIRON_BYTES && (n = proc_read(fd, chunk, ENVIRON_CHUNK)) > 0) {
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

/* The permission that reading mapped files takes; that of /proc/PID/maps is CAP_PERFMON on newer kernels. */
int process_permitted(const char *root, pid_t pid)
{
	int fd = proc_open(root, pid, "root", O_PATH);

	if (fd >= 0)
		close(fd);
	if (fd != -EACCES)
		return 0; /* it is gone: told where it is missed */
	log_error("process %d: CAP_SYS_PTRACE missing: what it maps cannot be read; %s", pid,
		  geteuid() ? "run as root (sudo gp-bpf ...)"
			    : "this root is not allowed to: run privileged");
	return -EPERM;
}

int process_read_stat(const char *root, pid_t pid, struct gp_process *ret)
{
	struct gp_process p = {.rank = -1, .world_size = -1, .local_rank = -1};
	uint64_t suspended_ns = clock_suspended_ns();
	struct proc_stat s;
	int err = proc_stat(root, pid, &s);

	if (err)
		return err;
	p.start_ns = s.start_ns;
	p.start_mono_ns = s.start_ns > suspended_ns ? s.start_ns - suspended_ns : 0;
	p.parent = s.parent;
	log_escape(p.comm, sizeof(p.comm), s.comm, sizeof(s.comm));
	*ret = p;
	return 0;
}

int process_read(const char *root, pid_t pid, struct gp_process *ret)
{
	struct gp_process p;
	int err = process_read_stat(root, pid, &p);

	if (err)
		return err;
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

struct ask {
	const char *root;
	pid_t pid;
};

static ssize_t read_there(const void *arg, void *ret, size_t cap)
{
	const struct ask *ask = arg;
	int err = cap < sizeof(struct gp_process) ? -ENOBUFS : process_read(ask->root, ask->pid, ret);

	return err ? err : (ssize_t)sizeof(struct gp_process);
}

int process_read_aside(struct aside *a, const char *root, pid_t pid, struct gp_process *ret)
{
	struct ask ask = {root, pid};
	const void *answer;
	ssize_t n;

	if (!a)
		return process_read(root, pid, ret);
	n = aside_call(a, read_there, &ask, sizeof(ask), &answer);
	if (n < 0)
		return (int)n;
	memcpy(ret, answer, sizeof(*ret));
	return 0;
}
