/* SPDX-License-Identifier: Apache-2.0 */
/* examine_wait.h - what a sleep of an examined thread was for, and the name of what it waited for.
 * Pure. */
#ifndef WATCH_EXAMINE_WAIT_H
#define WATCH_EXAMINE_WAIT_H

#include <stddef.h>

#include "bpf/gp_abi.h"
#include "loader/loader.h"

/* Fills call for struct examine_request: which system calls have a descriptor. */
void examine_wait_calls(uint8_t call[EXAMINE_CALLS]);
/* Returns what the sleep was for. link: target of /proc/PID/fd/FD, read after the examination, so
 * it may be another file; "": none, or unknown. */
enum gp_wait examine_wait_kind(const struct examine_wait *w, const char *link);
/* Writes the name: the path of a file, of which a long one is cut at its beginning; "pipe:[123]";
 * the address of a peer; "": unknown. Hostile like its source. */
void examine_wait_name(char *out, size_t len, const struct examine_wait *w, enum gp_wait kind,
		       const char *link);

#endif
