/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h - which processes of a node are to be watched: rules KEY=GLOB by the user, and what a
 * process is.
 *
 * A process that matches any deny rule is denied. Allow rules of one key are alternatives; one rule
 * of each key that has rules must match. Without rules every process is allowed. Globs as in
 * glob(7) without special treatment of slashes: * matches them too. */
#ifndef IDENTITY_FILTER_H
#define IDENTITY_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FILTER_CGROUPS 4096 /* bytes of /proc/PID/cgroup that are looked at */

#define FILTER_KEYS(X)                                                                             \
	X(namespace) /* of the pod */                                                              \
	X(user)	     /* real user: name or number */                                               \
	X(command)   /* command line, or the process's own name */                                 \
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
	FILTER_UNKNOWN, /* ... yet: a rule is about the namespace, and that is still to come */
};

struct filter_facts { /* hostile, NUL-terminated */
	const char *command, *comm;
	const char *cgroups;   /* lines of /proc/PID/cgroup */
	const char *user;      /* "": has none */
	const char *uid;       /* decimal; "": unknown */
	const char *namespace; /* "": none; NULL: not known yet */
};

struct filter;

/* Rules as they are written: "user=alice". *ret is a copy. 0, -ENOMEM, or -EINVAL after one
 * line. */
int filter_new(struct filter **ret, char *const *allow, int nallow, char *const *deny, int ndeny);
void filter_free(struct filter *f);			       /* NULL is fine */
bool filter_asks(const struct filter *f, enum filter_key key); /* some rule is about it */
/* *ret_why: the rule that denies, "" when none does alone; f's. */
enum filter_verdict filter_judge(const struct filter *f, const struct filter_facts *facts,
				 const char **ret_why);

#endif
