/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - checks the settings of a watch before any file or device is opened. */
#ifndef COMMAND_SETTINGS_H
#define COMMAND_SETTINGS_H

#include "userspace/option/option.h"

/* Returns 0, or -EINVAL after logging one line with the wrong setting and the values that it
 * accepts. */
int settings_check(const struct options *o);

#endif
