/* SPDX-License-Identifier: Apache-2.0 */
/* hook_command.h - runs a program with as little as can be: no shell, an environment of a few
 * variables, three descriptors, a session of its own, folder /, another user, no capability and no
 * way to gain one, a low priority, a time limit. */
#ifndef EXPORT_HOOK_COMMAND_H
#define EXPORT_HOOK_COMMAND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HOOK_LIMIT_NS 10000000000ull /* a hook's time */
#define HOOK_GRACE_NS 1000000000ull  /* between SIGTERM and SIGKILL; and what that may take */
#define HOOK_OUTPUT   (1u << 20)     /* bytes that it may write */
#define HOOK_GROUPS   64
#define HOOK_WHY_MAX  300

struct hook_user {
	bool change; /* else it stays whom we are */
	uid_t uid;
	gid_t gid;
	gid_t groups[HOOK_GROUPS];
	int ngroups;
};
/* name, else who called sudo, else nobody; we ourselves where we are not root. 0 or -errno after
 * one line. */
int hook_user_find(struct hook_user *ret, const char *name);

enum hook_end { HOOK_DONE, HOOK_FAILED, HOOK_TIMEOUT, HOOK_CLOSED };

struct hook_command {
	const char *path;
	char *const *words;
	const char *event, *job;
	const char *body; /* its standard input */
	size_t len;
	const struct hook_user *user;
	uint64_t limit_ns; /* then SIGTERM */
	/* Once that is not 0 it is over at that time (CLOCK_MONOTONIC); wake_fd is readable
	 * then. */
	const _Atomic uint64_t *closed_ns;
	int wake_fd;
};
/* On a thread that may wait; others may run. why: of anything but HOOK_DONE, one line, printable;
 * else the first line that it wrote. Whatever of its session is left in its group is killed. */
enum hook_end hook_command_run(const struct hook_command *c, char why[HOOK_WHY_MAX]);

#endif
