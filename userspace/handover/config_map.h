/* SPDX-License-Identifier: Apache-2.0 */
/* config_map.h - keeps one text in a ConfigMap: reads and creates it, and replaces the version that
 * was read. A ConfigMap that gp-bpf did not make is left alone, and nothing is ever deleted.
 *
 * Needed permissions in that namespace: configmaps get, create, patch. Replies are hostile: they
 * are bounded, and the caller checks the text. A struct config_maps is used by one thread. */
#ifndef HANDOVER_CONFIG_MAP_H
#define HANDOVER_CONFIG_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/kubernetes/access.h"

#define CONFIG_MAP_TEXT_MAX    4096 /* bytes; a longer text is not gp-bpf's */
#define CONFIG_MAP_VERSION_MAX 128
#define CONFIG_MAP_NAME_MAX    253 /* RFC 1123 */
#define CONFIG_MAP_SPACE_MAX   63

struct config_maps {
	struct access access;
	double timeout_s; /* of a request */
	char why[512];	  /* the last failure: one line, printable */
	int64_t retry_ms; /* how long the server asks to wait after that failure; -1: not given */
};

struct config_map { /* an existing ConfigMap */
	char version[CONFIG_MAP_VERSION_MAX];
	char text[CONFIG_MAP_TEXT_MAX];
	size_t len;
};

struct config_map_put {
	const char *namespace, *name; /* by RFC 1123: see config_map_space(), config_map_name() */
	const char *text;
	const char *job_uid; /* its label; "": none, also if the value cannot be a label */
	int64_t until_ns;    /* UTC: its annotation */
	/* The owner, with which the ConfigMap is deleted, if it is in the same namespace: a "Job"
	 * or "JobSet"; kind "": none. */
	const char *owner_kind, *owner_name, *owner_uid;
};

/* Returns 0; -ENOENT: there is none; -ENOTUNIQ: gp-bpf did not make it; -EFBIG: the reply is too
 * long. Errors of all three functions: -EACCES: no token, -EPERM: no permission, -EHOSTUNREACH: no
 * reply, -EBUSY: the server is overloaded, -EIO: refused otherwise, or not a ConfigMap, -ENOMEM.
 * Then why holds the reason. */
int config_map_get(struct config_maps *m, const char *namespace, const char *name,
		   struct config_map *ret);
/* -EEXIST: another process has made it; -ENOTDIR: the namespace does not exist; -EINVAL: the
 * content is refused. */
int config_map_create(struct config_maps *m, const struct config_map_put *put);
/* -EAGAIN: another process has changed or deleted it; -EINVAL: the content is refused. */
int config_map_replace(struct config_maps *m, const struct config_map_put *put,
		       const char *version);
/* Whether that may be the name of a namespace. */
bool config_map_is_space(const char *name);

#endif
