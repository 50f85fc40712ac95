/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_report.h - shared by the commands that print one job of a store. */
#ifndef COMMAND_CMD_REPORT_H
#define COMMAND_CMD_REPORT_H

#include "userspace/option/option.h"

/* Prints the job that the options name, or the newest one, as a report or an explanation. Returns
 * the exit code. */
int cmd_report_run(const struct options *o);

#endif
