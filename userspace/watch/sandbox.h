/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.h - drops the privileges that gp-bpf does not need while it watches. One table in
 * sandbox.c lists those that it keeps, with their purposes. */
#ifndef WATCH_SANDBOX_H
#define WATCH_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/option/option.h"

/* First opens everything that needs a privilege only once. Then, unless --sandbox=off, drops the
 * privileges that are not needed later, for this thread and all threads and processes that it
 * starts. Call it while there is one thread, after forking CMD of `run` (which keeps its own
 * privileges) and opening the state directory. Returns 0, or -errno after logging the reason. */
int sandbox_enter(const struct options *o);

/* Returns the capabilities to keep, as a mask of CONFINE_CAP() bits. multi: the kernel can attach
 * many probes with one link. */
uint64_t sandbox_capabilities(const struct options *o, bool multi);

#endif
