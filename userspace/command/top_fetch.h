/* SPDX-License-Identifier: Apache-2.0 */
/* top_fetch.h - what a running gp-bpf knows, asked for over HTTP: at the unix socket in the state
 * directory of gp-bpf node, or where --listen says. */
#ifndef COMMAND_TOP_FETCH_H
#define COMMAND_TOP_FETCH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/cloud/web.h"
#include "userspace/view/top_state.h"

#define TOP_WHY_MAX 256

/* Where gp-bpf node serves what it knows. state_dir NULL: the default. Returns out. */
const char *top_socket(const char *state_dir, char out[PATH_MAX]);

struct top_source {
	char name[PATH_MAX + 8]; /* as people write it */
	char socket[PATH_MAX];	 /* "": none */
	char url[PATH_MAX];
};
/* listen: unix:PATH, ADDR:PORT, [V6]:PORT or :PORT; NULL: the socket of that state directory.
 * -EINVAL after one line. */
int top_source(struct top_source *ret, const char *listen, const char *state_dir);
/* 0: somebody listens, as far as can be told; -ENOENT: nobody; -EACCES: we may not ask. */
int top_source_check(const struct top_source *src);

/* One answer. 0; -EAGAIN: it is starting; else -errno; why says it in one line. body is the
 * caller's to free. */
int top_ask(struct web *w, const struct top_source *src, struct buffer *body,
	    char why[TOP_WHY_MAX]);

/* Again and again, on a thread of its own: a service that does not answer holds up no key. */
struct top_fetch;
int top_fetch_start(struct top_fetch **ret, const struct top_source *src, uint64_t interval_ns);
int top_fetch_fd(const struct top_fetch *f); /* readable: there is something to take */
/* 1: *ret is new, the caller's; 0: nothing is; -errno: why. */
int top_fetch_take(struct top_fetch *f, struct top_state *ret, char why[TOP_WHY_MAX]);
void top_fetch_stop(struct top_fetch *f);

#endif
