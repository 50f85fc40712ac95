/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/ras_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/confine.h"
#include "userspace/base/helper.h"
#include "userspace/identity/nccl_ras.h"

#define NS_PER_MS  1000000ull
#define CONNECT_NS 1000000000ull /* limit of the time to connect to one address */
#define REPLY_NS   3000000000ull /* limit of the time from the connection to the whole reply */
#define CHILD_S	   6		 /* the kernel kills a child process that takes longer */
#define KILLED_MS  100		 /* limit of the time for which a killed child is waited for */
/* Limit of bytes read from /proc/PID/environ; variables after them are not seen. */
#define ENVIRON_MAX (1u << 20)
#define STATUS_MAX  4096

/* Capabilities to open files in /proc of other users' processes, and to join their network
 * namespaces */
#define CAPS_OF_SERVER                                                                             \
	(CONFINE_CAP(CAP_SYS_ADMIN) | CONFINE_CAP(CAP_SYS_PTRACE) |                                \
	 CONFINE_CAP(CAP_DAC_READ_SEARCH))

/* ---- the process to be asked ----------------------------------------------------------------- */

/* Reads up to `cap` - 1 bytes and adds a NUL. Returns how many, or -errno. */
static ssize_t ras_read_all(int fd, char *ret, size_t cap)
{
	size_t len = 0;
	ssize_t n;

	while (len < cap - 1) {
		n = read(fd, ret + len, cap - 1 - len);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (!n)
			break;
		len += n > 0 ? (size_t)n : 0;
	}
	ret[len] = '\0';
	return (ssize_t)len;
}

/* Returns the pid that the process has in its own pid namespace. */
static uint32_t ras_own_pid(int proc, uint32_t pid)
{
	char text[STATUS_MAX], *line, *end;
	int fd = openat(proc, "status", O_RDONLY | O_CLOEXEC);
	unsigned long own = pid;

	if (fd < 0)
		return pid;
	line = ras_read_all(fd, text, sizeof(text)) > 0 ? strstr(text, "\nNSpid:") : NULL;
	close(fd);
	if (!line)
		return pid;
	line += strlen("\nNSpid:");
	while (*line == '\t' || *line == ' ') {
		own = strtoul(line, &end, 10);
		if (end == line)
			break;
		line = end;
	}
	return (uint32_t)own;
}

static int ras_join(int proc)
{
	int net = openat(proc, "ns/net", O_RDONLY | O_CLOEXEC), err = 0;
	struct stat own, of;

	if (net < 0)
		return -errno;
	if (fstat(net, &of) || stat("/proc/self/ns/net", &own))
		err = -errno;
	else if ((own.st_dev != of.st_dev || own.st_ino != of.st_ino) && setns(net, CLONE_NEWNET))
		err = -errno;
	close(net);
	return err;
}

/* Returns the value of a variable in the text of /proc/PID/environ, or NULL. */
static const char *ras_variable(const char *text, size_t len, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = text; at < text + len; at += strlen(at) + 1)
		if (!strncmp(at, name, n) && at[n] == '=')
			return at + n + 1;
	return NULL;
}

/* Finds out where the RAS service of the process listens. environ_fd: descriptor of its
 * /proc/PID/environ, which this function closes. */
static int ras_where(int environ_fd, struct nccl_ras_address *ret)
{
	char *text = malloc(ENVIRON_MAX);
	ssize_t n = text ? ras_read_all(environ_fd, text, ENVIRON_MAX) : -ENOMEM;
	const char *enable;
	int err = n < 0 ? (int)n : 0;

	close(environ_fd);
	if (!err) {
		enable = ras_variable(text, (size_t)n, "NCCL_RAS_ENABLE");
		if (enable && !strcmp(enable, "0"))
			err = -ENOENT;
		else if (!nccl_ras_address(ras_variable(text, (size_t)n, "NCCL_RAS_ADDR"), ret))
			err = -EADDRNOTAVAIL;
	}
	free(text);
	return err;
}

/* ---- the service ----------------------------------------------------------------------------- */

static socklen_t ras_address_size(const struct sockaddr *a)
{
	return a->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/* Waits until the socket is ready. Returns false when the time is over. */
static bool ras_ready(int fd, short events, uint64_t until_ns)
{
	struct pollfd p = {.fd = fd, .events = events};
	uint64_t now_ns = clock_mono_ns();

	return now_ns < until_ns && poll(&p, 1, (int)((until_ns - now_ns) / NS_PER_MS) + 1) > 0;
}

/* Binds the socket to the IP address of the service. This fails if the address is not an address of
 * this network namespace, so that gp-bpf only connects to services on this machine. */
static int ras_bind(int fd, const struct nccl_ras_address *a, uint32_t i)
{
	struct nccl_ras_address own = *a;

	if (own.at[i].any.sa_family == AF_INET6)
		own.at[i].v6.sin6_port = 0;
	else
		own.at[i].v4.sin_port = 0;
	return bind(fd, &own.at[i].any, ras_address_size(&own.at[i].any)) ? -errno : 0;
}

/* Returns a socket that is connected to one of the addresses, or -errno. */
static int ras_connect(const struct nccl_ras_address *a)
{
	int fd, err = -EADDRNOTAVAIL, got;
	socklen_t len = sizeof(got);

	for (uint32_t i = 0; i < a->count; i++) {
		const struct sockaddr *at = &a->at[i].any;

		fd = socket(at->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (fd < 0) {
			err = -errno;
			continue;
		}
		err = ras_bind(fd, a, i);
		if (!err && connect(fd, at, ras_address_size(at)))
			err = -errno;
		if (err == -EINPROGRESS) {
			got = ETIMEDOUT;
			if (ras_ready(fd, POLLOUT, clock_mono_ns() + CONNECT_NS))
				getsockopt(fd, SOL_SOCKET, SO_ERROR, &got, &len);
			err = -got;
		}
		if (!err)
			return fd;
		close(fd);
	}
	return err;
}

/* Sends the request and reads the reply, until the service closes the connection, `cap` bytes were
 * read or REPLY_NS has passed. Returns the number of bytes, or -errno if none was read. */
static ssize_t ras_talk(int fd, char *ret, size_t cap)
{
	uint64_t until_ns = clock_mono_ns() + REPLY_NS;
	size_t len = 0;
	ssize_t n = send(fd, NCCL_RAS_REQUEST, strlen(NCCL_RAS_REQUEST), MSG_NOSIGNAL);

	if (n != (ssize_t)strlen(NCCL_RAS_REQUEST))
		return n < 0 ? -errno : -EPIPE;
	while (len < cap && ras_ready(fd, POLLIN, until_ns)) {
		n = recv(fd, ret + len, cap - len, 0);
		if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
			break;
		len += n > 0 ? (size_t)n : 0;
	}
	return len ? (ssize_t)len : n < 0 && errno != EAGAIN ? -errno : -ETIMEDOUT;
}

/* ---- the child ------------------------------------------------------------------------------- */

/* Reads the service's answer, and fills ret with its claim about the process. Returns the length of
 * the claim, 0: none, or -errno. */
static int ras_hear(int fd, uint32_t pid, char *ret, size_t cap)
{
	char *reply = malloc(NCCL_RAS_REPLY_MAX);
	ssize_t n = reply ? ras_talk(fd, reply, NCCL_RAS_REPLY_MAX) : -ENOMEM;

	if (n >= 0)
		n = nccl_ras_read(reply, (size_t)n, pid, ret, cap) ? (ssize_t)strlen(ret) : 0;
	free(reply);
	return (int)n;
}

static int ras_ask(int proc, uint32_t pid, char *ret, size_t cap)
{
	int environ_fd = openat(proc, "environ", O_RDONLY | O_CLOEXEC), err, fd;
	struct nccl_ras_address where;

	if (environ_fd < 0)
		return -errno;
	pid = ras_own_pid(proc, pid);
	err = ras_join(proc);
	if (!err)
		err = confine_capabilities(0);
	if (!err)
		err = confine_privileges();
	if (!err)
		err = ras_where(environ_fd, &where);
	if (err)
		return err;
	fd = ras_connect(&where);
	if (fd < 0)
		return fd;
	/* Ignore an error: if the kernel cannot restrict system calls, the process still has no
	 * capabilities. */
	confine_calls(CONFINE_READER);
	return ras_hear(fd, pid, ret, cap);
}

/* Runs in the child. It closes no descriptors, because the kernel closes them when it exits. */
static _Noreturn void ras_child(int fd, const char *root, const struct ras_request *q)
{
	struct ras_answer answer = {.id = q->id};
	char path[4096];
	sigset_t alarms;
	int proc;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	signal(SIGALRM, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &alarms, NULL);
	alarm(CHILD_S);
	snprintf(path, sizeof(path), "%s/proc/%u", root, q->pid);
	proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	answer.result = proc < 0 ? -errno : ras_ask(proc, q->pid, answer.text, sizeof(answer.text));
	send(fd, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
	_exit(0);
}

/* ---- the server ------------------------------------------------------------------------------ */

/* Kills the child if it still runs, and waits up to KILLED_MS. Returns true if it has ended. */
static bool ras_child_ended(pid_t child)
{
	if (waitpid(child, NULL, WNOHANG))
		return true;
	kill(child, SIGKILL);
	for (int i = 0; i < KILLED_MS; i++) {
		if (waitpid(child, NULL, WNOHANG))
			return true;
		poll(NULL, 0, 1);
	}
	return false;
}

static _Noreturn void ras_serve(int fd, const char *root)
{
	struct ras_request q;
	pid_t child = 0;

	if (helper_settle("gp-bpf-ras", &fd, -1, 0) || confine_capabilities(CAPS_OF_SERVER) ||
	    confine_privileges())
		_exit(1);
	while (recv(fd, &q, sizeof(q), 0) == sizeof(q)) {
		struct ras_answer refused = {.id = q.id, .result = -EBUSY};

		if (!child || ras_child_ended(child)) {
			child = fork();
			if (!child)
				ras_child(fd, root, &q);
			refused.result = child < 0 ? -errno : 0;
			child = child < 0 ? 0 : child;
		}
		if (refused.result)
			send(fd, &refused, sizeof(refused), MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	_exit(0);
}

int ras_server_start(const char *root, pid_t *ret_pid)
{
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	*ret_pid = fork();
	if (!*ret_pid)
		ras_serve(pair[1], root);
	err = *ret_pid < 0 ? -errno : 0;
	close(pair[1]);
	if (!err)
		return pair[0];
	close(pair[0]);
	return err;
}
