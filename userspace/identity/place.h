/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - finds where a process runs, and the name of its job: from its cgroup, its environment,
 * and the pods of the node (kubernetes/pods.h). The first of these that gives a name decides: the
 * user, JobSet, the controller of the pod, Slurm, torchelastic, the pod, the cgroup of a container
 * or a service. Without any, the model uses the tree of processes. */
#ifndef IDENTITY_PLACE_H
#define IDENTITY_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"
#include "userspace/identity/environment.h"

struct helper;
struct pods;

/* Facts from a cgroup path; "": not given. */
struct cgroup_place {
	enum gp_container container;
	char container_id[65]; /* usually 64 hexadecimal digits */
	char pod_uid[40];      /* with dashes */
	char slurm_job[24];
	char service[GP_JOB_MAX]; /* of a systemd service, without ".service"; not in containers */
	bool shared; /* a login session, the root, a slice: its processes are unrelated */
};

/* Parses a path from one line of /proc/PID/cgroup, which is hostile. The path of a process in
 * another cgroup namespace than gp-bpf's begins with "/..", and only the part after that counts. */
void cgroup_place_parse(const char *path, struct cgroup_place *ret);
/* Uses the line with the most information (v1, v2 or both). text is NUL-terminated. */
void cgroup_place_of(const char *text, struct cgroup_place *ret);

/* Facts read from the files of a process. */
struct place_facts {
	struct cgroup_place cgroup;
	struct environment env;
	/* The process runs in the container or service of gp-bpf itself, whose name is not a
	 * job's. */
	bool own;
};

/* Reads the facts of a process. Returns 0 or -ESRCH. Facts that may not be read, or cannot be
 * parsed, stay unknown. */
int place_read_facts(const char *root, pid_t pid, struct place_facts *ret);
/* Like place_read_facts(), but through a helper process, because the mmap lock of the process may
 * be held. -ETIMEDOUT, -EBUSY: see process_read_by_helper(). a NULL: read in this process. */
int place_read_facts_by_helper(struct helper *a, const char *root, pid_t pid,
			       struct place_facts *ret);
/* Derives the location and the job from the facts. job: the name given by the user, or NULL. pods:
 * NULL if there is no Kubernetes; used on the caller's thread only. Fills all of *ret. Returns 0,
 * or -EAGAIN: incomplete, because the pod's data has not arrived. */
int place_make(const struct place_facts *facts, const char *job, const struct pods *pods,
	       struct gp_place *ret);
/* place_read_facts() and place_make() in one. root: "", or the folder that contains proc. */
int place_read(const char *root, pid_t pid, const char *job, struct pods *pods,
	       struct gp_place *ret);
/* Returns true if nothing is known of the location, so that it need not be recorded. */
bool place_empty(const struct gp_place *p);

#endif
