/* SPDX-License-Identifier: Apache-2.0 */
/* held.h - which accelerators a process has open, and which of them it uses.
 *
 * A runtime opens all devices that the process may use, also those that it never uses. So if
 * several are open, the device follows from what the launcher of the process set:
 * CUDA_VISIBLE_DEVICES and its like for other vendors, and the rank of the process on this node. If
 * these do not name one device, the device is unknown. */
#ifndef IDENTITY_HELD_H
#define IDENTITY_HELD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HELD_MAX   64  /* devices of a process that are considered */
#define HELD_NAMES 768 /* size of the list of visible devices with its NUL */

enum device_kind {
	DEVICE_NVIDIA, /* /dev/nvidia3, number 3 */
	DEVICE_DRM,    /* /dev/dri/renderD129, number 129: AMD, Intel */
};

struct device_id {
	enum device_kind kind;
	uint32_t number;
	char uuid[48]; /* "": unknown */
};

struct held {
	uint32_t count; /* number of devices that are open; 0: none */
	struct device_id device[HELD_MAX];
	/* Numbers that the launcher gave: the process among those of its job on this node, and how
	 * many these are; -1: unknown. */
	int32_t local_rank, local_size;
	/* Devices to which its runtime is restricted: "2,3", "GPU-8f6b..."; "": to none. */
	char visible[HELD_NAMES];
};

/* Reads which devices a process has open, and its environment. root: "", or the folder that
 * contains proc. Returns 0, -ESRCH, -EACCES or another -errno. Blocks while the mmap lock of the
 * process is held (base/helper.h). */
int held_read(const char *root, pid_t pid, struct held *ret);
/* Returns the index in `all`, the n devices of this machine, of the device that the process uses.
 * ordered: they have the order in which their runtime numbers them; false: that order is unknown.
 * -ENODEV: it has none of them open; -ENOTUNIQ: it is not known which one. Pure. */
int held_choose(const struct held *h, const struct device_id *all, uint32_t n, bool ordered);

#endif
