/* SPDX-License-Identifier: Apache-2.0 */
/* drm.h - reads figures of AMD's and Intel's accelerators from sysfs (/sys/class/drm). Drivers
 * answer some of these reads by asking the device, which may take milliseconds, or for ever if it
 * hangs: call in a helper process. root: "", or the folder that contains sys. */
#ifndef IDENTITY_DRM_H
#define IDENTITY_DRM_H

#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/identity/held.h"

/* Lists the devices of these vendors on this machine, at most max, by number, without asking the
 * devices themselves. Returns their number. */
uint32_t drm_devices(const char *root, struct device_id *ret, uint32_t max);
/* Fills *ret, except at_ns, for the device of /dev/dri/renderDNUMBER; what its driver does not
 * report stays 0. Returns 0; -ENOENT: there is no such device; -ENOTSUP: it is another vendor's. */
int drm_read(const char *root, uint32_t number, struct gp_device *ret);

#endif
