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
#include "userspace/base/log.h"
#include "userspace/base/path.h"
#include "userspace/base/worker.h"
#include "userspace/handover/config_map.h"

#define PREFIX	    "gp-bpf-carry-"
#define READABLE    40 /* readable characters of the job's name */
#define TRIES	    3  /* of a write when others write at the same time */
#define TOKEN_S	    60
#define PAUSE_S	    1
#define PAUSE_MAX_S 60

enum turn { IDLE, ASKED, WORKS, ANSWERED };

struct carry_map {
	char namespace[CONFIG_MAP_SPACE_MAX + 1];
	double question_s;
	struct config_maps maps; /* used by the thread, except for its cancellation */
	struct worker thread;
	/* Protected by its lock; the request belongs to the thread while it runs. */
	enum turn turn;
	bool dropped, writes;
	struct carry_map_job job;
	char space[CONFIG_MAP_SPACE_MAX + 1];
	struct carry carry;
	/* The answer. */
	ssize_t result;
	char why[512];
	int64_t retry_ms;
	union {
		char text[CARRY_MAX];
		struct carry had;
	};
};

void carry_map_name(char out[CARRY_MAP_NAME_MAX], const char *job, const char *uid)
{
	uint64_t hash = hash_bytes(HASH_START, job, strlen(job) + 1);
	char word[READABLE + 2];
	size_t n = 0;

	hash = hash_bytes(hash, uid, strlen(uid));
	for (const char *c = job; *c && n < READABLE; c++) {
		if (isalnum((unsigned char)*c) && !(*c & 0x80))
			word[n++] = (char)tolower((unsigned char)*c);
		else if (n && word[n - 1] != '-')
			word[n++] = '-';
	}
	if (n && word[n - 1] != '-')
		word[n++] = '-';
	word[n] = '\0';
	snprintf(out, CARRY_MAP_NAME_MAX, PREFIX "%s%016llx", word, (unsigned long long)hash);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static bool carry_map_time_left(struct carry_map *m, uint64_t end_ns)
{
	uint64_t now_ns = clock_mono_ns();

	m->maps.timeout_s = now_ns < end_ns ? (double)(end_ns - now_ns) / 1e9 : 0;
	return now_ns < end_ns;
}

static ssize_t map_read_there(struct carry_map *m, uint64_t end_ns)
{
	char name[CARRY_MAP_NAME_MAX];
	struct config_map there;
	int err;

	carry_map_name(name, m->job.job, m->job.uid);
	carry_map_time_left(m, end_ns);
	err = config_map_get(&m->maps, m->space, name, &there);
	if (err)
		return err;
	if (there.len > CARRY_MAX)
		return -EBADMSG;
	memcpy(m->text, there.text, there.len);
	return (ssize_t)there.len;
}

/* Reads it, decides, and writes it if it was not changed in between. */
static int map_write_once(struct carry_map *m, const struct config_map_put *put)
{
	struct config_map there;
	struct carry had = {0};
	int err = config_map_get(&m->maps, put->namespace, put->name, &there);

	if (err == -ENOENT) {
		err = config_map_create(&m->maps, put);
		return err == -EEXIST ? -EAGAIN : err;
	}
	if (!err)
		err = carry_replaces(&m->carry, there.text, there.len, &had);
	m->had = had;
	return err ? err : config_map_replace(&m->maps, put, there.version);
}

static ssize_t map_write_there(struct carry_map *m, uint64_t end_ns)
{
	char text[CARRY_MAX + 1], name[CARRY_MAP_NAME_MAX];
	bool near = !strcmp(m->job.namespace, m->space) && *m->job.uid;
	struct config_map_put put = {
		.namespace = m->space,
		.name = name,
		.text = text,
		.job_uid = m->job.uid,
		.until_ns = m->carry.until_ns,
		.owner_kind = near ? m->job.owner : "",
		.owner_name = m->job.job,
		.owner_uid = m->job.uid,
	};
	int err = -EAGAIN;

	carry_map_name(name, m->job.job, m->job.uid);
	carry_text(text, &m->carry);
	for (int i = 0; i < TRIES && err == -EAGAIN && carry_map_time_left(m, end_ns); i++)
		err = map_write_once(m, &put);
	if (err == -EAGAIN) {
		snprintf(m->maps.why, sizeof(m->maps.why),
			 "configmap %s/%s: others write to it all the time", m->space, name);
		err = -EBUSY;
	}
	return err;
}

static void map_serve(void *map)
{
	struct carry_map *m = map;
	uint64_t end_ns;
	ssize_t result;

	worker_lock(&m->thread);
	while (!m->thread.stop) {
		if (m->turn != ASKED) {
			worker_wait(&m->thread, WORKER_FOREVER);
			continue;
		}
		m->turn = WORKS;
		worker_unlock(&m->thread);
		end_ns = clock_mono_ns() + (uint64_t)(m->question_s * 1e9);
		m->maps.why[0] = '\0';
		m->maps.retry_ms = -1;
		result = m->writes ? map_write_there(m, end_ns) : map_read_there(m, end_ns);
		worker_lock(&m->thread);
		m->turn = m->dropped ? IDLE : ANSWERED;
		if (m->dropped)
			continue;
		m->result = result;
		log_escape(m->why, sizeof(m->why), m->maps.why, strlen(m->maps.why));
		m->retry_ms = m->maps.retry_ms;
		worker_wake(&m->thread);
	}
	worker_unlock(&m->thread);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* Reads the namespace of the service account, if it is a valid name. */
static void carry_map_account_space(char out[CONFIG_MAP_SPACE_MAX + 1])
{
	char *path = access_file(NULL, "namespace"), text[CONFIG_MAP_SPACE_MAX + 2] = "";
	int fd = path ? path_open(path, O_RDONLY, 0) : -1;
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	free(path);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (config_map_is_space(text))
		memcpy(out, text, strlen(text) + 1);
}

int carry_map_check(const char *space)
{
	char shown[CONFIG_MAP_SPACE_MAX + 1];

	if (config_map_is_space(space))
		return 0;
	log_error(
		"--carry: '%s' is not the name of a Kubernetes namespace: small letters, digits and '-', %d at most",
		log_escape(shown, sizeof(shown), space, strlen(space)), CONFIG_MAP_SPACE_MAX);
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
		log_error("--carry: a thread cannot be started: %s", strerror(-err));
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
	/* Errors of the settings are logged with or without Kubernetes. */
	err = map_find_space(m, cfg->namespace);
	if (!err)
		err = access_open(&m->maps.access, cfg->server, cfg->token_file, cfg->ca_file,
				  cfg->token_s > 0 ? cfg->token_s : TOKEN_S);
	if (!err && m->maps.access.server)
		err = carry_map_start(m);
	if (!err && m->maps.access.server)
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
	if (m->maps.access.web)
		web_cancel(m->maps.access.web);
	worker_free(&m->thread);
	access_close(&m->maps.access);
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

	if (!config_map_is_space(space))
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

uint64_t carry_map_pause_ns(const struct carry_map *m, unsigned failures)
{
	uint64_t asked_ns = m->retry_ms > 0 ? (uint64_t)m->retry_ms * 1000000 : 0, pause_ns;

	pause_ns = (uint64_t)(access_backoff_s(PAUSE_S, PAUSE_MAX_S, failures ? failures - 1 : 0) *
			      1e9);
	return pause_ns > asked_ns ? pause_ns : asked_ns + pause_ns;
}
