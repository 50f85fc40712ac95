/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - what can be said of the settings of a watch before anything is opened. */
#ifndef COMMAND_SETTINGS_H
#define COMMAND_SETTINGS_H

#include "userspace/option/option.h"

/* 0, or -EINVAL after one line which names the setting that is wrong, and what is allowed. */
int settings_check(const struct options *o);

#endif
