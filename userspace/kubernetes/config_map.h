/* SPDX-License-Identifier: Apache-2.0 */
/* config_map.h - one text kept as a ConfigMap: read, made, replaced by whoever still has the
 * version that it read. One that gp-bpf did not make is left alone, and nothing is ever deleted.
 *
 * What it asks, and may, in that namespace: configmaps get, create, patch. What comes back is
 * hostile: bounded, and the text is the reader's to judge. A struct config_maps is one thread's. */
#ifndef KUBERNETES_CONFIG_MAP_H
#define KUBERNETES_CONFIG_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/kubernetes/access.h"

#define CONFIG_MAP_TEXT_MAX    4096 /* what is longer is none of ours */
#define CONFIG_MAP_VERSION_MAX 128
#define CONFIG_MAP_NAME_MAX    253 /* RFC 1123 */
#define CONFIG_MAP_SPACE_MAX   63

struct config_maps {
	struct access access;
	double timeout_s; /* of a request */
	char why[512];	  /* of what failed last: one line, printable */
	int64_t retry_ms; /* ... and so long the server wants to be left alone; -1: it does not
			   * say */
};

struct config_map { /* one that is there */
	char version[CONFIG_MAP_VERSION_MAX];
	char text[CONFIG_MAP_TEXT_MAX];
	size_t len;
};

struct config_map_put {
	const char *namespace,
		*name; /* as RFC 1123 has them: config_map_space(), config_map_name() */
	const char *text;
	const char *job_uid; /* its label; "": none, nor where it cannot be one */
	int64_t until_ns;    /* UTC: its annotation */
	/* Owner, with which it is deleted, if in the same namespace: a "Job" or "JobSet"; kind "":
	 * none. */
	const char *owner_kind, *owner_name, *owner_uid;
};

/* 0; -ENOENT: there is none; -ENOTUNIQ: one that gp-bpf did not make; -EFBIG: it is longer than a
 * reply may be. Errors of all three: -EACCES: the token, -EPERM: the rights, -EHOSTUNREACH: no
 * answer, -EBUSY: too much to do, -EIO: another refusal, or no ConfigMap, -ENOMEM. Then why says
 * what. */
int config_map_get(struct config_maps *m, const char *namespace, const char *name,
		   struct config_map *ret);
/* -EEXIST: there is one meanwhile; -ENOTDIR: there is no such namespace; -EINVAL: it is refused as
 * it is. */
int config_map_create(struct config_maps *m, const struct config_map_put *put);
/* -EAGAIN: it is another one's meanwhile, or gone; -EINVAL. */
int config_map_replace(struct config_maps *m, const struct config_map_put *put,
		       const char *version);
/* Whether that may be the name of a namespace. */
bool config_map_is_space(const char *name);

#endif
