/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - where a process runs and what whoever runs it calls its job: from its cgroup, its
 * environment, and the pods of the node (kubernetes/pods.h). The first of these that says so names
 * the job: the user, JobSet, what controls the pod, Slurm, torchelastic, the
 * pod, the cgroup of a container or a service; else the tree of processes does, which is the
 * model's. */
#ifndef IDENTITY_PLACE_H
#define IDENTITY_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"
#include "userspace/identity/environment.h"

struct aside;
struct pods;

/* What a cgroup path says; "": nothing. */
struct cgroup_place {
	enum gp_container container;
	char container_id[65]; /* 64 hexadecimal digits, as a rule */
	char pod_uid[40];      /* with dashes */
	char slurm_job[24];
	char service[GP_JOB_MAX]; /* a systemd service's, without ".service"; in no container */
	bool shared; /* a login session, the root, a slice: its processes have nothing in common */
};

/* path: of one line of /proc/PID/cgroup, hostile. The path of a process in another cgroup namespace
 * than ours begins with "/..", and the part below that counts. If we see the host's processes, our
 * namespace is the host's, or one of our own, in which the part above is hidden. */
void cgroup_place_parse(const char *path, struct cgroup_place *ret);
/* Takes the line that says most of all lines (v1, v2, both). text is NUL-terminated. */
void cgroup_place_of(const char *text, struct cgroup_place *ret);

/* Facts read from the files of a process. */
struct place_facts {
	struct cgroup_place cgroup;
	struct environment env;
	bool own; /* its container or service is the one that we run in: that names no job */
};

/* 0; -ESRCH. Fields that may not be read, or cannot be parsed, stay unknown. */
int place_read_facts(const char *root, pid_t pid, struct place_facts *ret);
/* The same of a process that may hold its address space locked, as process_read_aside():
 * -ETIMEDOUT, -EBUSY. a NULL: read here. */
int place_read_facts_aside(struct aside *a, const char *root, pid_t pid, struct place_facts *ret);
/* What follows. job: what the user said, or NULL. pods: NULL where there are none; asked on the
 * caller's thread, never in another process. Fills all of *ret. 0; -EAGAIN: as far as it is known,
 * what the pod says is still to come. */
int place_make(const struct place_facts *facts, const char *job, const struct pods *pods,
	       struct gp_place *ret);
/* Both, read here. root: "" or where /proc is looked for. */
int place_read(const char *root, pid_t pid, const char *job, struct pods *pods,
	       struct gp_place *ret);
/* Nothing is known: nothing is to be told of it. */
bool place_empty(const struct gp_place *p);

#endif
