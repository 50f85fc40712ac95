/* SPDX-License-Identifier: Apache-2.0 */
/* pods_job.c - finds the job to which a pod belongs, from the labels of job controllers: JobSet
 * (jobset.sigs.k8s.io), Kubeflow (training.kubeflow.org: PyTorchJob, MPIJob...), Ray (ray.io), Job
 * (batch.kubernetes.io). For other controllers it uses the owner reference. Everyone with the
 * permission to create pods can set these labels, so they only name jobs and grant nothing. */
#include <string.h>

#include "userspace/base/job_name.h"
#include "userspace/base/log.h"
#include "userspace/kubernetes/pods_private.h"

#define JOBSET	 "jobset.sigs.k8s.io/"
#define KUBEFLOW "training.kubeflow.org/"
#define BATCH	 "batch.kubernetes.io/"
#define RAY	 "ray.io/"

/* A pod, and the fields of its JSON from which the job is found. */
struct job_facts {
	const cJSON *labels, *notes, *owner; /* notes: annotations */
	struct pod *pod;
};

static const char *job_string(const cJSON *json, const char *name)
{
	const char *text = cJSON_GetStringValue(pods_object(json, name));

	return text && *text ? text : NULL;
}

static void job_copy(char *out, size_t cap, const char *text)
{
	if (text)
		log_escape(out, cap, text, strlen(text));
	else
		out[0] = '\0';
}

static void job_set_name(struct job_facts *f, enum gp_job_from from, const char *owner,
			 const char *name, const char *uid)
{
	f->pod->job_from = from;
	job_copy(f->pod->owner, sizeof(f->pod->owner), owner);
	job_name_keep(f->pod->job, name ? name : "");
	job_copy(f->pod->job_uid, sizeof(f->pod->job_uid), uid);
}

/* Returns the number in a label or annotation; -1: there is none. */
static int job_number(const struct job_facts *f, const char *key)
{
	int value = pods_number(f->labels, key);

	return value < 0 ? pods_number(f->notes, key) : value;
}

/* Returns the owner reference of the pod's controller, or its only owner reference; NULL: none. */
static const cJSON *job_owner(const cJSON *meta)
{
	const cJSON *owners = pods_object(meta, "ownerReferences"), *owner;

	cJSON_ArrayForEach(owner,
			   owners) if (cJSON_IsTrue(pods_object(owner, "controller"))) return owner;
	return cJSON_GetArraySize(owners) == 1 ? owners->child : NULL;
}

/* Returns the number of restarts of a JobSet: the sum of its counters for restarts of the whole
 * set, for restarts of this Job, and for restarts in place (without new pods). */
static int job_set_attempt(const struct job_facts *f)
{
	static const char *const keys[] = {JOBSET "restart-attempt", JOBSET "job-restart-attempt",
					   JOBSET "in-place-restart-attempt"};
	int64_t sum = -1;
	int value;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		value = job_number(f, keys[i]);
		if (value >= 0)
			sum = (sum < 0 ? 0 : sum) + value;
	}
	return sum > INT32_MAX ? INT32_MAX : (int)sum;
}

static bool job_of_set(struct job_facts *f)
{
	const char *name = job_string(f->labels, JOBSET "jobset-name");
	int index = job_number(f, BATCH "job-completion-index"),
	    at = job_number(f, JOBSET "job-global-index");
	int jobs = job_number(f, JOBSET "global-replicas");

	if (!name)
		return false;
	job_set_name(f, GP_JOB_FROM_jobset, "JobSet", name,
		     job_string(f->labels, JOBSET "jobset-uid"));
	f->pod->attempt = job_set_attempt(f);
	/* Ranks are numbered through all Jobs of the set, and the sizes of earlier Jobs are not
	 * known here. The rank is only known in the first Job, or if all Jobs have the same
	 * template and thus the same size. */
	if (at == 0 || jobs == 1)
		f->pod->rank = index;
	else if (at > 0 && jobs > 0)
		f->pod->later = job_number(f, JOBSET "replicatedjob-replicas") == jobs;
	return true;
}

static bool job_of_kubeflow(struct job_facts *f)
{
	static const struct {
		const char *operator, * kind;
	} rows[] = {{"pytorchjob-controller", "PyTorchJob"},
		    {"mpijob-controller", "MPIJob"},
		    {"mpi-operator", "MPIJob"},
		    {"tfjob-controller", "TFJob"},
		    {"jaxjob-controller", "JAXJob"},
		    {"xgboostjob-controller", "XGBoostJob"},
		    {"paddlejob-controller", "PaddleJob"}};
	const char *name = job_string(f->labels, KUBEFLOW "job-name");
	const char *operator= job_string(f->labels, KUBEFLOW "operator-name");
	const char *kind = job_string(f->owner, "kind"), *uid = job_string(f->owner, "uid");

	if (!name)
		return false;
	/* The launcher pod of an MPIJob is owned by a Job, but the job to name is the MPIJob. */
	if (!kind || !strcmp(kind, "Job")) {
		kind = uid = NULL;
		for (size_t i = 0; operator&& i<sizeof(rows) / sizeof(rows[0]); i++)
			if (!strcmp(operator, rows[i].operator))
				kind = rows[i].kind;
	}
	job_set_name(f, GP_JOB_FROM_controller, kind ? kind : "Job", name, uid);
	return true;
}

static bool job_of_ray(struct job_facts *f)
{
	const char *name = job_string(f->labels, RAY "originated-from-cr-name");
	const char *kind = job_string(f->labels, RAY "originated-from-crd");
	const char *cluster = job_string(f->labels, RAY "cluster");
	const char *uid = job_string(f->owner, "uid"), *owner = job_string(f->owner, "kind");

	if (name && kind) {
		job_set_name(f, GP_JOB_FROM_controller, kind, name,
			     owner && !strcmp(owner, kind) ? uid : NULL);
		return true;
	}
	if (!cluster)
		return false;
	job_set_name(f, GP_JOB_FROM_controller, "RayCluster", cluster,
		     owner && !strcmp(owner, "RayCluster") ? uid : NULL);
	return true;
}

static bool job_of_batch(struct job_facts *f)
{
	const char *name = job_string(f->labels, BATCH "job-name");
	const char *uid = job_string(f->labels, BATCH "controller-uid");

	if (!name)
		name = job_string(f->labels, "job-name"); /* label used before Kubernetes 1.27 */
	if (!uid)
		uid = job_string(f->labels, "controller-uid");
	/* The labels job-name and controller-uid have no prefix, so without a uid another program
	 * may have set them. */
	if (!name || !uid)
		return false;
	job_set_name(f, GP_JOB_FROM_controller, "Job", name, uid);
	f->pod->attempt = job_number(f, BATCH "job-index-failure-count");
	f->pod->rank = job_number(f, BATCH "job-completion-index");
	return true;
}

/* Names the job after the Deployment of a ReplicaSet, whose name is that of the ReplicaSet without
 * the hash. */
static void job_of_replicas(struct job_facts *f, const char *name)
{
	const char *hash = job_string(f->labels, "pod-template-hash");
	size_t len = strlen(name), cut = hash ? strlen(hash) + 1 : 0;
	struct pod *pod = f->pod;

	if (!cut || len <= cut || name[len - cut] != '-' || strcmp(name + len - cut + 1, hash) != 0)
		return;
	job_set_name(f, GP_JOB_FROM_controller, "Deployment", name, NULL);
	if (len - cut < sizeof(pod->job))
		pod->job[len - cut] = '\0';
}

static void job_of_owner(struct job_facts *f)
{
	const char *kind = job_string(f->owner, "kind"), *name = job_string(f->owner, "name");

	/* A static pod is owned by the node, so the pod itself names the job. */
	if (!kind || !name || !strcmp(kind, "Node")) {
		job_set_name(f, GP_JOB_FROM_pod, "Pod", f->pod->name, f->pod->uid);
		return;
	}
	job_set_name(f, GP_JOB_FROM_controller, kind, name, job_string(f->owner, "uid"));
	if (!strcmp(kind, "ReplicaSet"))
		job_of_replicas(f, name);
}

/* Gets rank and size from the environment variables in the pod's specification, from the first
 * container that has them. Kubernetes operators set these variables for the training process. */
static void job_environment(const cJSON *pod, struct pod *ret)
{
	const cJSON *container, *variable;
	const char *name;
	int rank, size;

	cJSON_ArrayForEach(container, pods_object(pods_object(pod, "spec"), "containers"))
	{
		rank = size = -1;
		cJSON_ArrayForEach(variable, pods_object(container, "env"))
		{
			name = job_string(variable, "name");
			if (name && !strcmp(name, "RANK"))
				rank = pods_number(variable, "value");
			else if (name && !strcmp(name, "WORLD_SIZE"))
				size = pods_number(variable, "value");
		}
		if (rank < 0 || size <= rank)
			continue;
		ret->rank = rank;
		ret->world_size = size;
		ret->later = false;
		return;
	}
}

void pods_parse_job(const cJSON *pod, struct pod *ret)
{
	const cJSON *meta = pods_object(pod, "metadata");
	struct job_facts f = {.labels = pods_object(meta, "labels"),
			      .notes = pods_object(meta, "annotations"),
			      .owner = job_owner(meta),
			      .pod = ret};

	ret->attempt = ret->rank = ret->world_size = -1;
	ret->later = false;
	if (!job_of_set(&f) && !job_of_kubeflow(&f) && !job_of_ray(&f) && !job_of_batch(&f))
		job_of_owner(&f);
	job_environment(pod, ret);
}
