/* SPDX-License-Identifier: Apache-2.0 */
/* linger.h - links that the kernel closes after us. Closing a tracepoint of system calls waits for
 * grace periods (40-48 ms, measured on 6.18) under one lock of the kernel's, so that four take four
 * times that, however many threads close them. No job waits for it, and neither need we: what loses
 * its last name in a BPF file system is closed by a worker of the kernel's (bpf_link_put() and
 * bpf_link_put_direct()). */
#ifndef LOADER_LINGER_H
#define LOADER_LINGER_H

#include <stddef.h>

/* The first linger_open() after it takes no privilege. Where that fails, so does linger_open(). */
void linger_prepare(void);
/* Where such links get a name that nobody sees: a BPF file system of our own, which ends with the
 * descriptor. A descriptor, or -errno: they have to be waited for. */
int linger_open(void);
/* From now on the link outlives its descriptors, until folder closes. i: another one for each. 0 or
 * -errno.
 */
int linger_add(int folder, size_t i, int link_fd);

#endif
