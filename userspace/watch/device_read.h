/* SPDX-License-Identifier: Apache-2.0 */
/* device_read.h - lists the accelerators of this machine and reads their figures. Runs in the
 * helper process of watch_device.c, because drivers and their libraries may block. */
#ifndef WATCH_DEVICE_READ_H
#define WATCH_DEVICE_READ_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"
#include "userspace/identity/held.h"

struct device_request {
	/* "", or the folder that contains sys; allocated before the helper process was started */
	const char *root;
	bool nvidia; /* list NVIDIA's devices, too: loads their library */
	/* Bit per device of the lists below whose figures are wanted. */
	uint64_t nvidia_read, drm_read;
};

struct device_reply {
	uint64_t at_ns;	  /* CLOCK_MONOTONIC */
	int32_t error;	  /* 0, or why NVIDIA's devices cannot be listed: -errno, and text */
	uint32_t nnvidia; /* the devices of NVIDIA on this machine, and of the other vendors */
	uint32_t ndrm;
	char why[192];
	struct device_id nvidia[HELD_MAX], drm[HELD_MAX];
	/* Figures of the wanted ones; an empty name: there are none. */
	struct gp_device nvidia_figures[HELD_MAX], drm_figures[HELD_MAX];
};

/* A helper_fn: request to reply. The first call gives the process its own name and drops every
 * privilege, because it runs code of others. */
ssize_t device_read_there(const void *arg, void *ret, size_t cap);

#endif
