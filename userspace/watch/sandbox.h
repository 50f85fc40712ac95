/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.h - what gp-bpf keeps of its privileges while it watches, and what for: one table
 * (sandbox.c). */
#ifndef WATCH_SANDBOX_H
#define WATCH_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/option/option.h"

/* Opens what takes a privilege that nothing needs later, and gives up, unless --sandbox=off, all
 * others: of this thread, and of whatever it starts from then on. Call it while there is one
 * thread, once CMD of `run` is forked (what it has is none of our business) and the state directory
 * is open. 0, or -errno after one line. */
int sandbox_enter(const struct options *o);

/* The capabilities that are kept, as CONFINE_CAP(). multi: the kernel has links to many places. */
uint64_t sandbox_capabilities(const struct options *o, bool multi);

#endif
