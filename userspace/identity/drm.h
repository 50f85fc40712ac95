/* SPDX-License-Identifier: Apache-2.0 */
/* drm.h - reads figures of AMD's and Intel's accelerators from sysfs (/sys/class/drm). Some drivers
 * ask the device for these figures, which may take milliseconds, or for ever if the device hangs:
 * call from a helper process. root: "", or the folder that contains sys. */
#ifndef IDENTITY_DRM_H
#define IDENTITY_DRM_H

#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/identity/held.h"

/* Lists the devices of AMD and Intel on this machine, at most max, ordered by number. Does not
 * access the devices themselves. Returns their number. */
uint32_t drm_devices(const char *root, struct device_id *ret, uint32_t max);
/* Fills *ret, except at_ns, for the device /dev/dri/renderDNUMBER. Figures that its driver does not
 * report stay 0. Returns 0; -ENOENT: there is no such device; -ENOTSUP: the device is of another
 * vendor. */
int drm_read(const char *root, uint32_t number, struct gp_device *ret);

#endif
