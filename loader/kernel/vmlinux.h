/* SPDX-License-Identifier: Apache-2.0 */
/* vmlinux.h - types of the running kernel, from its BTF: several MB that take long to read, so it
 * is read once for all callers during a start. Not thread-safe. */
#ifndef LOADER_VMLINUX_H
#define LOADER_VMLINUX_H

/* Returns the number of the type with that name and kind (BTF_KIND_*). -ENOENT: there is no such
 * type; other -errno: BTF cannot be read, and the next call tries again. */
int vmlinux_type(const char *name, unsigned kind);
/* Frees the BTF; call it when no more types are needed. */
void vmlinux_forget(void);

#endif
