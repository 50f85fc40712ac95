/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/handover/config_map.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/json_text.h"
#include "userspace/kubernetes/pods_field.h"

#define KEY	  "carry" /* in its data */
#define MANAGER	  "app.kubernetes.io/managed-by"
#define MANAGED	  "gp-bpf"
#define UID_LABEL "gp-bpf/job-uid"
#define UNTIL	  "gp-bpf/known-until"
#define LABEL_MAX 63
#define WRITE_RULE                                                                                 \
	"its service account needs a Role in namespace %s with configmaps: get, create, patch"

bool config_map_is_space(const char *name)
{
	size_t len = strlen(name);

	if (!len || len > CONFIG_MAP_SPACE_MAX || name[0] == '-' || name[len - 1] == '-')
		return false;
	return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

/* ---- replies */

static int map_refused(struct config_maps *m, int err, const struct web_reply *r,
		       const char *namespace)
{
	char rule[160];

	m->retry_ms = r->retry_after_ms;
	snprintf(rule, sizeof(rule), WRITE_RULE, namespace);
	access_why(&m->access, r, "configmaps of", rule, m->why, sizeof(m->why));
	if (err == -ENOMEM || err == -EACCES)
		return err;
	if (err)
		return -EHOSTUNREACH;
	switch (r->status) {
	case 400:
	case 413:
	case 422:
		return -EINVAL;
	case 401:
		return -EACCES;
	case 403:
		return -EPERM;
	case 404:
		return -ENOENT;
	case 409:
		return -EEXIST;
	case 429:
	case 503:
		return -EBUSY;
	default:
		return -EIO;
	}
}

static bool config_map_is_ours(const cJSON *meta)
{
	const char *by = cJSON_GetStringValue(pods_object(pods_object(meta, "labels"), MANAGER));

	return by && !strcmp(by, MANAGED);
}

static int config_map_parse(struct config_maps *m, const struct web_reply *r,
			    struct config_map *ret)
{
	cJSON *json = r->body.len ? cJSON_ParseWithLength(r->body.data, r->body.len) : NULL;
	const cJSON *meta = pods_object(json, "metadata");
	const char *kind = cJSON_GetStringValue(pods_object(json, "kind")),
		   *version = cJSON_GetStringValue(pods_object(meta, "resourceVersion")),
		   *text = cJSON_GetStringValue(pods_object(pods_object(json, "data"), KEY));
	size_t len = text ? strlen(text) : 0;
	int err = 0;

	if (!kind || strcmp(kind, "ConfigMap") != 0 || !version || !*version ||
	    strlen(version) >= sizeof(ret->version)) {
		snprintf(m->why, sizeof(m->why), "configmaps of %s: the reply is no ConfigMap",
			 m->access.server);
		err = -EIO;
	} else if (!config_map_is_ours(meta)) {
		err = -ENOTUNIQ;
	} else {
		memcpy(ret->version, version, strlen(version) + 1);
		/* A text that does not fit has a len that the caller refuses. */
		ret->len = len < sizeof(ret->text) ? len : sizeof(ret->text);
		if (text)
			memcpy(ret->text, text, ret->len);
	}
	cJSON_Delete(json);
	return err;
}

int config_map_get(struct config_maps *m, const char *namespace, const char *name,
		   struct config_map *ret)
{
	struct web_reply r = {0};
	char path[CONFIG_MAP_NAME_MAX + 128];
	int err;

	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/configmaps/%s", namespace, name);
	err = access_send(&m->access,
			  &(struct access_request){.path = path, .timeout_s = m->timeout_s}, &r);
	if (err || r.status != 200)
		err = map_refused(m, err, &r, namespace);
	else
		err = r.cut ? -EFBIG : config_map_parse(m, &r, ret);
	/* These errors do not fit a GET. */
	err = err == -EEXIST || err == -EINVAL ? -EIO : err;
	web_reply_free(&r);
	return err;
}

/* ---- content */

static bool config_map_is_label(const char *text)
{
	size_t len = strlen(text);

	return access_is_plain(text, "", LABEL_MAX) && isalnum((unsigned char)text[0]) &&
	       isalnum((unsigned char)text[len - 1]);
}

/* The server deletes objects whose owner does not exist: set no owner unless it is certain. */
static void config_map_put_owner(struct buffer *b, const struct config_map_put *put)
{
	static const struct {
		const char *kind, *version;
	} rows[] = {{"Job", "batch/v1"}, {"JobSet", "jobset.x-k8s.io/v1alpha2"}};
	const char *version = NULL;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(put->owner_kind, rows[i].kind))
			version = rows[i].version;
	if (!version || !access_is_plain(put->owner_name, "", CONFIG_MAP_NAME_MAX) ||
	    !access_is_plain(put->owner_uid, "", LABEL_MAX))
		return;
	json_open(b, "ownerReferences", '[');
	json_open(b, NULL, '{');
	json_string(b, "apiVersion", version);
	json_string(b, "kind", put->owner_kind);
	json_string(b, "name", put->owner_name);
	json_string(b, "uid", put->owner_uid);
	json_close(b, '}');
	json_close(b, ']');
}

/* version: replace only this version, without changing labels and owner. NULL: create. */
static void map_put_text(struct buffer *b, const struct config_map_put *put, const char *version)
{
	json_open(b, NULL, '{');
	json_open(b, "metadata", '{');
	if (version) {
		json_string(b, "resourceVersion", version);
	} else {
		json_string(b, "name", put->name);
		json_open(b, "labels", '{');
		json_string(b, MANAGER, MANAGED);
		if (config_map_is_label(put->job_uid))
			json_string(b, UID_LABEL, put->job_uid);
		json_close(b, '}');
		config_map_put_owner(b, put);
	}
	json_open(b, "annotations", '{');
	json_time(b, UNTIL, put->until_ns);
	json_close(b, '}');
	json_close(b, '}');
	json_open(b, "data", '{');
	json_string(b, KEY, put->text);
	json_close(b, '}');
	json_close(b, '}');
}

static int config_map_send_text(struct config_maps *m, const struct config_map_put *put,
				const char *version)
{
	struct buffer body = {0};
	struct web_reply r = {0};
	char path[CONFIG_MAP_NAME_MAX + 128];
	int err = -ENOMEM;

	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/configmaps%s%s?fieldManager=" MANAGED,
		 put->namespace, version ? "/" : "", version ? put->name : "");
	map_put_text(&body, put, version);
	if (!body.failed)
		err = access_send(
			&m->access,
			&(struct access_request){
				.method = version ? "PATCH" : "POST",
				.path = path,
				.type = version ? "Content-Type: application/merge-patch+json"
						: "Content-Type: application/json",
				.body = body.data,
				.len = body.len,
				.timeout_s = m->timeout_s,
			},
			&r);
	if (err || (r.status != 200 && r.status != 201))
		err = map_refused(m, err, &r, put->namespace);
	web_reply_free(&r);
	buffer_free(&body);
	return err;
}

int config_map_create(struct config_maps *m, const struct config_map_put *put)
{
	int err = config_map_send_text(m, put, NULL);

	return err == -ENOENT ? -ENOTDIR : err;
}

int config_map_replace(struct config_maps *m, const struct config_map_put *put, const char *version)
{
	int err = config_map_send_text(m, put, version);

	return err == -ENOENT || err == -EEXIST ? -EAGAIN : err;
}
