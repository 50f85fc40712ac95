/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - finds where a process runs, and the name of its job, from its cgroup, its environment,
 * and the pods of the node (kubernetes/pods.h).
 *
 * The first of these sources that gives a name is used: the user, JobSet, the controller of the
 * pod, Slurm, torchelastic, the pod, the cgroup of a container or a service. If none does, the
 * model groups processes by their tree. */
#ifndef IDENTITY_PLACE_H
#define IDENTITY_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"
#include "userspace/identity/environment.h"

struct helper;
struct pods;

/* Facts from a cgroup path; "": not in the path. */
struct cgroup_place {
	enum gp_container container;
	char container_id[65]; /* usually 64 hexadecimal digits */
	char pod_uid[40];      /* UID of the pod, with dashes */
	char slurm_job[24];
	/* Name of a systemd service without ".service"; "" in containers. */
	char service[GP_JOB_MAX];
	/* true: the group is a login session, the root group or a slice, whose processes are
	 * unrelated to each other */
	bool shared;
};

/* Parses a path from one line of /proc/PID/cgroup, which is untrusted. If the process is in another
 * cgroup namespace than gp-bpf, its path begins with "/..": only the part after that is used. */
void cgroup_place_parse(const char *path, struct cgroup_place *ret);
/* Parses /proc/PID/cgroup (text, NUL-terminated) and uses the line with the most information: the
 * file has one line for each hierarchy. */
void cgroup_place_of(const char *text, struct cgroup_place *ret);

/* Facts read from the files of a process. */
struct place_facts {
	struct cgroup_place cgroup;
	struct environment env;
	/* The process runs in the container or service of gp-bpf itself, whose name must not become
	 * that of a job. */
	bool own;
};

/* Reads the facts about a process. Returns 0 or -ESRCH. Facts that cannot be read or parsed stay
 * unknown. */
int place_read_facts(const char *root, pid_t pid, struct place_facts *ret);
/* Like place_read_facts(), but through helper process a, because reading blocks while the mmap lock
 * of the process is held. a NULL: reads in this process. Returns -ETIMEDOUT or -EBUSY like
 * process_read_by_helper(). */
int place_read_facts_by_helper(struct helper *a, const char *root, pid_t pid,
			       struct place_facts *ret);
/* Derives the location and the job from the facts, and fills all of *ret. job: the name given by
 * the user, or NULL. pods: NULL without Kubernetes; used only on the caller's thread. Returns 0, or
 * -EAGAIN if *ret is incomplete because the pod's data has not arrived. */
int place_make(const struct place_facts *facts, const char *job, const struct pods *pods,
	       struct gp_place *ret);
/* Calls place_read_facts() and place_make(). root: "", or the folder that contains proc. */
int place_read(const char *root, pid_t pid, const char *job, struct pods *pods,
	       struct gp_place *ret);
/* Returns true if nothing is known about the location. Such a location need not be recorded. */
bool place_empty(const struct gp_place *p);

#endif
