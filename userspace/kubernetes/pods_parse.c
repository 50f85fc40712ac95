/* SPDX-License-Identifier: Apache-2.0 */
/* pods_parse.c - parses a Pod object (core/v1): its identity, the times of its events, and its
 * containers. */
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/kubernetes/pods_private.h"

/* number of hexadecimal digits in the uid that the kubelet makes for a static pod */
#define HASH_LEN 32

/* Copies a uid if it has only letters, digits and dashes: it becomes part of file names and
 * labels. */
static bool parse_uid(const cJSON *json, const char *name, char out[PODS_UID_MAX])
{
	static const char fits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-";
	const char *text = pods_string(json, name);
	size_t len = strnlen(text, PODS_UID_MAX);

	if (!len || len == PODS_UID_MAX || strspn(text, fits) != len)
		return false;
	memcpy(out, text, len + 1);
	return true;
}

/* ---- conditions */

static void parse_condition(const cJSON *condition, struct pod *ret)
{
	const struct {
		const char *name;
		int64_t *at_ns;
	} rows[] = {{"PodScheduled", &ret->scheduled_ns},
		    {"Initialized", &ret->initialized_ns},
		    {"Ready", &ret->ready_ns}};
	const char *type = pods_string(condition, "type");

	if (strcmp(pods_string(condition, "status"), "True") != 0)
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(type, rows[i].name))
			*rows[i].at_ns = pods_time(condition, "lastTransitionTime");
	if (!strcmp(type, "DisruptionTarget")) {
		ret->disrupted = true;
		ret->disrupted_ns = pods_time(condition, "lastTransitionTime");
		if (!ret->reason[0])
			pods_text(condition, "reason", ret->reason, sizeof(ret->reason));
	}
}

/* ---- containers */

/* Copies a container's id without the prefix of its runtime ("containerd://0123..."). */
static void parse_container_id(const cJSON *json, char out[65])
{
	const char *id = pods_string(json, "containerID"), *bare = strstr(id, "://");

	if (bare)
		id = bare + 3;
	if (*id)
		log_escape(out, 65, id, strlen(id));
}

static void parse_ended(const cJSON *terminated, struct pod_container *ret)
{
	if (!cJSON_IsObject(terminated))
		return;
	ret->exit_code = pods_number(terminated, "exitCode");
	ret->finished_ns = ret->ended_ns = pods_time(terminated, "finishedAt");
	pods_text(terminated, "reason", ret->reason, sizeof(ret->reason));
	if (!ret->id[0])
		parse_container_id(terminated, ret->id);
}

static void parse_container(const cJSON *status, struct pod_container *ret)
{
	const cJSON *state = pods_object(status, "state"), *last = pods_object(status, "lastState");
	const cJSON *running = pods_object(state, "running"),
		    *ended = pods_object(state, "terminated");
	int restarts = pods_number(status, "restartCount");

	pods_text(status, "name", ret->name, sizeof(ret->name));
	parse_container_id(status, ret->id);
	ret->restarts = restarts > 0 ? (uint32_t)restarts : 0;
	ret->exit_code = -1;
	if (!cJSON_IsObject(ended))
		ended = pods_object(last, "terminated");
	parse_ended(ended, ret);
	if (cJSON_IsObject(running)) {
		ret->started_ns = pods_time(running, "startedAt");
		ret->finished_ns = 0;
	} else {
		ret->started_ns = pods_time(ended, "startedAt");
	}
	if (!ret->reason[0])
		pods_text(pods_object(state, "waiting"), "reason", ret->reason,
			  sizeof(ret->reason));
}

static void parse_containers(const cJSON *status, struct pod *ret)
{
	/* Sidecar containers may be listed as init containers, so read both lists. */
	static const char *const lists[] = {"containerStatuses", "initContainerStatuses"};
	const cJSON *item;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		cJSON_ArrayForEach(item, pods_object(status, lists[i])) if (cJSON_IsObject(item) &&
									    ret->ncontainers <
										    POD_CONTAINERS)
			parse_container(item, &ret->containers[ret->ncontainers++]);
}

/* ---- the pod */

static void parse_alias(const cJSON *meta, char alias[PODS_UID_MAX])
{
	const char *hash = pods_string(pods_object(meta, "annotations"),
				       "kubernetes.io/config.hash");

	alias[0] = '\0';
	if (strlen(hash) == HASH_LEN && strspn(hash, "0123456789abcdef") == HASH_LEN)
		memcpy(alias, hash, HASH_LEN + 1);
}

/* Returns when deletion of the pod was requested. Kubernetes only gives the end of the grace
 * period, so its length is subtracted. */
static int64_t parse_deleted(const cJSON *meta)
{
	int64_t end_ns = pods_time(meta, "deletionTimestamp");
	int grace_s = pods_number(meta, "deletionGracePeriodSeconds");
	int64_t grace_ns = grace_s > 0 ? grace_s * INT64_C(1000000000) : 0;

	return end_ns > grace_ns ? end_ns - grace_ns : end_ns;
}

bool pods_parse(const cJSON *pod, struct pod *ret, char alias[PODS_UID_MAX])
{
	const cJSON *meta = pods_object(pod, "metadata"), *status = pods_object(pod, "status"),
		    *item;

	memset(ret, 0, sizeof(*ret));
	pods_text(meta, "name", ret->name, sizeof(ret->name));
	if (!parse_uid(meta, "uid", ret->uid) || !ret->name[0])
		return false;
	parse_alias(meta, alias);
	pods_text(meta, "namespace", ret->namespace, sizeof(ret->namespace));
	pods_text(pods_object(pod, "spec"), "nodeName", ret->node, sizeof(ret->node));
	pods_text(status, "phase", ret->phase, sizeof(ret->phase));
	pods_text(status, "reason", ret->reason, sizeof(ret->reason));
	ret->created_ns = pods_time(meta, "creationTimestamp");
	ret->deleted_ns = parse_deleted(meta);
	cJSON_ArrayForEach(item, pods_object(status, "conditions")) parse_condition(item, ret);
	parse_containers(status, ret);
	pods_parse_job(pod, ret);
	return true;
}
