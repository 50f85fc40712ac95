/* SPDX-License-Identifier: Apache-2.0 */
/* top_fetch.h - gets the state of a running gp-bpf over HTTP, for gp-bpf top: from the unix socket
 * in the state directory of gp-bpf node, or from the address of --listen. */
#ifndef COMMAND_TOP_FETCH_H
#define COMMAND_TOP_FETCH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/cloud/web.h"
#include "userspace/view/top_state.h"

#define TOP_WHY_MAX 256

/* Writes the path of gp-bpf node's socket to out and returns out. state_dir NULL: the default
 * directory. */
const char *top_socket(const char *state_dir, char out[PATH_MAX]);

struct top_source {
	char name[PATH_MAX + 8]; /* the address as shown to users */
	char socket[PATH_MAX];	 /* path of the unix socket; "": use TCP */
	char url[PATH_MAX];
};
/* Determines where to get the state. listen: unix:PATH, ADDR:PORT, [V6]:PORT or :PORT; NULL: the
 * socket in state_dir. Returns 0, or -EINVAL after logging one line. */
int top_source(struct top_source *ret, const char *listen, const char *state_dir);
/* Returns 0 if a process listens at the address, or if this cannot be checked; -ENOENT: no process
 * listens; -EACCES: permission denied. */
int top_source_check(const struct top_source *src);

/* Requests the state once. Returns 0; -EAGAIN: the service is starting; another -errno with the
 * reason in why. The caller frees body. */
int top_ask(struct web *w, const struct top_source *src, struct buffer *body,
	    char why[TOP_WHY_MAX]);

/* Requests the state repeatedly in a thread of its own, so that a slow service does not block the
 * keyboard. */
struct top_fetch;
int top_fetch_start(struct top_fetch **ret, const struct top_source *src, uint64_t interval_ns);
int top_fetch_fd(const struct top_fetch *f); /* readable when top_fetch_take() has a result */
/* Returns 1: *ret is a new state, which the caller frees; 0: there is no new state; -errno: the
 * last request failed, why has the reason. */
int top_fetch_take(struct top_fetch *f, struct top_state *ret, char why[TOP_WHY_MAX]);
void top_fetch_stop(struct top_fetch *f);

#endif
