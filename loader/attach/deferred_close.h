/* SPDX-License-Identifier: Apache-2.0 */
/* deferred_close.h - lets the kernel close links later.
 *
 * Closing a tracepoint of system calls waits for grace periods (40-48 ms, measured on 6.18) under
 * one lock of the kernel, so closing four takes four times as long, whatever the number of threads.
 * Jobs and gp-bpf do not have to wait: a link that loses its last name in a BPF file system is
 * closed by a worker of the kernel (bpf_link_put() and bpf_link_put_direct()). */
#ifndef LOADER_DEFERRED_CLOSE_H
#define LOADER_DEFERRED_CLOSE_H

#include <stddef.h>

/* Makes the private BPF file system in advance, so that the first deferred_close_open() needs no
 * privilege. If this fails, deferred_close_open() fails. */
void deferred_close_prepare(void);
/* Returns a descriptor of a private BPF file system for links that the kernel closes later; closing
 * the descriptor removes the file system. -errno: the caller has to close its links itself and
 * wait. */
int deferred_close_open(void);
/* Keeps the link alive beyond its descriptors, until folder is closed. i: a different number for
 * each link. Returns 0 or -errno. */
int deferred_close_add(int folder, size_t i, int link_fd);

#endif
