/* SPDX-License-Identifier: Apache-2.0 */
/* hook_command.h - runs a program with minimal privileges: no shell, an environment of a few
 * variables, three descriptors, its own session, folder /, another user, no capabilities and no way
 * to gain them, low priority, a time limit. */
#ifndef EXPORT_HOOK_COMMAND_H
#define EXPORT_HOOK_COMMAND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HOOK_LIMIT_NS 10000000000ull /* time limit of a hook */
/* time for a command to end after SIGTERM, and again after SIGKILL */
#define HOOK_GRACE_NS 1000000000ull
#define HOOK_OUTPUT   (1u << 20) /* limit of bytes of output that are read */
#define HOOK_GROUPS   64
#define HOOK_WHY_MAX  300

struct hook_user {
	bool change; /* run as this user; false: as the current user */
	uid_t uid;
	gid_t gid;
	gid_t groups[HOOK_GROUPS];
	int ngroups;
};
/* Finds the user that runs commands: name, else the user who called sudo, else "nobody"; if gp-bpf
 * is not root, the current user. Returns 0, or -errno after logging the error. */
int hook_user_find(struct hook_user *ret, const char *name);

enum hook_end { HOOK_DONE, HOOK_FAILED, HOOK_TIMEOUT, HOOK_CLOSED };

struct hook_command {
	const char *path;
	char *const *words;
	const char *event, *job;
	const char *why, *at; /* as in struct hook_item (hook_queue.h); "": not set */
	const char *body;     /* text for the command's standard input */
	size_t len;
	const struct hook_user *user;
	uint64_t limit_ns; /* time after which the command gets SIGTERM */
	/* Time (CLOCK_MONOTONIC) at which the command is killed because gp-bpf ends; 0: none yet.
	 * When it is set, wake_fd becomes readable. */
	const _Atomic uint64_t *closed_ns;
	int wake_fd;
};
/* Runs the command and waits for its end; call from a thread that may wait. why: the reason if the
 * result is not HOOK_DONE (one printable line), else the first line of the output. Kills all
 * processes left in the command's process group. */
enum hook_end hook_command_run(const struct hook_command *c, char why[HOOK_WHY_MAX]);

#endif
