/* SPDX-License-Identifier: Apache-2.0 */
/* accelerator.h - what accelerators this machine has, as their driver tells without being asked
 * through a library. */
#ifndef IDENTITY_ACCELERATOR_H
#define IDENTITY_ACCELERATOR_H

#include <stddef.h>

/* The model of all of NVIDIA's here ("NVIDIA H100 80GB HBM3"), escaped. root: "" or where /proc is
 * looked for. -ENOENT: there is none that is told of; -EMEDIUMTYPE: they differ. */
int accelerator_model(const char *root, char *out, size_t len);

#endif
