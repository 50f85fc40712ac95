/* SPDX-License-Identifier: Apache-2.0 */
/* tracepoint.h - perf events of tracepoints, with tracefs mounted or not: an unmounted tracefs is
 * opened as a private detached mount, so nothing on the system changes. */
#ifndef LOADER_TRACEPOINT_H
#define LOADER_TRACEPOINT_H

/* Opens an event for all processes on all CPUs, to attach a BPF program to. name:
 * "syscalls/sys_enter_mmap". Returns a descriptor or -errno. */
int tracepoint_open(const char *name);
long tracepoint_id(const char *name); /* returns the number of the tracepoint, or -errno */

#endif
