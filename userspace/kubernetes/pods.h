/* SPDX-License-Identifier: Apache-2.0 */
/* pods.h - the pods of this node, from the API server or the kubelet, kept current by threads:
 * callers get the present knowledge at once. Only those threads wait for the network. Replies are
 * hostile: bounded in bytes and number, texts escaped and cut. Without Kubernetes there are no
 * threads.
 *
 * Needed permissions: pods list, watch (with a field selector of this node); nodes list, watch of
 * this node, without which only events of the node are missing; with a kubelet nodes/pods get, or
 * before Kubernetes 1.33 nodes/proxy get. On Google Cloud also asks the machine's metadata server
 * for maintenance and preemption. All functions may be called from any thread. */
#ifndef KUBERNETES_PODS_H
#define KUBERNETES_PODS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"

#define PODS_MAX       1024 /* limit of pods of a node; Kubernetes allows 110 by default, GKE 256 */
#define POD_CONTAINERS 16

struct pods_config {
	const char *node; /* name of this node; NULL: NODE_NAME of the environment, else the host
			     name */
	/* "https://10.0.0.1:443", or "http://" of this machine (kubectl proxy), to which no token
	 * is sent; NULL: KUBERNETES_SERVICE_HOST and _PORT. */
	const char *server;
	const char *token_file,
		*ca_file;    /* NULL: those of the service account; read again each minute */
	const char *kubelet; /* "https://NODE_IP:10250": used instead of the server; NULL: no */
	/* Do not verify the kubelet's certificate, which few clusters sign. */
	bool kubelet_insecure;
};

struct pod_container {
	/* Name, and id of the running container, else of the last one; "": none yet; id without
	 * "containerd://". */
	char name[64], id[65];
	int64_t started_ns, finished_ns; /* UTC; 0: unknown, or not yet */
	int64_t ended_ns; /* of the last container that ended, as are exit_code and reason */
	uint32_t restarts;
	int exit_code;	 /* -1: none has ended */
	char reason[32]; /* "OOMKilled", "Error"...; if none has ended: why it is waiting */
};

struct pod {
	char uid[40], namespace[64], name[128], node[64];
	/* The pod's job, from its labels, annotations and owner. */
	enum gp_job_from job_from;	   /* jobset, controller, pod */
	char owner[24];			   /* kind: "JobSet", "Job", "RayJob"... */
	char job[GP_JOB_MAX], job_uid[40]; /* job_uid "": unknown */
	int attempt;	      /* restarts of all kinds so far; -1: unknown, as the next two */
	int rank, world_size; /* of the pod: its completion index, or RANK and WORLD_SIZE of its
				 specification */
	bool later;	      /* rank is unknown, but not 0 */
	int64_t created_ns, scheduled_ns, initialized_ns, ready_ns; /* UTC; 0: not yet */
	/* When deletion of the pod was requested; if it vanished without a request, when that
	 * was noticed. */
	int64_t deleted_ns;
	bool gone;		    /* the pod is no longer in the list */
	char phase[16], reason[64]; /* "Running"; "Evicted", "PreemptionByScheduler"... */
	/* The pod's condition DisruptionTarget is true, and reason is that of the condition. */
	bool disrupted;
	int64_t disrupted_ns;
	struct pod_container containers[POD_CONTAINERS];
	uint32_t ncontainers;
};

struct pods_view {    /* state of the connection */
	bool here;    /* this machine belongs to a cluster */
	bool current; /* the list of pods is complete, and changes arrive */
	uint32_t pods;
	uint64_t lists, changes, failures;
	/* Pods beyond PODS_MAX, objects of more than a MiB, events that were dropped because the
	 * caller did not take them in time. */
	uint64_t lost;
	int64_t last_ns;   /* UTC of the last message */
	char trouble[200]; /* the present error; "": none */
};

struct pods;
/* Starts the threads. *ret is NULL if there is no Kubernetes here. Returns 0, or -errno after one
 * line. */
int pods_open(struct pods **ret, const struct pods_config *cfg);
void pods_close(struct pods *p); /* returns within 0.1 s; NULL is fine */
/* Finds a pod. Returns 0; -EAGAIN: the list has not arrived yet; -ENOENT: the list does not have
 * the pod (a deleted pod stays known for ten minutes). uid: with dashes; for a pod of a file on the
 * node ("static") also the 32 hexadecimal digits in the name of its cgroup. */
int pods_get(const struct pods *p, const char *uid, struct pod *ret);
/* Calls fn, on the caller's thread, with the present state of each pod that has changed since the
 * last call. */
typedef void pods_change_fn(void *ctx, const struct pod *pod);
void pods_changes(struct pods *p, pods_change_fn *fn, void *ctx);
/* Calls fn, on the caller's thread, once for each event that ends processes or may do so:
 * evictions, preemptions, deletions and OOM kills of pods; conditions, taints and maintenance of
 * the node, and their ends. */
typedef void pods_notice_fn(void *ctx, const struct gp_notice *notice);
void pods_notices(struct pods *p, pods_notice_fn *fn, void *ctx);
void pods_get_view(const struct pods *p, struct pods_view *ret);

#endif
