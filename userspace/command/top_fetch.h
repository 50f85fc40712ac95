/* SPDX-License-Identifier: Apache-2.0 */
/* top_fetch.h - requests the state of a running gp-bpf over HTTP: at the unix socket in the state
 * directory of gp-bpf node, or at the address of --listen. */
#ifndef COMMAND_TOP_FETCH_H
#define COMMAND_TOP_FETCH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/cloud/web.h"
#include "userspace/view/top_state.h"

#define TOP_WHY_MAX 256

/* Writes the path of gp-bpf node's socket. state_dir NULL: the default directory. Returns out. */
const char *top_socket(const char *state_dir, char out[PATH_MAX]);

struct top_source {
	char name[PATH_MAX + 8]; /* for people */
	char socket[PATH_MAX];	 /* path of the unix socket; "": TCP */
	char url[PATH_MAX];
};
/* listen: unix:PATH, ADDR:PORT, [V6]:PORT or :PORT; NULL: the socket in that state directory.
 * Returns 0, or -EINVAL after logging one line. */
int top_source(struct top_source *ret, const char *listen, const char *state_dir);
/* Returns 0 if a process listens at the source, or if that cannot be checked; -ENOENT: no process
 * listens; -EACCES: permission denied. */
int top_source_check(const struct top_source *src);

/* Requests the state once. Returns 0; -EAGAIN: the service is starting; otherwise -errno, with the
 * reason in why. The caller frees body. */
int top_ask(struct web *w, const struct top_source *src, struct buffer *body,
	    char why[TOP_WHY_MAX]);

/* Requests the state repeatedly on a separate thread, so that a slow service does not delay
 * keys. */
struct top_fetch;
int top_fetch_start(struct top_fetch **ret, const struct top_source *src, uint64_t interval_ns);
int top_fetch_fd(const struct top_fetch *f); /* readable when top_fetch_take() has something new */
/* Returns 1: *ret is a new state, which the caller frees; 0: nothing new; -errno: the last request
 * failed for the reason in why. */
int top_fetch_take(struct top_fetch *f, struct top_state *ret, char why[TOP_WHY_MAX]);
void top_fetch_stop(struct top_fetch *f);

#endif
