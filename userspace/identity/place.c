/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/job_name.h"
#include "userspace/identity/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/helper.h"
#include "userspace/base/log.h"
#include "userspace/base/proc_file.h"
#include "userspace/kubernetes/pods.h"

_Static_assert(JOB_NAME_MAX == GP_JOB_MAX, "a name as it is kept fits into records");

/* Limit of bytes read from /proc/PID/cgroup: 13 hierarchies with paths of 4096 bytes. */
#define CGROUP_BYTES (64 << 10)

/* Number of digits of a container's id that are shown, as container tools do. */
#define SHORT_ID 12

/* ---- facts ----------------------------------------------------------------------------------- */

static int place_read_cgroup(const char *root, pid_t pid, struct cgroup_place *ret)
{
	char *text = malloc(CGROUP_BYTES);
	ssize_t n;

	memset(ret, 0, sizeof(*ret));
	ret->shared = true;
	if (!text)
		return -ENOMEM;
	n = proc_slurp(root, pid, "cgroup", text, CGROUP_BYTES);
	if (n > 0)
		cgroup_place_of(text, ret);
	free(text);
	return n < 0 ? (int)n : 0;
}

static bool place_same_unit(const struct cgroup_place *a, const struct cgroup_place *b)
{
	if (*a->container_id || *b->container_id)
		return !strcmp(a->container_id, b->container_id);
	return *a->service && !strcmp(a->service, b->service);
}

int place_read_facts(const char *root, pid_t pid, struct place_facts *ret)
{
	struct cgroup_place own;
	int err;

	memset(ret, 0, sizeof(*ret));
	err = place_read_cgroup(root, pid, &ret->cgroup);
	/* If the process exists, the kernel has no cgroups: continue without the cgroup file. */
	if (err == -ESRCH && !proc_owner(root, pid))
		return err;
	ret->own = !*root && !place_read_cgroup("", getpid(), &own) &&
		   place_same_unit(&own, &ret->cgroup);
	err = environment_read(root, pid, &ret->env);
	return err == -ESRCH ? err : 0;
}

struct ask {
	const char *root;
	long pid; /* a long, so that the struct has no padding: it is sent as raw bytes */
};

static ssize_t place_read_facts_there(const void *arg, void *ret, size_t cap)
{
	const struct ask *ask = arg;
	int err = cap < sizeof(struct place_facts)
			  ? -ENOBUFS
			  : place_read_facts(ask->root, (pid_t)ask->pid, ret);

	return err ? err : (ssize_t)sizeof(struct place_facts);
}

int place_read_facts_by_helper(struct helper *a, const char *root, pid_t pid,
			       struct place_facts *ret)
{
	struct ask ask = {root, pid};
	const void *answer;
	ssize_t n;

	if (!a)
		return place_read_facts(root, pid, ret);
	n = helper_call(a, place_read_facts_there, &ask, sizeof(ask), &answer);
	if (n < 0)
		return (int)n;
	memcpy(ret, answer, sizeof(*ret));
	return 0;
}

/* ---- location and job ------------------------------------------------------------------------ */

#define PUT(field, text) log_escape(field, sizeof(field), text, strlen(text))

/* Sets the name of the job unless a more trusted source has set it. */
static void place_name_job(struct gp_place *p, enum gp_job_from from, const char *name,
			   const char *uid)
{
	if (!*name || (p->job_from != GP_JOB_FROM_none && p->job_from <= from))
		return;
	p->job_from = (__u8)from;
	job_name_keep(p->job, name);
	PUT(p->job_uid, uid);
}

static const struct pod_container *place_container_of(const struct pod *pod, const char *id)
{
	for (uint32_t i = 0; *id && i < pod->ncontainers && i < POD_CONTAINERS; i++)
		if (!strcmp(pod->containers[i].id, id))
			return &pod->containers[i];
	return NULL;
}

static void place_pod_says(struct gp_place *p, const struct pod *pod, const char *container_id)
{
	const struct pod_container *c = place_container_of(pod, container_id);

	PUT(p->namespace, pod->namespace);
	PUT(p->pod, pod->name);
	PUT(p->node, pod->node);
	PUT(p->owner, pod->owner);
	p->attempt = pod->attempt;
	p->rank = pod->rank;
	p->later = pod->later;
	p->world_size = pod->world_size;
	p->created_ns = pod->created_ns;
	p->scheduled_ns = pod->scheduled_ns;
	if (c) {
		PUT(p->container_name, c->name);
		p->started_ns = c->started_ns;
	}
	if (pod->job_from < GP_JOB_FROM_COUNT)
		place_name_job(p, pod->job_from, pod->job, pod->job_uid);
}

/* Adds facts about the pod of the process. Returns 0; -EAGAIN: the pod's data has not arrived; with
 * other errors, only the pod's uid is known. *ret_set: the job is a JobSet. */
static int place_ask_pods(const struct place_facts *facts, const struct pods *pods,
			  struct gp_place *p, bool *ret_set)
{
	struct pod *pod;
	int err;

	if (!*facts->cgroup.pod_uid)
		return 0;
	if (!pods)
		return -ENOENT;
	pod = malloc(sizeof(*pod));
	if (!pod)
		return -EAGAIN;
	err = pods_get(pods, facts->cgroup.pod_uid, pod);
	if (!err) {
		place_pod_says(p, pod, facts->cgroup.container_id);
		*ret_set = pod->job_from == GP_JOB_FROM_jobset;
	}
	free(pod);
	return err;
}

/* Adds facts from the environment. The pod's index is its number within its Job. A JobSet may have
 * several Jobs, so for a JobSet the labels of the pod decide whether the index is a rank. */
static void place_environment_says(struct gp_place *p, const struct environment *env, bool set)
{
	/* If place_world is given, place_rank counts over all slices, and is therefore a rank. */
	if (env->place_world > 0 || (p->rank < 0 && !(set && env->place_index))) {
		p->rank = env->place_rank;
		p->world_size = env->place_world > 0 ? env->place_world : p->world_size;
	}
	p->later &= p->rank < 0;
	if (p->attempt < 0) {
		p->attempt = env->torch_restarts >= 0 ? env->torch_restarts : env->slurm_restarts;
		p->local_attempt = env->torch_restarts >= 0;
	}
	place_name_job(p, GP_JOB_FROM_jobset, env->jobset, "");
	place_name_job(p, GP_JOB_FROM_slurm, env->slurm_job, "");
	place_name_job(p, GP_JOB_FROM_torchelastic, env->torch_run, "");
}

/* Names a job after its service or container. After a restart, a service keeps its name, but a
 * container gets another one. */
static void place_unit_says(struct gp_place *p, const struct place_facts *facts)
{
	static const char *const words[GP_CONTAINER_COUNT] = {
		[GP_CONTAINER_containerd] = "containerd", [GP_CONTAINER_crio] = "crio",
		[GP_CONTAINER_docker] = "docker",	  [GP_CONTAINER_podman] = "podman",
		[GP_CONTAINER_unknown] = "container",
	};
	const struct cgroup_place *c = &facts->cgroup;
	char name[40];

	if (facts->own)
		return;
	place_name_job(p, GP_JOB_FROM_cgroup, c->service, "");
	if (!*c->container_id || !words[c->container])
		return;
	snprintf(name, sizeof(name), "%s-%.*s", words[c->container], SHORT_ID, c->container_id);
	place_name_job(p, GP_JOB_FROM_cgroup, name, "");
}

int place_make(const struct place_facts *facts, const char *job, const struct pods *pods,
	       struct gp_place *ret)
{
	const struct cgroup_place *c = &facts->cgroup;
	bool set = false;
	char name[64];
	int err;

	*ret = (struct gp_place){.attempt = -1, .rank = -1, .world_size = -1};
	ret->container = (__u8)c->container;
	PUT(ret->pod_uid, c->pod_uid);
	snprintf(ret->container_id, sizeof(ret->container_id), "%.*s", SHORT_ID, c->container_id);
	place_name_job(ret, GP_JOB_FROM_option, job ? job : "", "");
	err = place_ask_pods(facts, pods, ret, &set);
	place_environment_says(ret, &facts->env, set);
	place_name_job(ret, GP_JOB_FROM_slurm, c->slurm_job, "");
	if (err == -EAGAIN)
		return err;
	if (*c->pod_uid) {
		snprintf(name, sizeof(name), "pod-%s", c->pod_uid);
		place_name_job(ret, GP_JOB_FROM_pod, name, "");
	} else {
		place_unit_says(ret, facts);
	}
	return 0;
}

int place_read(const char *root, pid_t pid, const char *job, struct pods *pods,
	       struct gp_place *ret)
{
	struct place_facts facts;
	int err = place_read_facts(root, pid, &facts);

	return err ? err : place_make(&facts, job, pods, ret);
}

bool place_empty(const struct gp_place *p)
{
	static const struct gp_place none = {.attempt = -1, .rank = -1, .world_size = -1};

	return !memcmp(p, &none, sizeof(none));
}
