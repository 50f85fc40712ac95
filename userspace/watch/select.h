/* SPDX-License-Identifier: Apache-2.0 */
/* select.h - the processes that --name, --cgroup, --container and --pod mean, at one moment. */
#ifndef WATCH_SELECT_H
#define WATCH_SELECT_H

#include "userspace/option/option.h"

/* The form of these options: 0, or -EINVAL after one line. */
int select_check(const struct options *o);
/* Adds to o->pids who matches any of them now, as if it had been named by --pid: of those that
 * descend from each other the first, whose children are watched too. No gp-bpf, and nobody that it
 * descends from. 0 (also where none of these options is given), or -ESRCH, -EINVAL... after one
 * line. */
int select_processes(struct options *o);

#endif
