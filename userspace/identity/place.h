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

/* path: from one line of /proc/PID/cgroup, hostile. In another cgroup namespace than ours the path
 * begins with "/..", and only the part below that counts. If we see the host's processes, our
 * namespace is the host's, or our own, which hides the upper part. */
void cgroup_place_parse(const char *path, struct cgroup_place *ret);
/* Uses the line with the most information (v1, v2 or both). text is NUL-terminated. */
void cgroup_place_of(const char *text, struct cgroup_place *ret);

/* Facts read from the files of a process. */
struct place_facts {
	struct cgroup_place cgroup;
	struct environment env;
	bool own; /* it runs in our own container or service, whose name is not a job's */
};

/* Returns 0 or -ESRCH. Fields that may not be read, or cannot be parsed, stay unknown. */
int place_read_facts(const char *root, pid_t pid, struct place_facts *ret);
/* The same through a helper process, because the mmap lock of the process may be held, as in
 * process_read_by_helper(): -ETIMEDOUT, -EBUSY. a NULL: read in this process. */
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
/* Nothing is known, so nothing need be recorded. */
bool place_empty(const struct gp_place *p);

#endif
