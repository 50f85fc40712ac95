/* SPDX-License-Identifier: Apache-2.0 */
/* accelerator.h - the model of this machine's accelerators, read from their driver's files in /proc
 * without a library. */
#ifndef IDENTITY_ACCELERATOR_H
#define IDENTITY_ACCELERATOR_H

#include <stddef.h>

/* Gets the model of the machine's NVIDIA devices, such as "NVIDIA H100 80GB HBM3", escaped. root:
 * "", or the folder that contains proc. Returns 0; -ENOENT: no device is listed; -EMEDIUMTYPE: the
 * machine has devices of several models. */
int accelerator_model(const char *root, char *out, size_t len);

#endif
