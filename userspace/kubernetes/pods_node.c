/* SPDX-License-Identifier: Apache-2.0 */
/* pods_node.c - finds signs on a Node object that processes on the node may be ended. These are
 * conditions (by convention, conditions for trouble are then true, and those named "...Ready" and
 * "...Healthy" are false), taints set because of an event (permanent taints such as nvidia.com/gpu
 * are ignored), and GKE's label for maintenance. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/kubernetes/pods_private.h"

#define MAINTENANCE_LABEL "cloud.google.com/active-node-maintenance"

void pods_say(struct gp_notice *notice, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_escape(notice->text, sizeof(notice->text), text, strlen(text));
}

static struct pods_signal *node_signal(struct pods_signal *signals, uint32_t *n, const char *what,
				       const char *name, uint8_t kind)
{
	struct pods_signal *s;
	char key[sizeof(s->key)];

	snprintf(key, sizeof(key), "%s %.48s", what, name);
	for (uint32_t i = 0; i < *n; i++)
		if (!strcmp(signals[i].key, key))
			return &signals[i]; /* A taint may be listed twice, with two effects: keep
					       one entry. */
	if (*n == PODS_SIGNALS)
		return NULL;
	s = &signals[(*n)++];
	memset(s, 0, sizeof(*s));
	memcpy(s->key, key, sizeof(key));
	s->notice.what = kind;
	return s;
}

static bool node_ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len >= n && !strcmp(text + len - n, end);
}

/* Returns the kind of event that a condition reports, judged by words in its name. */
static uint8_t node_kind(const char *name)
{
	if (strstr(name, "aintenance") || strstr(name, "ermination") || strstr(name, "Terminating"))
		return GP_NOTICE_maintenance;
	return strstr(name, "reempt") ? GP_NOTICE_preempted : GP_NOTICE_node;
}

static void node_condition(const cJSON *condition, struct pods_signal *signals, uint32_t *n)
{
	char type[64], status[16], reason[64], message[96];
	struct pods_signal *s;
	bool good;

	pods_text(condition, "type", type, sizeof(type));
	pods_text(condition, "status", status, sizeof(status));
	good = node_ends_in(type, "Ready") || node_ends_in(type, "Healthy");
	if (!type[0] || !strcmp(status, good ? "True" : "False"))
		return;
	/* The status "Unknown" is a sign of trouble only in conditions that should be true. */
	if (!good && strcmp(status, "True") != 0)
		return;
	s = node_signal(signals, n, "condition", type, node_kind(type));
	if (!s)
		return;
	pods_text(condition, "reason", reason, sizeof(reason));
	pods_text(condition, "message", message, sizeof(message));
	s->notice.at_ns = pods_time(condition, "lastTransitionTime");
	pods_say(&s->notice, "%s=%s%s%s%s%s", type, status, reason[0] ? ": " : "", reason,
		 message[0] ? ": " : "", message);
}

/* Returns the kind of event for which a taint was set; 0: the taint is permanent. */
static uint8_t node_taint_kind(const char *key, const char *effect)
{
	static const struct {
		const char *key;
		uint8_t kind;
	} rows[] = {{"cloud.google.com/impending-node-termination", GP_NOTICE_maintenance},
		    {"cloud.google.com/maintenance-window-started", GP_NOTICE_maintenance},
		    {"ToBeDeletedByClusterAutoscaler", GP_NOTICE_node},
		    {"karpenter.sh/disrupted", GP_NOTICE_node},
		    {"karpenter.sh/disruption", GP_NOTICE_node}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(key, rows[i].key))
			return rows[i].kind;
	if (!strncmp(key, "node.kubernetes.io/", 19) ||
	    !strncmp(key, "node.cloudprovider.kubernetes.io/", 33))
		return GP_NOTICE_node;
	return strcmp(effect, "NoExecute") != 0 ? 0 : GP_NOTICE_node;
}

static void node_taint(const cJSON *taint, struct pods_signal *signals, uint32_t *n)
{
	char key[96], value[48], effect[24];
	struct pods_signal *s;
	uint8_t kind;

	pods_text(taint, "key", key, sizeof(key));
	pods_text(taint, "value", value, sizeof(value));
	pods_text(taint, "effect", effect, sizeof(effect));
	kind = key[0] ? node_taint_kind(key, effect) : 0;
	s = kind ? node_signal(signals, n, "taint", key, kind) : NULL;
	if (!s)
		return;
	s->notice.at_ns = pods_time(taint, "timeAdded");
	pods_say(&s->notice, "taint %s%s%s:%s", key, value[0] ? "=" : "", value, effect);
}

uint32_t pods_parse_node(const cJSON *node, struct pods_signal signals[PODS_SIGNALS])
{
	const cJSON *labels = pods_object(pods_object(node, "metadata"), "labels"), *item;
	struct pods_signal *s;
	char value[48];
	uint32_t n = 0;

	pods_text(labels, MAINTENANCE_LABEL, value, sizeof(value));
	if (!strcmp(value, "ONGOING") || !strcmp(value, "true")) {
		s = node_signal(signals, &n, "label", MAINTENANCE_LABEL, GP_NOTICE_maintenance);
		pods_say(&s->notice, "label " MAINTENANCE_LABEL "=%s", value);
	}
	cJSON_ArrayForEach(item, pods_object(pods_object(node, "spec"), "taints"))
		node_taint(item, signals, &n);
	cJSON_ArrayForEach(item, pods_object(pods_object(node, "status"), "conditions"))
		node_condition(item, signals, &n);
	return n;
}
