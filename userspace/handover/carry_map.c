/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/handover/carry_map.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/hash.h"
#include "userspace/base/json_text.h"
#include "userspace/base/log.h"
#include "userspace/base/path.h"
#include "userspace/base/worker.h"
#include "userspace/kubernetes/access.h"
#include "userspace/kubernetes/pods_field.h"

/* Number of attempts to write if other processes change the ConfigMap at the same time. */
#define TRIES	  3
#define TOKEN_S	  60
#define KEY	  "carry" /* key under which the history is stored in the ConfigMap's data */
#define MANAGER	  "app.kubernetes.io/managed-by"
#define MANAGED	  "gp-bpf"
#define UID_LABEL "gp-bpf/job-uid"
#define UNTIL	  "gp-bpf/known-until"
#define LABEL_MAX 63
#define WRITE_RULE                                                                                 \
	"its service account needs a Role in namespace %s with configmaps: get, create, patch"
#define SPACE_MAX 63
/* Limit of bytes that are read of a stored history; histories of gp-bpf are shorter. */
#define TEXT_MAX	    4096
#define VERSION_MAX	    128
#define CONFIG_MAP_NAME_MAX 253 /* longest name of a ConfigMap (RFC 1123) */
#define CONFIG_MAP_PATH_MAX (CONFIG_MAP_NAME_MAX + 128)

struct config_map { /* The existing ConfigMap of a job, as read from the server */
	char version[VERSION_MAX];
	char text[TEXT_MAX];
	size_t len;
};

enum turn { IDLE, ASKED, WORKS, ANSWERED };

struct carry_map {
	char namespace[SPACE_MAX + 1];
	double question_s;
	/* Used only by the thread, but other threads may cancel its request. */
	struct access access;
	struct worker thread;
	/* Protected by the lock of `thread`. While a request runs, only the thread uses these
	 * members. */
	enum turn turn;
	bool dropped, writes;
	struct carry_map_job job;
	char space[SPACE_MAX + 1];
	struct carry carry;
	/* The request that is being processed. Used only by the thread. */
	char name[CARRY_NAME_MAX];
	uint64_t end_ns;
	char failure[512]; /* one line with the reason of the last failure */
	/* how long to wait after the failure, in ms, if the server said so; otherwise -1 */
	int64_t asked_ms;
	/* The answer to the last request. */
	ssize_t result;
	char why[512];
	int64_t retry_ms;
	union {
		char text[CARRY_MAX];
		struct carry had;
	};
};

static bool map_is_space(const char *name)
{
	size_t len = strlen(name);

	if (!len || len > SPACE_MAX || name[0] == '-' || name[len - 1] == '-')
		return false;
	return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

/* ---- replies --------------------------------------------------------------------------------- */

static int map_refused(struct carry_map *m, int err, const struct web_reply *r)
{
	char rule[160];

	m->asked_ms = r->retry_after_ms;
	snprintf(rule, sizeof(rule), WRITE_RULE, m->space);
	access_why(&m->access, r, "configmaps of", rule, m->failure, sizeof(m->failure));
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

static bool map_is_ours(const cJSON *meta)
{
	const char *by = cJSON_GetStringValue(pods_object(pods_object(meta, "labels"), MANAGER));

	return by && !strcmp(by, MANAGED);
}

static int map_parse(struct carry_map *m, const struct web_reply *r, struct config_map *ret)
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
		snprintf(m->failure, sizeof(m->failure),
			 "configmaps of %s: the reply is not a ConfigMap", m->access.server);
		err = -EIO;
	} else if (!map_is_ours(meta)) {
		err = -ENOTUNIQ;
	} else {
		memcpy(ret->version, version, strlen(version) + 1);
		/* if a text is too long, len is TEXT_MAX, which callers reject */
		ret->len = len < sizeof(ret->text) ? len : sizeof(ret->text);
		if (text)
			memcpy(ret->text, text, ret->len);
	}
	cJSON_Delete(json);
	return err;
}

static double map_left_s(const struct carry_map *m)
{
	uint64_t now_ns = clock_mono_ns();

	return now_ns < m->end_ns ? (double)(m->end_ns - now_ns) / 1e9 : 0;
}

/* Reads the ConfigMap. Returns 0; -ENOENT: it does not exist; -ENOTUNIQ: gp-bpf did not make it;
 * -EFBIG: the reply is too long; or an error of carry_map_answer(). */
static int map_get(struct carry_map *m, struct config_map *ret)
{
	struct web_reply r = {0};
	char path[CONFIG_MAP_PATH_MAX];
	int err;

	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/configmaps/%s", m->space, m->name);
	err = access_send(&m->access,
			  &(struct access_request){.path = path, .timeout_s = map_left_s(m)}, &r);
	if (err || r.status != 200)
		err = map_refused(m, err, &r);
	else
		err = r.cut ? -EFBIG : map_parse(m, &r, ret);
	/* A server should not return these errors for a GET. Replace them, because callers give
	 * them other meanings. */
	err = err == -EEXIST || err == -EINVAL ? -EIO : err;
	web_reply_free(&r);
	return err;
}

/* ---- requests to the API server ----------------------------------------------------------------
 */

static bool map_is_label(const char *text)
{
	size_t len = strlen(text);

	return access_is_plain(text, "", LABEL_MAX) && isalnum((unsigned char)text[0]) &&
	       isalnum((unsigned char)text[len - 1]);
}

/* Appends the owner of the ConfigMap: the server deletes the ConfigMap when the owner is deleted.
 * The server also deletes objects whose owner does not exist, so the owner is only set if it is
 * certain and in the same namespace. */
static void map_put_owner(struct buffer *b, const struct carry_map *m)
{
	const struct carry_map_job *job = &m->job;
	static const struct {
		const char *kind, *version;
	} rows[] = {{"Job", "batch/v1"}, {"JobSet", "jobset.x-k8s.io/v1alpha2"}};
	const char *version = NULL;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(job->owner, rows[i].kind))
			version = rows[i].version;
	if (!version || strcmp(job->namespace, m->space) != 0 ||
	    !access_is_plain(job->job, "", CONFIG_MAP_NAME_MAX) ||
	    !access_is_plain(job->uid, "", LABEL_MAX))
		return;
	json_open(b, "ownerReferences", '[');
	json_open(b, NULL, '{');
	json_string(b, "apiVersion", version);
	json_string(b, "kind", job->owner);
	json_string(b, "name", job->job);
	json_string(b, "uid", job->uid);
	json_close(b, '}');
	json_close(b, ']');
}

/* Appends the body of a write request. version: version of the ConfigMap to replace, which keeps
 * its labels and owner; NULL: the ConfigMap is created. */
static void map_put_text(struct buffer *b, const struct carry_map *m, const char *version)
{
	char text[CARRY_MAX + 1];

	carry_text(text, &m->carry);
	json_open(b, NULL, '{');
	json_open(b, "metadata", '{');
	if (version) {
		json_string(b, "resourceVersion", version);
	} else {
		json_string(b, "name", m->name);
		json_open(b, "labels", '{');
		json_string(b, MANAGER, MANAGED);
		if (map_is_label(m->job.uid))
			json_string(b, UID_LABEL, m->job.uid);
		json_close(b, '}');
		map_put_owner(b, m);
	}
	json_open(b, "annotations", '{');
	json_time(b, UNTIL, m->carry.until_ns);
	json_close(b, '}');
	json_close(b, '}');
	json_open(b, "data", '{');
	json_string(b, KEY, text);
	json_close(b, '}');
	json_close(b, '}');
}

/* Writes the ConfigMap. Returns 0; -EAGAIN: another process has created, changed or deleted the
 * ConfigMap after it was read; or an error of carry_map_answer(). */
static int map_send(struct carry_map *m, const char *version)
{
	struct buffer body = {0};
	struct web_reply r = {0};
	char path[CONFIG_MAP_PATH_MAX];
	int err = -ENOMEM;

	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/configmaps%s%s?fieldManager=" MANAGED,
		 m->space, version ? "/" : "", version ? m->name : "");
	map_put_text(&body, m, version);
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
				.timeout_s = map_left_s(m),
			},
			&r);
	if (err || (r.status != 200 && r.status != 201))
		err = map_refused(m, err, &r);
	web_reply_free(&r);
	buffer_free(&body);
	if (err == -EEXIST || (err == -ENOENT && version))
		return -EAGAIN;
	return err == -ENOENT ? -ENOTDIR : err;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static ssize_t map_read_there(struct carry_map *m)
{
	struct config_map there = {.len = 0};
	int err = map_get(m, &there);

	if (err)
		return err;
	if (there.len > CARRY_MAX)
		return -EBADMSG;
	memcpy(m->text, there.text, there.len);
	return (ssize_t)there.len;
}

/* Reads the ConfigMap, decides whether to replace it, and writes it if it was not changed
 * meanwhile. */
static int map_write_once(struct carry_map *m)
{
	struct config_map there = {.len = 0};
	struct carry had = {0};
	int err = map_get(m, &there);

	if (err == -ENOENT)
		return map_send(m, NULL);
	if (!err)
		err = carry_replaces(&m->carry, there.text, there.len, &had);
	m->had = had;
	return err ? err : map_send(m, there.version);
}

static ssize_t map_write_there(struct carry_map *m)
{
	int err = -EAGAIN;

	for (int i = 0; i < TRIES && err == -EAGAIN && map_left_s(m) > 0; i++)
		err = map_write_once(m);
	if (err == -EAGAIN) {
		snprintf(m->failure, sizeof(m->failure),
			 "configmap %s/%s: other processes changed it during each attempt to write",
			 m->space, m->name);
		err = -EBUSY;
	}
	return err;
}

static void map_serve(void *map)
{
	struct carry_map *m = map;
	ssize_t result;

	worker_lock(&m->thread);
	while (!m->thread.stop) {
		if (m->turn != ASKED) {
			worker_wait(&m->thread, WORKER_FOREVER);
			continue;
		}
		m->turn = WORKS;
		worker_unlock(&m->thread);
		carry_name(m->name, m->job.job, m->job.uid, true);
		m->end_ns = clock_mono_ns() + (uint64_t)(m->question_s * 1e9);
		m->failure[0] = '\0';
		m->asked_ms = -1;
		result = m->writes ? map_write_there(m) : map_read_there(m);
		worker_lock(&m->thread);
		m->turn = m->dropped ? IDLE : ANSWERED;
		if (m->dropped)
			continue;
		m->result = result;
		log_escape(m->why, sizeof(m->why), m->failure, strlen(m->failure));
		m->retry_ms = m->asked_ms;
		worker_wake(&m->thread);
	}
	worker_unlock(&m->thread);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* Gets the namespace of the pod's service account; "" if there is none, or it is not a valid
 * name. */
static void carry_map_account_space(char out[SPACE_MAX + 1])
{
	char *path = access_file(NULL, "namespace"), text[SPACE_MAX + 2] = "";
	int fd = path ? path_open(path, O_RDONLY, 0) : -1;
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	free(path);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (map_is_space(text))
		memcpy(out, text, strlen(text) + 1);
}

int carry_map_check(const char *space)
{
	char shown[SPACE_MAX + 1];

	if (map_is_space(space))
		return 0;
	log_error(
		"--carry: '%s': expected the name of a Kubernetes namespace: lower-case letters, digits and '-', %d characters at most",
		log_escape(shown, sizeof(shown), space, strlen(space)), SPACE_MAX);
	return -EINVAL;
}

static int map_find_space(struct carry_map *m, const char *given)
{
	const char *space = given ? given : access_environment("POD_NAMESPACE");

	if (!space) {
		carry_map_account_space(m->namespace);
		return 0;
	}
	if (carry_map_check(space))
		return -EINVAL;
	memcpy(m->namespace, space, strlen(space) + 1);
	return 0;
}

static int carry_map_start(struct carry_map *m)
{
	int err = worker_start(&m->thread, "handoff", map_serve, m);

	if (err)
		log_error("--carry: cannot start a thread: %s", strerror(-err));
	return err;
}

int carry_map_new(struct carry_map **ret, const struct carry_map_config *cfg)
{
	struct carry_map *m = calloc(1, sizeof(*m));
	int err;

	*ret = NULL;
	if (!m)
		return -ENOMEM;
	worker_init(&m->thread);
	m->retry_ms = -1;
	m->question_s = cfg->question_s > 0 ? cfg->question_s : CARRY_MAP_S;
	/* Check the settings first, so that errors in them are logged even without a cluster. */
	err = map_find_space(m, cfg->namespace);
	if (!err)
		err = access_open(&m->access, "Kubernetes API server", cfg->server, cfg->token_file,
				  cfg->ca_file, cfg->token_s > 0 ? cfg->token_s : TOKEN_S);
	if (!err && m->access.server)
		err = carry_map_start(m);
	if (!err && m->access.server)
		*ret = m;
	else
		carry_map_free(m);
	return err;
}

void carry_map_free(struct carry_map *m)
{
	if (!m)
		return;
	worker_stop(&m->thread);
	if (m->access.web)
		web_cancel(m->access.web);
	worker_free(&m->thread);
	access_free(&m->access);
	free(m);
}

/* ---- requests -------------------------------------------------------------------------------- */

const char *carry_map_namespace(const struct carry_map *m)
{
	return m->namespace;
}

static int map_ask(struct carry_map *m, const struct carry_map_job *job, const struct carry *c)
{
	const char *space = *m->namespace ? m->namespace : job->namespace;
	int err = 0;

	if (!map_is_space(space))
		return -ENXIO;
	worker_lock(&m->thread);
	if (m->turn == ASKED || m->turn == WORKS) {
		err = -EBUSY;
	} else {
		m->job = *job;
		snprintf(m->space, sizeof(m->space), "%s", space);
		m->writes = c;
		if (c)
			m->carry = *c;
		m->dropped = false;
		m->turn = ASKED;
		worker_wake(&m->thread);
	}
	worker_unlock(&m->thread);
	return err;
}

int carry_map_read(struct carry_map *m, const struct carry_map_job *job)
{
	return map_ask(m, job, NULL);
}

int carry_map_write(struct carry_map *m, const struct carry_map_job *job, const struct carry *c)
{
	return map_ask(m, job, c);
}

ssize_t carry_map_answer(struct carry_map *m, int wait_ms, const void **ret)
{
	uint64_t end_ns = clock_mono_ns() + (uint64_t)wait_ms * 1000000;
	ssize_t result = -EAGAIN;

	worker_lock(&m->thread);
	while (wait_ms > 0 && (m->turn == ASKED || m->turn == WORKS) &&
	       worker_wait(&m->thread, end_ns))
		;
	if (m->turn == ANSWERED) {
		m->turn = IDLE;
		result = m->result;
		*ret = m->text;
	}
	worker_unlock(&m->thread);
	return result;
}

void carry_map_drop(struct carry_map *m)
{
	worker_lock(&m->thread);
	if (m->turn == ANSWERED)
		m->turn = IDLE;
	m->dropped = m->turn != IDLE;
	worker_unlock(&m->thread);
}

const char *carry_map_why(const struct carry_map *m)
{
	return m->why;
}

uint64_t carry_map_pause_ns(const struct carry_map *m, struct backoff *b)
{
	static const struct backoff_rule rule = {
		.first_ns = 1000000000, .most_ns = 60000000000, .least_ns = 100000000};

	return backoff_next(b, &rule, m->retry_ms, backoff_random());
}
