/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/identity/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/helper.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/proc_file.h"
#include "userspace/identity/environment.h"

#define COMMAND_BYTES 4096
uint64_t process_start_ns(const char *root, pid_t pid)
{
	struct proc_stat s;

	return proc_stat(root, pid, &s) ? 0 : s.start_ns;
}

static int process_read_command(const char *root, pid_t pid, char *out, size_t out_len)
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

static int process_read_environment(const char *root, pid_t pid, struct gp_process *p)
{
	struct environment env;
	int err = environment_read(root, pid, &env);

	if (err)
		return err;
	p->rank = env.rank;
	p->world_size = env.world_size;
	p->local_rank = env.local_rank;
	snprintf(p->job, sizeof(p->job), "%s",
		 *env.jobset	  ? env.jobset
		 : *env.slurm_job ? env.slurm_job
				  : env.torch_run);
	return 0;
}

/* Tests the permission to read which files the process maps, by opening /proc/PID/root, which needs
 * the same permission. (/proc/PID/maps also needs CAP_PERFMON on newer kernels.) */
int process_permitted(const char *root, pid_t pid)
{
	int fd = proc_open(root, pid, "root", O_PATH);

	if (fd >= 0)
		close(fd);
	if (fd != -EACCES)
		return 0; /* if the process has ended, a later check reports this */
	log_error("process %d: cannot read which libraries it maps: CAP_SYS_PTRACE missing; %s",
		  pid,
		  geteuid() ? "run as root (sudo gp-bpf ...)"
			    : "this container's root lacks it: run privileged");
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
	err = process_read_command(root, pid, p.command, sizeof(p.command));
	if (err && err != -EACCES)
		return err;
	err = process_read_environment(root, pid, &p);
	if (err && err != -EACCES)
		return err;
	/* The files were opened one after the other, and the pid may have been reused in
	 * between. */
	if (process_start_ns(root, pid) != p.start_ns)
		return -ESRCH;
	*ret = p;
	return 0;
}

struct ask {
	const char *root;
	long pid; /* a long, so that the struct has no padding: it is sent as raw bytes */
};

static ssize_t process_read_there(const void *arg, void *ret, size_t cap)
{
	const struct ask *ask = arg;
	int err = cap < sizeof(struct gp_process) ? -ENOBUFS
						  : process_read(ask->root, (pid_t)ask->pid, ret);

	return err ? err : (ssize_t)sizeof(struct gp_process);
}

int process_read_by_helper(struct helper *a, const char *root, pid_t pid, struct gp_process *ret)
{
	struct ask ask = {root, pid};
	const void *answer;
	ssize_t n;

	if (!a)
		return process_read(root, pid, ret);
	n = helper_call(a, process_read_there, &ask, sizeof(ask), &answer);
	if (n < 0)
		return (int)n;
	memcpy(ret, answer, sizeof(*ret));
	return 0;
}

/* Returns true if the process executes runsc, the program of gVisor, such as
 * /usr/local/bin/runsc. */
static bool process_is_runsc(const char *root, pid_t pid)
{
	char link[PROC_PATH_MAX], exe[PROC_PATH_MAX], *end;
	ssize_t n;

	snprintf(link, sizeof(link), "%s/proc/%d/exe", root, pid);
	n = readlink(link, exe, sizeof(exe) - 1);
	if (n <= 0)
		return false;
	exe[n] = '\0';
	end = strstr(exe, " (deleted)");
	if (end)
		*end = '\0';
	end = strrchr(exe, '/');
	return !strcmp(end ? end + 1 : exe, "runsc");
}

/* Returns true if the first argument of the process is name, which gVisor sets for sandboxes and
 * their helpers. */
static bool process_named_so(const struct gp_process *p, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(p->command, name, len) && (!p->command[len] || p->command[len] == ' ');
}

bool process_gvisor(const char *root, pid_t pid, const struct gp_process *p)
{
	if (p && (process_named_so(p, "runsc-sandbox") || process_named_so(p, "runsc-gofer")))
		return true;
	return process_is_runsc(root, pid);
}

bool process_gvisor_sandbox(struct helper *a, const char *root, pid_t pid)
{
	struct gp_process p;

	if (!process_is_runsc(root, pid) || process_read_by_helper(a, root, pid, &p))
		return false;
	/* Processes of a container are forked from its sandbox and have the sandbox's command line,
	 * but their parent is runsc too. */
	return process_named_so(&p, "runsc-sandbox") && !process_is_runsc(root, (pid_t)p.parent);
}
