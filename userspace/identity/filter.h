/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h - decides which processes of a node are watched, by rules KEY=GLOB of the user.
 *
 * A process that matches any deny rule is denied. Allow rules of one key are alternatives; for each
 * key with allow rules, one of them must match. Without rules every process is allowed. Globs as in
 * glob(7), except that * also matches slashes. */
#ifndef IDENTITY_FILTER_H
#define IDENTITY_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FILTER_CGROUPS 4096 /* limit of bytes read from /proc/PID/cgroup */

#define FILTER_KEYS(X)                                                                             \
	X(namespace) /* of the pod */                                                              \
	X(user)	     /* real user: name or number */                                               \
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
	FILTER_UNKNOWN, /* undecided: a rule needs the pod's namespace, which is not known yet */
};

struct filter_facts { /* facts of a process that rules compare; hostile, NUL-terminated */
	const char *command, *comm;
	const char *cgroups;   /* lines of /proc/PID/cgroup */
	const char *user;      /* "": the user has no name */
	const char *uid;       /* decimal; "": unknown */
	const char *namespace; /* "": none; NULL: not yet known */
};

struct filter;

/* Parses rules such as "user=alice" and copies them. Returns 0, -ENOMEM, or -EINVAL after
 * logging one line. */
int filter_new(struct filter **ret, char *const *allow, int nallow, char *const *deny, int ndeny);
void filter_free(struct filter *f); /* NULL is fine */
/* Returns true if a rule has this key, so that filter_classify() needs the fact. */
bool filter_asks(const struct filter *f, enum filter_key key);
/* Applies the rules to a process. *ret_why (owned by f): the deny rule that matched, or the key
 * whose allow rules did not; "" if no single rule decides. */
enum filter_verdict filter_classify(const struct filter *f, const struct filter_facts *facts,
				    const char **ret_why);

#endif
