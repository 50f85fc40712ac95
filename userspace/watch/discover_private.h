/* SPDX-License-Identifier: Apache-2.0 */
/* discover_private.h - what the two halves of discover.h share. */
#ifndef GP_DISCOVER_PRIVATE_H
#define GP_DISCOVER_PRIVATE_H

#include "bpf/gp_abi.h"
#include "userspace/watch/discover.h"
#include "userspace/identity/filter.h"
#include "userspace/identity/place.h"

#define DUE_MAX	  1024
#define USERS_MAX 64

struct due { /* one that was met */
	pid_t pid;
	uint64_t at_ns;
	unsigned int looks, waits;
};

struct denied {
	uint64_t start_ns;
};

struct user {
	uint32_t uid;
	char name[40];
};

struct discover {
	struct discover_config cfg;
	struct probe_names *names;
	struct filter *filter;
	struct pods *pods;
	struct due due[DUE_MAX];
	size_t ndue;
	struct table *denied; /* pid -> struct denied */
	pid_t *all;	      /* of the sweep that goes on */
	size_t nall, at;
	uint64_t sweep_ns, swept_ns, cost_ns; /* began, ended; CPU time */
	bool again;			      /* one more as soon as may be */
	uint64_t debt_ns, debt_at_ns;	      /* of looks at those that were met */
	struct user users[USERS_MAX];
	size_t nusers;
	struct node_view view;
};

/* What rules ask for, of one process. */
struct known {
	struct gp_process process;
	char uid[16], cgroups[FILTER_CGROUPS];
	struct gp_place place;
	struct filter_facts facts;
};

/* Whether it may be watched: 0. -EAGAIN: what a rule asks for is not known yet; -EPERM: it may not;
 * -EEXIST: it is; -ESRCH. */
int discover_judge(struct discover *d, pid_t pid, struct known *k);
/* Who was denied is counted anew. */
void discover_denied_clear(struct discover *d);

#endif
