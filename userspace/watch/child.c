/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/base/log.h"
#include "userspace/base/path.h"
#include "userspace/base/proc_file.h"

#define ENVIRON_MAX (1 << 20)
/* Limit of gp-bpf's ancestors that are checked for a sudo process: sudo's monitor or a shell may be
 * between them. */
#define SUDO_DEPTH 4

/* The user that runs CMD: name, ids and environment */
struct identity {
	bool change;
	uid_t uid;
	gid_t gid;
	char name[64];
	char **environment; /* NULL: CMD gets the environment of gp-bpf */
	char *block;	    /* memory with the texts of `environment` */
};

/* Signals that would end gp-bpf when it writes to a pipe without a reader (SIGPIPE), or to a file
 * at its size limit (SIGXFSZ). */
static const int ignored[] = {SIGPIPE, SIGXFSZ};
#define IGNORED (sizeof(ignored) / sizeof(ignored[0]))
/* Dispositions before child_ignore(), restored for CMD. */
static struct sigaction were[IGNORED];

void child_ignore(void)
{
	for (size_t i = 0; i < IGNORED; i++)
		sigaction(ignored[i], &(struct sigaction){.sa_handler = SIG_IGN}, &were[i]);
}

static void child_signals_restore(void)
{
	for (size_t i = 0; i < IGNORED; i++)
		sigaction(ignored[i], &were[i], NULL);
}

/* Returns the pid of the sudo process that started gp-bpf; 0: none. */
static pid_t child_sudo_above(void)
{
	pid_t pid = getpid();
	struct proc_stat s;

	for (int i = 0; i <= SUDO_DEPTH && pid > 1 && !proc_stat("", pid, &s);
	     i++, pid = (pid_t)s.parent)
		if (!strcmp(s.comm, "sudo"))
			return pid;
	return 0;
}

/* Gives CMD the environment of the sudo process, which is that of the user: sudo passes a reduced
 * environment to gp-bpf. */
static void child_environment_of_caller(struct identity *id)
{
	pid_t sudo = child_sudo_above();
	size_t count = 0;
	ssize_t n;

	if (!sudo)
		return;
	id->block = malloc(ENVIRON_MAX);
	n = id->block ? proc_slurp("", sudo, "environ", id->block, ENVIRON_MAX) : 0;
	if (n <= 0)
		return;
	for (char *p = id->block; p < id->block + n; p += strlen(p) + 1)
		count++;
	id->environment = calloc(count + 1, sizeof(char *));
	count = 0;
	for (char *p = id->block; id->environment && p < id->block + n; p += strlen(p) + 1)
		id->environment[count++] = p;
}

static int child_identity_find(struct identity *id, const char *user)
{
	const char *sudo_uid = getenv("SUDO_UID");
	struct passwd *pw = NULL;

	if (user) {
		pw = getpwnam(user);
	} else if (sudo_uid && *sudo_uid && geteuid() == 0) {
		pw = getpwuid((uid_t)strtoul(sudo_uid, NULL, 10));
		user = sudo_uid;
	} else {
		return 0;
	}
	if (!pw) {
		log_error("run: no such user '%s'", user);
		return -ENOENT;
	}
	id->change = true;
	id->uid = pw->pw_uid;
	id->gid = pw->pw_gid;
	snprintf(id->name, sizeof(id->name), "%s", pw->pw_name);
	if (sudo_uid && *sudo_uid && strtoul(sudo_uid, NULL, 10) == id->uid)
		child_environment_of_caller(id);
	return 0;
}

static void child_identity_free(struct identity *id)
{
	free(id->environment);
	free(id->block);
}

/* Reason why the child could not run CMD. The child sends it to child_failed(), as its standard
 * error may already belong to CMD. */
struct failure {
	enum { FAILED_USER, FAILED_OUTPUT, FAILED_EXEC } at;
	int error;
};

/* Reports why CMD cannot be run and exits with the status that a shell would use: 127 if there is
 * no such file, otherwise 126. */
static void child_become_failed(int failed_fd, struct failure f)
{
	if (write(failed_fd, &f, sizeof(f)) != sizeof(f))
		_exit(126);
	_exit(f.at == FAILED_EXEC && f.error == ENOENT ? 127 : 126);
}

/* Becomes CMD: sets user, output and environment, and executes it. Does not return. */
static void child_become(const struct identity *id, const char *output, char **argv, int failed_fd)
{
	int fd;

	if (id->change && (initgroups(id->name, id->gid) || setresgid(id->gid, id->gid, id->gid) ||
			   setresuid(id->uid, id->uid, id->uid)))
		child_become_failed(failed_fd, (struct failure){FAILED_USER, errno});
	if (output) {
		fd = path_open(output, O_WRONLY | O_CREAT | O_TRUNC, 0644);
		if (fd >= 0 && (fcntl(fd, F_SETFL, 0) || dup2(fd, STDOUT_FILENO) < 0 ||
				dup2(fd, STDERR_FILENO) < 0))
			fd = -errno;
		if (fd < 0)
			child_become_failed(failed_fd, (struct failure){FAILED_OUTPUT, -fd});
	}
	if (id->environment)
		environ = id->environment;
	execvp(argv[0], argv);
	child_become_failed(failed_fd, (struct failure){FAILED_EXEC, errno});
}

int child_spawn(struct child *c, char **argv, const char *user, const char *output)
{
	struct identity id = {0};
	int gate[2], failed[2], err;
	char go;

	err = child_identity_find(&id, user);
	if (err)
		goto done;
	c->argv = argv;
	c->output = output;
	snprintf(c->user, sizeof(c->user), "%s", id.name);
	if (pipe2(gate, O_CLOEXEC)) {
		err = -errno;
		goto done;
	}
	if (pipe2(failed, O_CLOEXEC | O_NONBLOCK)) {
		err = -errno;
		close(gate[0]);
		close(gate[1]);
		goto done;
	}
	c->pid = fork();
	if (c->pid < 0) {
		err = -errno;
		close(gate[0]);
		close(gate[1]);
		close(failed[0]);
		close(failed[1]);
		log_error("run: cannot fork: %s", strerror(-err));
		goto done;
	}
	if (!c->pid) {
		close(gate[1]);
		child_signals_restore();
		if (read(gate[0], &go, 1) != 1)
			_exit(0);
		child_become(&id, output, argv, failed[1]);
	}
	close(gate[0]);
	close(failed[1]);
	c->release_fd = gate[1];
	c->failed_fd = failed[0];
done:
	child_identity_free(&id);
	return err;
}

void child_release(struct child *c)
{
	if (c->release_fd >= 0 && write(c->release_fd, "", 1) != 1)
		log_error("run: cannot start the command: %s", strerror(errno));
	if (c->release_fd >= 0)
		close(c->release_fd);
	c->release_fd = -1;
}

bool child_failed(struct child *c)
{
	struct failure f;
	bool failed = c->failed_fd >= 0 && read(c->failed_fd, &f, sizeof(f)) == sizeof(f);

	if (c->failed_fd >= 0)
		close(c->failed_fd);
	c->failed_fd = -1;
	if (failed && f.at == FAILED_USER)
		log_error("run: cannot become user %s: %s", c->user, strerror(f.error));
	else if (failed && f.at == FAILED_OUTPUT)
		log_error("run: cannot open output %s: %s", c->output, path_why(-f.error));
	else if (failed)
		log_error("run: %s: %s", c->argv[0], strerror(f.error));
	return failed;
}

void child_abandon(struct child *c)
{
	if (c->release_fd >= 0)
		close(c->release_fd);
	c->release_fd = -1;
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

int child_exit_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
