/* SPDX-License-Identifier: Apache-2.0 */
/* ras_ask.h - process gp-bpf-ras, which asks NCCL's RAS service about the job of a process. It
 * keeps the capabilities to join a network namespace, so it is to be started before gp-bpf drops
 * its privileges. For each request it forks a child, which connects only to an address of the
 * process's own network namespace, then drops all privileges, and only then reads the answer, which
 * is not trusted. */
#ifndef WATCH_RAS_ASK_H
#define WATCH_RAS_ASK_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"

/* An answer comes within this time, if the process to be asked is not blocked (ns). */
#define RAS_ANSWER_NS 6000000000ull

struct ras_request {
	uint32_t id; /* is repeated in the answer */
	uint32_t pid;
};

struct ras_answer {
	uint32_t id;
	/* Length of the text; 0: the service reports no problem. -ECONNREFUSED, -EADDRNOTAVAIL...:
	 * no connection to the service; -ENOENT: the service is switched off; -ETIMEDOUT; -EBUSY:
	 * the previous request has not ended. */
	int32_t result;
	char text[GP_RAS_MAX]; /* NUL-terminated */
};

/* Starts the process. root: "", or the folder that contains proc; it is copied. Call while there is
 * one thread. Returns a socket that the caller owns, to send and receive the structs above, or
 * -errno. The process ends when the socket is closed; *ret_pid is the pid to wait for. */
int ras_server_start(const char *root, pid_t *ret_pid);

#endif
