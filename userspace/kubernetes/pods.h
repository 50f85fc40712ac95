/* SPDX-License-Identifier: Apache-2.0 */
/* pods.h - knows the pods of this node. Threads get them from the API server or from the kubelet
 * and keep them current, so that callers get an answer at once; only these threads wait for the
 * network. Replies may be hostile: their size and number are limited, and texts are escaped and
 * cut. Outside of Kubernetes there are no threads.
 *
 * Permissions needed: list and watch pods (with a field selector for this node); list and watch
 * nodes (this node only; without it, events of the node are missing). With a kubelet: get
 * nodes/pods, or get nodes/proxy before Kubernetes 1.33. On Google Cloud the machine's metadata
 * server is asked for maintenance and preemption, too. All functions may be called from any
 * thread. */
#ifndef KUBERNETES_PODS_H
#define KUBERNETES_PODS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"

#define PODS_MAX       1024 /* limit of pods on a node; Kubernetes allows 110 by default, GKE 256 */
#define POD_CONTAINERS 16

struct pods_config {
	/* name of this node; NULL: NODE_NAME from the environment, or else the host name */
	const char *node;
	/* URL of the API server: "https://10.0.0.1:443", or "http://" of a server on this
	 * machine (kubectl proxy), to which no token is sent. NULL: from KUBERNETES_SERVICE_HOST
	 * and _PORT. */
	const char *server;
	const char *token_file, *ca_file; /* paths; NULL: the service account's; the files are read
					     again each minute */
	/* URL of the kubelet from which to get pods, "https://NODE_IP:10250"; NULL: get them from
	 * the API server */
	const char *kubelet;
	/* Do not verify the kubelet's certificate: in most clusters no known CA has signed it. */
	bool kubelet_insecure;
};

struct pod_container {
	/* Name of the container in the pod. id: of the running instance, or else of the last one,
	 * without "containerd://"; "": it has not started yet. */
	char name[64], id[65];
	int64_t started_ns, finished_ns; /* UTC; 0: not known, or not yet */
	/* end of the last instance that has ended; exit_code and reason are about this instance */
	int64_t ended_ns;
	uint32_t restarts;
	int exit_code; /* -1: none has ended */
	/* "OOMKilled", "Error"...; if no instance has ended: why the container is waiting */
	char reason[32];
};

struct pod {
	char uid[40], namespace[64], name[128], node[64];
	/* The following members say to which job the pod belongs, according to its labels,
	 * annotations and owner. */
	enum gp_job_from job_from; /* where the job's name is from: jobset, controller or pod */
	char owner[24];		   /* kind of the job: "JobSet", "Job", "RayJob"... */
	char job[GP_JOB_MAX], job_uid[40]; /* job_uid "": unknown */
	/* number of restarts so far; -1: unknown (also of rank and world_size) */
	int attempt;
	/* the pod's completion index, or RANK and WORLD_SIZE from its specification */
	int rank, world_size;
	bool later; /* the rank is unknown, but it is not 0 */
	int64_t created_ns, scheduled_ns, initialized_ns, ready_ns; /* UTC; 0: not yet */
	/* When deletion of the pod was requested. If the pod vanished without a request: when that
	 * was noticed. */
	int64_t deleted_ns;
	bool gone; /* the pod is no longer in the server's list */
	/* phase: "Running"...; reason: reason of the phase, such as "Evicted" or
	 * "PreemptionByScheduler" */
	char phase[16], reason[64];
	/* The condition DisruptionTarget is true; then `reason` is the reason of this condition. */
	bool disrupted;
	int64_t disrupted_ns;
	struct pod_container containers[POD_CONTAINERS];
	uint32_t ncontainers;
};

struct pods_view {    /* State of the connection to the API server or kubelet. */
	bool here;    /* this machine is in a Kubernetes cluster */
	bool current; /* the list of pods is complete, and changes to it arrive */
	uint32_t pods;
	uint64_t lists, changes, failures;
	/* Number of pods beyond PODS_MAX, objects of more than 1 MiB, and events that were dropped
	 * because the caller fetched them too late. */
	uint64_t lost;
	int64_t last_ns;   /* when the last message arrived, UTC */
	char trouble[200]; /* the current error; "": none */
};

struct pods;
/* Starts the threads. *ret is NULL if this machine is not in a Kubernetes cluster. Returns 0, or
 * -errno after logging one line. */
int pods_open(struct pods **ret, const struct pods_config *cfg);
void pods_close(struct pods *p); /* ends the threads within 0.1 s; p may be NULL */
/* Finds a pod. Returns 0; -EAGAIN: the list has not arrived yet; -ENOENT: the list does not have
 * the pod. Pods stay known for ten minutes after their deletion. uid: with dashes; for a static pod
 * (defined by a file on the node) also the 32 hexadecimal digits in the name of its cgroup. */
int pods_get(const struct pods *p, const char *uid, struct pod *ret);
/* Calls fn with the current state of each pod that has changed since the last call. Calls it on the
 * caller's thread. */
typedef void pods_change_fn(void *ctx, const struct pod *pod);
void pods_changes(struct pods *p, pods_change_fn *fn, void *ctx);
/* Calls fn, on the caller's thread, once for each new event that ends processes or may end them:
 * eviction, preemption, deletion and OOM kill of a pod; begin and end of a condition, a taint or
 * maintenance of the node. */
typedef void pods_notice_fn(void *ctx, const struct gp_notice *notice);
void pods_notices(struct pods *p, pods_notice_fn *fn, void *ctx);
void pods_get_view(const struct pods *p, struct pods_view *ret);

#endif
