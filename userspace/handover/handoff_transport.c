/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/handover/handoff_transport.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/helper.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/handover/carry_file.h"

/* Value of --carry that selects ConfigMaps. A folder with this name has to be given as
 * ./configmap. */
#define MAP	 "configmap"
#define AGAIN_NS 60000000000ull
/* Limit of reads from the API server without a pause between them. */
#define READS 16
/* Pause between reads after the first READS, counted over all jobs. */
#define READ_EACH_NS 500000000ull

struct transport {
	/* The helper process uses dir, so it must be set before that process starts. */
	const char *dir;
	struct helper *helper; /* NULL: histories are in ConfigMaps */
	struct carry_map *map;
	bool asked;
	uint64_t reads_ns; /* when READS reads without a pause are allowed again */
};

/* ---- a folder, in a helper process ----------------------------------------------------------- */

struct ask {
	const char *dir;
	union {
		char name[CARRY_NAME_MAX];
		struct carry carry;
	};
};
_Static_assert(sizeof(struct ask) <= HELPER_ARG_MAX,
	       "a request fits into an argument of the helper process");

static ssize_t transport_read_there(const void *arg, void *ret, size_t cap)
{
	const struct ask *a = arg;

	return cap < CARRY_MAX ? -ENOBUFS : carry_file_read(a->dir, a->name, ret);
}

static ssize_t transport_write_there(const void *arg, void *ret, size_t cap)
{
	const struct ask *a = arg;
	struct carry had = {0};
	int err;

	if (cap < sizeof(had))
		return -ENOBUFS;
	err = carry_file_write(a->dir, &a->carry, &had);
	memcpy(ret, &had, sizeof(had));
	return err;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* Returns the namespace in a value of --carry: NAMESPACE for "configmap:NAMESPACE", "" for
 * "configmap"; NULL: the value is a folder. */
static const char *transport_map_of(const char *carry)
{
	size_t len = strlen(MAP);

	if (strncmp(carry, MAP, len) != 0 || (carry[len] && carry[len] != ':'))
		return NULL;
	return carry[len] ? carry + len + 1 : carry + len;
}

static int transport_map_new(struct transport *w, const struct options *o, const char *namespace)
{
	struct carry_map_config cfg = {.server = o->api_server,
				       .namespace = *namespace ? namespace : NULL};
	int err = carry_map_new(&w->map, &cfg);

	if (err == -EDESTADDRREQ) /* carry_map_new() has logged the reason */
		return 0;
	if (!err && !w->map)
		log_warn(
			"--carry %s: no Kubernetes found (KUBERNETES_SERVICE_HOST is not set; see --api-server); the history of jobs stays on this node",
			o->carry);
	return err;
}

int transport_check(const struct options *o)
{
	const char *namespace = o->carry ? transport_map_of(o->carry) : NULL;

	return namespace && *namespace ? carry_map_check(namespace) : 0;
}

int transport_new(struct transport **ret, const struct options *o)
{
	const char *namespace = o->carry ? transport_map_of(o->carry) : NULL;
	struct transport *w;
	int err;

	*ret = NULL;
	if (!o->carry || !*o->carry)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->dir = o->carry;
	err = namespace ? transport_map_new(w, o, namespace)
			: helper_new(&w->helper, sizeof(struct carry) + CARRY_MAX);
	if (!err && (w->map || w->helper))
		*ret = w;
	else
		transport_free(w);
	return err;
}

void transport_free(struct transport *w)
{
	if (!w)
		return;
	if (w->helper && w->asked)
		helper_drop(w->helper);
	helper_free(w->helper);
	carry_map_free(w->map);
	free(w);
}

/* ---- requests -------------------------------------------------------------------------------- */

bool transport_may_read(struct transport *w, uint64_t now_ns)
{
	uint64_t from_ns = w->reads_ns > now_ns ? w->reads_ns : now_ns;

	if (!w->map)
		return true;
	if (from_ns - now_ns + READ_EACH_NS > READS * READ_EACH_NS)
		return false;
	w->reads_ns = from_ns + READ_EACH_NS;
	return true;
}

static int transport_asked(struct transport *w, int err)
{
	w->asked = !err;
	return err;
}

int transport_read(struct transport *w, const struct carry_map_job *job)
{
	struct ask a = {.dir = w->dir};

	if (w->map)
		return transport_asked(w, carry_map_read(w->map, job));
	carry_name(a.name, job->job, job->uid, false);
	return transport_asked(w, helper_ask(w->helper, transport_read_there, &a, sizeof(a)));
}

int transport_write(struct transport *w, const struct carry_map_job *job, const struct carry *c)
{
	struct ask a = {.dir = w->dir};

	if (w->map)
		return transport_asked(w, carry_map_write(w->map, job, c));
	a.carry = *c;
	return transport_asked(w, helper_ask(w->helper, transport_write_there, &a, sizeof(a)));
}

ssize_t transport_answer(struct transport *w, int wait_ms, const void **ret)
{
	ssize_t n = w->map ? carry_map_answer(w->map, wait_ms, ret)
			   : helper_answer(w->helper, wait_ms, ret);

	w->asked = n == -EAGAIN;
	return n;
}

void transport_drop(struct transport *w)
{
	w->asked = false;
	if (w->map)
		carry_map_drop(w->map);
	else
		helper_drop(w->helper);
}

uint64_t transport_pause_ns(const struct transport *w, struct backoff *b)
{
	return w->map ? carry_map_pause_ns(w->map, b) : AGAIN_NS;
}

/* ---- descriptions ---------------------------------------------------------------------------- */

bool transport_is_of_job(int err)
{
	switch (err) {
	case -EBADMSG:
	case -EEXIST:
	case -EPROTO:
	case -ENOTUNIQ:
	case -EFBIG:
	case -EINVAL:
	case -ENXIO:
		return true;
	default:
		return false;
	}
}

const char *transport_why(const struct transport *w, int err)
{
	switch (err) {
	case -EPROTO:
		return "a newer version of gp-bpf wrote it";
	case -EBADMSG:
		return "not a history of a job, or damaged";
	case -EEXIST:
		return "the history of another job";
	case -ENOTUNIQ:
		return "gp-bpf did not make it";
	case -EFBIG:
		return "too long";
	case -ENXIO:
		return "the job's namespace is unknown; give one: --carry configmap:NAMESPACE";
	case -ETIMEDOUT:
		return "no answer";
	case -ENOTDIR:
		return w->map ? "no such namespace" : "no such folder";
	default:
		return w->map && *carry_map_why(w->map) ? carry_map_why(w->map) : strerror(-err);
	}
}

void transport_name(const struct transport *w, const struct carry_map_job *job,
		    char out[TRANSPORT_NAME_MAX])
{
	const char *space = w->map ? carry_map_namespace(w->map) : "";
	char name[CARRY_NAME_MAX];

	carry_name(name, job->job, job->uid, w->map);
	if (w->map)
		snprintf(out, TRANSPORT_NAME_MAX, "configmap:%s/%s",
			 *space ? space : job->namespace, name);
	else
		snprintf(out, TRANSPORT_NAME_MAX, "%.400s/%s", w->dir, name);
}
