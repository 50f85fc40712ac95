/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.h - reads figures of NVIDIA's accelerators through libnvidia-ml.so.1, which comes with their
 * driver and is loaded when first needed. Its functions may block for any time: call from a helper
 * process. Not thread-safe: the process has one state for the library. */
#ifndef IDENTITY_NVML_H
#define IDENTITY_NVML_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/identity/held.h"

#define NVML_LIBRARY "libnvidia-ml.so.1"

/* Lists the devices of this machine, at most max, ordered by PCI address. The first call loads the
 * library and makes the list; later calls return the same list. Returns the number of devices, or
 * -errno after writing the reason to why, such as "libnvidia-ml.so.1 not found: ...". -ENOENT:
 * there is no such library; -ENOSYS: a function is missing in it; -EIO: it fails. After a failure
 * the next call tries again. */
int nvml_devices(struct device_id *ret, uint32_t max, char *why, size_t len);
/* Fills *ret, except at_ns, for the device with this index in the list of nvml_devices(). Figures
 * that the library does not report stay 0. Returns 0, or -ENODEV. */
int nvml_read(uint32_t index, struct gp_device *ret);

#endif
