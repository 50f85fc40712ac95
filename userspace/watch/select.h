/* SPDX-License-Identifier: Apache-2.0 */
/* select.h - finds the processes selected by --name, --cgroup, --container and --pod, at one
 * moment. */
#ifndef WATCH_SELECT_H
#define WATCH_SELECT_H

#include "userspace/option/option.h"

/* Checks the form of these options. Returns 0, or -EINVAL after one line. */
int select_check(const struct options *o);
/* Adds the processes that match now to o->pids, as if named by --pid. Of processes that descend
 * from each other only the first is added, because its children are watched too. gp-bpf processes
 * and our own ancestors are excluded. Returns 0 (also if no such option is given), or -ESRCH,
 * -EINVAL... after one line. */
int select_processes(struct options *o);

#endif
