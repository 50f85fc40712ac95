/* SPDX-License-Identifier: Apache-2.0 */
/* vmlinux.h - types of the running kernel, from its BTF: some MB that take long to read, so that it
 * is read once for all who ask during a start. Not thread-safe. */
#ifndef LOADER_VMLINUX_H
#define LOADER_VMLINUX_H

/* Number of the type of that name and kind (BTF_KIND_*). -ENOENT: there is none; -errno: it cannot
 * be read, which is tried again. */
int vmlinux_type(const char *name, unsigned kind);
/* Nobody asks any more: its memory is given back. */
void vmlinux_forget(void);

#endif
