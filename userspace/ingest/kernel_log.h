/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_log.h - finds accelerator faults in the kernel's log (/dev/kmsg): Xid errors of NVIDIA's
 * driver; ring timeouts, page faults, uncorrectable memory errors and device resets of AMD's
 * driver.
 *
 * The formats are defined in Documentation/ABI/testing/dev-kmsg of Linux, in NVIDIA's "Xid Errors"
 * (lines name the process since about driver 465), and in drivers/gpu/drm/amd/amdgpu. Lines that
 * processes wrote to the log are ignored, because they could imitate a driver. */
#ifndef INGEST_KERNEL_LOG_H
#define INGEST_KERNEL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"

/* size of the buffer for the longest line of /dev/kmsg: CONSOLE_EXT_LOG_MAX in
 * include/linux/printk.h */
#define KERNEL_LOG_RECORD 8192

/* Parses one line of /dev/kmsg, such as "4,123,456789,-;NVRM: Xid (...". Returns true if it
 * reports a fault. *ret_pid: process named in the line, as a pid of the initial namespace; 0:
 * none. Pure. */
bool kernel_log_parse(const char *line, size_t len, struct gp_fault *ret, uint32_t *ret_pid);

typedef void kernel_log_fn(void *ctx, uint32_t pid, const struct gp_fault *f);
/* Calls fn for each fault in the lines that one read returned, of which the last may be incomplete.
 * Returns the number of lines. */
unsigned kernel_log_read(const char *data, size_t len, kernel_log_fn *fn, void *ctx);

#endif
