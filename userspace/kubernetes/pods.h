/* SPDX-License-Identifier: Apache-2.0 */
/* pods.h - the pods of this node, as the API server or the kubelet tells, kept current by threads
 * of its own: whoever asks gets what is known, at once. Nothing here waits for the network but
 * those threads. Everything that comes is hostile: bounded in bytes and number, text escaped and
 * cut. Without Kubernetes there are no threads.
 *
 * What it asks, and may: pods list, watch (with a field selector of this node); nodes list, watch
 * of this node, without which only the node's own notices are missing; with a kubelet nodes/pods
 * get, or before Kubernetes 1.33 nodes/proxy get. On Google Cloud the metadata server of the
 * machine too, for maintenance and preemption. The functions may be called from any thread. */
#ifndef KUBERNETES_PODS_H
#define KUBERNETES_PODS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"

#define PODS_MAX       1024 /* of one node: Kubernetes allows 110 by default, GKE 256 */
#define POD_CONTAINERS 16

struct pods_config {
	const char *node; /* name of this node; NULL: NODE_NAME of the environment, else the host's
			     name */
	/* "https://10.0.0.1:443", or "http://" of this machine (kubectl proxy), which gets no
	 * token; NULL: KUBERNETES_SERVICE_HOST and _PORT. */
	const char *server;
	const char *token_file,
		*ca_file;      /* NULL: those of the service account; read again each minute */
	const char *kubelet;   /* "https://NODE_IP:10250": asked instead of the server; NULL: not */
	bool kubelet_insecure; /* its certificate is not verified: few clusters sign it with their
				  CA */
};

struct pod_container {
	char name[64], id[65]; /* of the running one, else of the last; "": none yet; without
				  "containerd://" */
	int64_t started_ns, finished_ns; /* UTC; 0: unknown, or not yet */
	int64_t ended_ns;		 /* of the last that ended, as exit_code and reason are */
	uint32_t restarts;
	int exit_code;	 /* of the last that ended; -1: none did */
	char reason[32]; /* that the last ended for: "OOMKilled", "Error"; none ended: what it waits
			    for */
};

struct pod {
	char uid[40], namespace[64], name[128], node[64];
	/* What its labels, annotations and owner say of the job it is part of. */
	enum gp_job_from job_from;	   /* jobset, controller, pod */
	char owner[24];			   /* kind: "JobSet", "Job", "RayJob"... */
	char job[GP_JOB_MAX], job_uid[40]; /* "": the labels do not tell the uid of what is named */
	int attempt;	      /* restarts of all kinds so far; -1: not told, as the next two */
	int rank, world_size; /* of the pod: its completion index, or RANK and WORLD_SIZE of its
			       * specification */
	bool later;	      /* rank is not told, but it is not 0 */
	int64_t created_ns, scheduled_ns, initialized_ns, ready_ns; /* UTC; 0: not (yet) */
	int64_t deleted_ns; /* its deletion was asked for; or it was missed, and nobody had */
	bool gone;	    /* the list has it no more */
	char phase[16], reason[64]; /* "Running"; "Evicted", "PreemptionByScheduler"... */
	bool disrupted;		    /* its condition DisruptionTarget is true: reason says why */
	int64_t disrupted_ns;
	struct pod_container containers[POD_CONTAINERS];
	uint32_t ncontainers;
};

struct pods_view {    /* how that goes */
	bool here;    /* there is Kubernetes at all */
	bool current; /* the list is complete, and changes come */
	uint32_t pods;
	uint64_t lists, changes, failures;
	uint64_t lost;	   /* pods beyond PODS_MAX, objects beyond a mebibyte, notices that nobody
			    * took */
	int64_t last_ns;   /* of the last word from there, UTC */
	char trouble[200]; /* what is wrong now; "": nothing */
};

struct pods;
/* Starts to follow them. *ret NULL, 0: no Kubernetes is to be found here. -errno after one line. */
int pods_open(struct pods **ret, const struct pods_config *cfg);
void pods_close(struct pods *p); /* within a tenth of a second; NULL is fine */
/* Reads a pod. Returns 0; -EAGAIN: the list is not there yet; -ENOENT: the list does not have it (a
 * deleted pod stays known for ten minutes). uid: with dashes; for a pod of a file on the node
 * ("static") also the 32 hexadecimal digits in the name of its cgroup. */
int pods_get(const struct pods *p, const char *uid, struct pod *ret);
/* The pods that changed since it was last asked, each as it is now: fn is called on the caller's
 * thread. */
typedef void pods_change_fn(void *ctx, const struct pod *pod);
void pods_changes(struct pods *p, pods_change_fn *fn, void *ctx);
/* What ends processes, or may, once each: evictions, preemptions, deletions and OOM kills of pods;
 * conditions, taints and maintenance of the node, and their end. Likewise. */
typedef void pods_notice_fn(void *ctx, const struct gp_notice *notice);
void pods_notices(struct pods *p, pods_notice_fn *fn, void *ctx);
void pods_get_view(const struct pods *p, struct pods_view *ret);

#endif
