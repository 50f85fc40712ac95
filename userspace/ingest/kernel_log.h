/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_log.h - finds accelerator faults in the kernel's log (/dev/kmsg): Xids of NVIDIA; of AMD's
 * driver ring timeouts, page faults, uncorrectable memory errors, and device resets.
 *
 * Formats: Documentation/ABI/testing/dev-kmsg of Linux; NVIDIA's "Xid Errors" (a line names the
 * process since driver 465 or so); drivers/gpu/drm/amd/amdgpu. Only lines logged by the kernel
 * itself count: other writers to the log could imitate a driver, but not the kernel. */
#ifndef INGEST_KERNEL_LOG_H
#define INGEST_KERNEL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"

#define KERNEL_LOG_RECORD 8192 /* CONSOLE_EXT_LOG_MAX, include/linux/printk.h: the longest read */

/* Parses one line of /dev/kmsg: "4,123,456789,-;NVRM: Xid (...". Returns true if it reports a
 * fault; *ret_pid: the process it names, in the initial pid namespace; 0: none. Pure. */
bool kernel_log_parse(const char *line, size_t len, struct gp_fault *ret, uint32_t *ret_pid);

typedef void kernel_log_fn(void *ctx, uint32_t pid, const struct gp_fault *f);
/* Calls fn for each fault in the bytes of one read: lines, the last one possibly incomplete.
 * Returns the number of lines. */
unsigned kernel_log_read(const char *data, size_t len, kernel_log_fn *fn, void *ctx);

#endif
