/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.h - the privileges that gp-bpf keeps while it watches, and their purposes: one table
 * (sandbox.c). */
#ifndef WATCH_SANDBOX_H
#define WATCH_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/option/option.h"

/* Opens what needs a privilege only once, and then, unless --sandbox=off, drops all privileges that
 * are not needed later, for this thread and all that it starts. Call it while there is one thread,
 * after forking CMD of `run` (which keeps its own privileges) and opening the state directory.
 * Returns 0, or -errno after one line. */
int sandbox_enter(const struct options *o);

/* Returns the capabilities to keep, as CONFINE_CAP(). multi: the kernel has feature multi (many
 * probes in one link). */
uint64_t sandbox_capabilities(const struct options *o, bool multi);

#endif
