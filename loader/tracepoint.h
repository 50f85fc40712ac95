/* SPDX-License-Identifier: Apache-2.0 */
/* tracepoint.h - perf events of tracepoints, whether tracefs is mounted or not. Nothing on the
 * system changes: an unmounted tracefs is opened as a detached mount of our own. */
#ifndef LOADER_TRACEPOINT_H
#define LOADER_TRACEPOINT_H

/* An event on all processes of all CPUs, to attach a BPF program to; name:
 * "syscalls/sys_enter_mmap". A descriptor or -errno. */
int tracepoint_open(const char *name);
long tracepoint_id(const char *name); /* its number or -errno */

#endif
