/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_report.h - used by the commands that print one job of a store (gp-bpf report, gp-bpf
 * explain). */
#ifndef COMMAND_CMD_REPORT_H
#define COMMAND_CMD_REPORT_H

#include "userspace/option/option.h"

/* Prints a report, or for gp-bpf explain an explanation, of the job that the options name, or else
 * of the newest job. Returns the exit code. */
int cmd_report_run(const struct options *o);

#endif
