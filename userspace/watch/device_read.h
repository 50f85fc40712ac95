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
	bool nvidia; /* also list NVIDIA's devices, which loads NVIDIA's library */
	/* A bit for each device of struct device_reply whose figures are requested. */
	uint64_t nvidia_read, drm_read;
};

struct device_reply {
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	/* 0, or -errno if NVIDIA's devices cannot be listed; `why` has the reason */
	int32_t error;
	/* Numbers of NVIDIA's devices and of the other vendors' devices on this machine. */
	uint32_t nnvidia;
	uint32_t ndrm;
	char why[192];
	struct device_id nvidia[HELD_MAX], drm[HELD_MAX];
	/* Figures of the requested devices. An empty name: there are no figures for this device. */
	struct gp_device nvidia_figures[HELD_MAX], drm_figures[HELD_MAX];
};

/* A helper_fn: reads a struct device_request and writes a struct device_reply. The first call
 * renames the helper process and drops all its privileges, because it runs vendors' code. */
ssize_t device_read_there(const void *arg, void *ret, size_t cap);

#endif
