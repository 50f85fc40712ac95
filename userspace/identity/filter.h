/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h - decides which processes of a node are watched, by rules KEY=GLOB of the user.
 *
 * A process is denied if it matches any deny rule. For each key that has allow rules, the process
 * must match at least one of these rules. Without rules every process is allowed.
 * Globs are as in glob(7), except that * also matches slashes. */
#ifndef IDENTITY_FILTER_H
#define IDENTITY_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FILTER_CGROUPS 4096 /* limit of bytes read from /proc/PID/cgroup */

#define FILTER_KEYS(X)                                                                             \
	X(namespace) /* of the pod */                                                              \
	X(user)	     /* the process's real user: name or number */                                 \
	X(command)   /* command line, or the name of the process */                                \
	X(cgroup)    /* path, of any line of /proc/PID/cgroup */

enum filter_key {
#define X(name) FILTER_##name,
	FILTER_KEYS(X)
#undef X
		FILTER_KEY_COUNT
};

enum filter_verdict {
	FILTER_ALLOWED,
	FILTER_DENIED,
	/* undecided: a rule needs the pod's namespace, which is not known yet */
	FILTER_UNKNOWN,
};

/* Data of a process that rules are applied to; untrusted, NUL-terminated. */
struct filter_facts {
	const char *command, *comm;
	const char *cgroups;   /* lines of /proc/PID/cgroup */
	const char *user;      /* "": the user has no name */
	const char *uid;       /* decimal; "": unknown */
	const char *namespace; /* "": none; NULL: not yet known */
};

struct filter;

/* Parses rules such as "user=alice" and copies them. Returns 0, -ENOMEM, or -EINVAL after logging
 * the reason. */
int filter_new(struct filter **ret, char *const *allow, int nallow, char *const *deny, int ndeny);
void filter_free(struct filter *f); /* NULL is fine */
/* Returns true if a rule has this key, so that filter_classify() needs the corresponding member of
 * struct filter_facts. */
bool filter_asks(const struct filter *f, enum filter_key key);
/* Applies the rules to a process. *ret_why (owned by f): the deny rule that matched, or the key for
 * which no allow rule matched; "" if no single rule decides. */
enum filter_verdict filter_classify(const struct filter *f, const struct filter_facts *facts,
				    const char **ret_why);

#endif
