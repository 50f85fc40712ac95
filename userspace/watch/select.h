/* SPDX-License-Identifier: Apache-2.0 */
/* select.h - finds the processes that --name, --cgroup, --container and --pod select among those
 * running now. */
#ifndef WATCH_SELECT_H
#define WATCH_SELECT_H

#include "userspace/option/option.h"

/* Checks the form of --cgroup, --container and --pod. Returns 0, or -EINVAL after logging the
 * reason. */
int select_check(const struct options *o);
/* Adds the processes that match now to o->pids, as if named by --pid. If a process and its
 * descendants match, only the process is added, because its children are watched too. gp-bpf
 * processes and the ancestors of this one are excluded. Returns 0 (also if no such option is
 * given), or -errno: -ESRCH, -EINVAL... after logging the reason; -ENOMEM. */
int select_processes(struct options *o);

#endif
