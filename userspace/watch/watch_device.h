/* SPDX-License-Identifier: Apache-2.0 */
/* watch_device.h - records once a second the clock, temperature, power and errors of the
 * accelerator of each training process. A helper process, which is started when the first such
 * process has an accelerator open, reads them. Single-threaded. */
#ifndef WATCH_WATCH_DEVICE_H
#define WATCH_WATCH_DEVICE_H

#include "userspace/base/helper.h"
#include "userspace/output/journal.h"

struct devices;

/* look: helper process for reading other processes; root: "", or the folder that contains proc and
 * sys. Both are borrowed. Returns 0 or -ENOMEM. */
int devices_new(struct devices **ret, struct helper *look, const char *root);
void devices_free(struct devices *d); /* NULL is fine */
/* Takes the figures that were requested a second ago, and requests new ones. Call once a second,
 * before the tick record is written. */
void devices_tick(struct devices *d, struct journal *j, const struct output *out);

#endif
