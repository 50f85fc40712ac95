/* SPDX-License-Identifier: Apache-2.0 */
/* examine_wait.h - classifies the sleeps of an examined thread: the kind of thing that the thread
 * waited for, and its name. Pure. */
#ifndef WATCH_EXAMINE_WAIT_H
#define WATCH_EXAMINE_WAIT_H

#include <stddef.h>

#include "bpf/gp_abi.h"
#include "loader/loader.h"

/* Fills call for struct examine_request: marks the system calls that take a file descriptor. */
void examine_wait_calls(uint8_t call[EXAMINE_CALLS]);
/* Returns the kind of thing that the sleep waited for. link: target of /proc/PID/fd/FD; "": none,
 * or unknown. It is read after the examination, so it may name another file. */
enum gp_wait examine_wait_kind(const struct examine_wait *w, const char *link);
/* Writes the name of the thing waited for: the path of a file (if too long, its end), "pipe:[123]"
 * or the address of a peer; "": unknown. The name is untrusted input. */
void examine_wait_name(char *out, size_t len, const struct examine_wait *w, enum gp_wait kind,
		       const char *link);

#endif
