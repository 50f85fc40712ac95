/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_log.h - gp-bpf account LOG --export tensorboard:DIR: writes the event files that the
 * goodput library would have written at a given time, computed from its log. */
#ifndef EXPORT_TENSORBOARD_LOG_H
#define EXPORT_TENSORBOARD_LOG_H

#include "userspace/export/export.h"

/* The log_check() and log_write() functions of struct exporter. arg: the folder. */
int tensorboard_log_check(const char *arg, const struct export_options *opt,
			  struct export_log *log);
int tensorboard_log_write(const char *arg, const struct export_options *opt,
			  const struct export_log *log);

#endif
