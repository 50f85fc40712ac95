/* SPDX-License-Identifier: Apache-2.0 */
/* linger.h - deferred close: lets the kernel close links later.
 *
 * Closing a tracepoint of system calls waits for grace periods (40-48 ms, measured on 6.18) under
 * one lock of the kernel, so four take four times as long, however many threads close them. Neither
 * jobs nor gp-bpf have to wait: a link that loses its last name in a BPF file system is closed by a
 * worker of the kernel (bpf_link_put() and bpf_link_put_direct()). */
#ifndef LOADER_LINGER_H
#define LOADER_LINGER_H

#include <stddef.h>

/* Makes the file system, so that the first linger_open() needs no privilege. When this fails,
 * linger_open() fails. */
void linger_prepare(void);
/* Returns a descriptor of a private BPF file system for the names of such links, which is gone when
 * the descriptor closes; or -errno: links have to be waited for. */
int linger_open(void);
/* Keeps the link alive beyond its descriptors, until folder is closed. i: a different number for
 * each link. Returns 0 or -errno. */
int linger_add(int folder, size_t i, int link_fd);

#endif
