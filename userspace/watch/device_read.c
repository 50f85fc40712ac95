/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/device_read.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "userspace/base/clock.h"
#include "userspace/base/confine.h"
#include "userspace/identity/drm.h"
#include "userspace/identity/nvml.h"

/* Number of requests after which a library that could not be loaded is tried again, and after which
 * the list of devices is read again. */
#define RETRY_AFTER 60

/* Drops all capabilities, and blocks system calls that reach other processes or the network. On a
 * kernel without such filters the calls stay allowed, as in other helper processes. */
static int device_read_confine(void)
{
	static bool done;
	int err;

	if (done)
		return 0;
	prctl(PR_SET_NAME, "gp-bpf-device");
	err = confine_capabilities(0);
	if (err)
		return err;
	confine_calls(CONFINE_READER);
	done = true;
	return 0;
}

static void device_read_nvidia(struct device_reply *r)
{
	static struct {
		uint32_t pause;
		int err;
		char why[sizeof(r->why)];
	} last;
	int n;

	if (last.pause && last.pause--) {
		r->error = last.err;
		memcpy(r->why, last.why, sizeof(r->why));
		return;
	}
	n = nvml_devices(r->nvidia, HELD_MAX, r->why, sizeof(r->why));
	if (n >= 0) {
		r->nnvidia = (uint32_t)n;
		return;
	}
	r->error = last.err = n;
	memcpy(last.why, r->why, sizeof(last.why));
	last.pause = RETRY_AFTER;
}

/* Reads the list of the other vendors' devices only every RETRY_AFTER requests, because it takes as
 * long as reading the figures of two devices. */
static void device_read_list(const char *root, struct device_reply *r)
{
	static struct {
		uint32_t pause, count;
		struct device_id device[HELD_MAX];
	} list;

	if (!list.pause) {
		list.count = drm_devices(root, list.device, HELD_MAX);
		list.pause = RETRY_AFTER;
	}
	list.pause--;
	r->ndrm = list.count;
	memcpy(r->drm, list.device, sizeof(r->drm));
}

ssize_t device_read_there(const void *arg, void *ret, size_t cap)
{
	const struct device_request *ask = arg;
	struct device_reply *r = ret;
	int err = cap < sizeof(*r) ? -ENOBUFS : device_read_confine();

	if (err)
		return err;
	*r = (struct device_reply){.at_ns = clock_mono_ns()};
	if (ask->nvidia)
		device_read_nvidia(r);
	device_read_list(ask->root, r);
	for (uint32_t i = 0; i < r->nnvidia; i++) {
		if (ask->nvidia_read >> i & 1 && nvml_read(i, &r->nvidia_figures[i]))
			r->nvidia_figures[i] = (struct gp_device){0};
	}
	for (uint32_t i = 0; i < r->ndrm; i++) {
		if (ask->drm_read >> i & 1 &&
		    drm_read(ask->root, r->drm[i].number, &r->drm_figures[i]))
			r->drm_figures[i] = (struct gp_device){0};
	}
	return sizeof(*r);
}
