/* SPDX-License-Identifier: Apache-2.0 */
/* held.h - finds out which accelerators a process has open, and which of them it uses.
 *
 * A runtime opens all devices that the process may use, including those that it never uses. If
 * several are open, the device is derived from CUDA_VISIBLE_DEVICES and similar variables, and from
 * the rank of the process on this node, which its launcher set. If these do not determine one
 * device, the device is unknown. */
#ifndef IDENTITY_HELD_H
#define IDENTITY_HELD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HELD_MAX   64  /* limit of devices of a process that are considered */
#define HELD_NAMES 768 /* size of the list of visible devices with its NUL */

enum device_kind {
	DEVICE_NVIDIA, /* number 3 is /dev/nvidia3 */
	DEVICE_DRM,    /* number 129 is /dev/dri/renderD129 (AMD, Intel) */
};

struct device_id {
	enum device_kind kind;
	uint32_t number;
	char uuid[48]; /* "": unknown */
};

struct held {
	uint32_t count; /* number of devices that are open; 0: none */
	struct device_id device[HELD_MAX];
	/* Numbers given by the launcher: of the process among its job's processes on this node, and
	 * the number of these; -1: unknown. */
	int32_t local_rank, local_size;
	/* Devices to which the process's runtime is restricted, such as "2,3" or "GPU-8f6b..."; "":
	 * not restricted. */
	char visible[HELD_NAMES];
};

/* Reads the environment of a process, and which devices it has open. root: "", or the folder that
 * contains proc. Returns 0, -ESRCH, -EACCES or another -errno. Blocks while the mmap lock of the
 * process is held (see base/helper.h). */
int held_read(const char *root, pid_t pid, struct held *ret);
/* Returns the index in `all` (the n devices of this machine) of the device that the process uses.
 * ordered: `all` has the order in which the runtime numbers the devices; false: that order is not
 * known. Returns -ENODEV if the process has no device of `all` open, -ENOTUNIQ if it is not known
 * which device it uses. Pure. */
int held_choose(const struct held *h, const struct device_id *all, uint32_t n, bool ordered);

#endif
