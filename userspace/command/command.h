/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - the commands of gp-bpf. Each gets its own argv (argv[0] is the command's name) and
 * returns the exit code. */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

#include "userspace/base/exit_code.h"

int cmd_pid(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_node(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_account(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_probes(int argc, char **argv);
int cmd_schema(int argc, char **argv);
int cmd_detach(int argc, char **argv);
int cmd_jobs(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_mark(int argc, char **argv);
int cmd_exclude(int argc, char **argv);
int cmd_bundle(int argc, char **argv);
int cmd_completion(int argc, char **argv);

#endif
