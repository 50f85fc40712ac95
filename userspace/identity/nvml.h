/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.h - reads figures of NVIDIA's accelerators through libnvidia-ml.so.1, which comes with their
 * driver and is loaded when it is needed. Its functions may block for as long as they like: call in
 * a helper process. Not thread-safe; there is one state for the process. */
#ifndef IDENTITY_NVML_H
#define IDENTITY_NVML_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/identity/held.h"

#define NVML_LIBRARY "libnvidia-ml.so.1"

/* Loads the library and lists the devices of this machine, at most max, in the order of their PCI
 * addresses; only the first call does both. Returns the number of devices, or -errno, and then
 * writes the reason to why: "libnvidia-ml.so.1 not found: ...". -ENOENT: there is no such library;
 * -ENOSYS: it lacks a function; -EIO: it fails. After a failure the next call tries again. */
int nvml_devices(struct device_id *ret, uint32_t max, char *why, size_t len);
/* Fills *ret, except at_ns, for the device with this index in the list. Figures that the library
 * does not report stay 0. Returns 0, or -ENODEV. */
int nvml_read(uint32_t index, struct gp_device *ret);

#endif
