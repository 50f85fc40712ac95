/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_log.h - faults of accelerators in the kernel's log (/dev/kmsg): NVIDIA's Xids; of AMD's
 * driver rings that time out, page faults, errors that memory could not correct, and the reset of a
 * device.
 *
 * Formats: Documentation/ABI/testing/dev-kmsg of Linux; NVIDIA's "Xid Errors" (a line names the
 * process since driver 465 or so); drivers/gpu/drm/amd/amdgpu. Only what the kernel itself has
 * logged is looked at: anybody who may write to the log can write like a driver, but not as the
 * kernel. */
#ifndef INGEST_KERNEL_LOG_H
#define INGEST_KERNEL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"

#define KERNEL_LOG_RECORD                                                                          \
	8192 /* CONSOLE_EXT_LOG_MAX, include/linux/printk.h: a read gives no more */

/* One line as /dev/kmsg gives it: "4,123,456789,-;NVRM: Xid (...". true: it tells of a fault;
 * *ret_pid: of the process that it names, as the initial pid namespace has it, 0: none. Pure. */
bool kernel_log_parse(const char *line, size_t len, struct gp_fault *ret, uint32_t *ret_pid);

typedef void kernel_log_fn(void *ctx, uint32_t pid, const struct gp_fault *f);
/* Faults in what one read gave: lines, the last one perhaps without an end. Returns how many
 * lines. */
unsigned kernel_log_read(const char *data, size_t len, kernel_log_fn *fn, void *ctx);

#endif
