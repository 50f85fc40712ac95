/* SPDX-License-Identifier: Apache-2.0 */
/* account_tensorboard.h - gp-bpf account LOG --export tensorboard:DIR: writes into event files what
 * the goodput library would have written of the log at one instant. */
#ifndef COMMAND_ACCOUNT_TENSORBOARD_H
#define COMMAND_ACCOUNT_TENSORBOARD_H

#include <stdbool.h>

#include "userspace/command/account.h"
#include "userspace/option/option.h"

/* *ret_dir: the folder named by the options; NULL: none. Returns 0, or -EINVAL after one line. */
int account_tensorboard_read(const struct options *o, const char **ret_dir);
/* Writes all jobs. Returns 0, or -errno after one line. */
int account_tensorboard_write(const char *dir, struct account *a);

#endif
