/* SPDX-License-Identifier: Apache-2.0 */
/* account_tensorboard.h - gp-bpf account LOG --export tensorboard:DIR: what the goodput library
 * would have written of the log at one instant, in event files. */
#ifndef COMMAND_ACCOUNT_TENSORBOARD_H
#define COMMAND_ACCOUNT_TENSORBOARD_H

#include <stdbool.h>

#include "userspace/command/account.h"
#include "userspace/option/option.h"

/* The folder that the options name; NULL: none. -EINVAL after one line. */
int account_tensorboard_read(const struct options *o, const char **ret_dir);
/* All jobs. 0 or -errno after one line. */
int account_tensorboard_write(const char *dir, struct account *a);

#endif
