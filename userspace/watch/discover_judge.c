/* SPDX-License-Identifier: Apache-2.0 */
/* Who a process is as far as rules ask, and what they say. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/loader.h"
#include "userspace/base/aside.h"
#include "userspace/base/log.h"
#include "userspace/base/proc_file.h"
#include "userspace/base/table.h"
#include "userspace/watch/discover_private.h"
#include "userspace/identity/process.h"

#define DENIED_MAX 4096 /* processes whose denial is remembered, to count each once */

/* ---- who that is -------------------------------------------------------------------------------
 */

static const char *user_name(struct discover *d, uint32_t uid)
{
	const struct passwd *pw;
	struct user *u;

	for (size_t i = 0; i < d->nusers; i++)
		if (d->users[i].uid == uid)
			return d->users[i].name;
	u = &d->users[d->nusers < USERS_MAX ? d->nusers++ : uid % USERS_MAX];
	pw = getpwuid(uid);
	u->uid = uid;
	snprintf(u->name, sizeof(u->name), "%s", pw ? pw->pw_name : "");
	return u->name;
}

/* "Uid:\treal\teffective...": a line of /proc/PID/status, which no lock keeps from us. */
static int real_user(const char *root, pid_t pid, uint32_t *ret)
{
	char text[2048];
	const char *at;

	if (proc_slurp(root, pid, "status", text, sizeof(text)) < 0)
		return -ESRCH;
	at = strstr(text, "\nUid:");
	if (!at)
		return -EBADMSG;
	*ret = (uint32_t)strtoul(at + 5, NULL, 10);
	return 0;
}

/* -EAGAIN: the process cannot be looked at now; a namespace that is still to come is NULL. */
static int know_namespace(struct discover *d, pid_t pid, struct known *k)
{
	struct place_facts facts;
	int err = place_look_aside(loader_aside(d->cfg.loader), d->cfg.root, pid, &facts);

	if (err == -ETIMEDOUT || err == -EBUSY)
		return -EAGAIN;
	if (err)
		return err;
	err = place_make(&facts, NULL, d->pods, &k->place);
	/* Nor is a pod that the list does not have yet: a process may be there before the news of
	 * its pod. */
	k->facts.namespace = (err == -EAGAIN || *k->place.pod_uid) && !*k->place.namespace
				     ? NULL
				     : k->place.namespace;
	return 0;
}

/* What rules ask for. -EAGAIN: later. */
static int know(struct discover *d, pid_t pid, struct known *k)
{
	const char *root = d->cfg.root;
	int err = process_read_aside(loader_aside(d->cfg.loader), root, pid, &k->process);
	uint32_t uid;

	if (err == -ETIMEDOUT || err == -EBUSY)
		return -EAGAIN;
	if (err)
		return err;
	k->facts = (struct filter_facts){.command = k->process.command,
					 .comm = k->process.comm,
					 .cgroups = k->cgroups,
					 .user = "",
					 .uid = k->uid,
					 .namespace = ""};
	*k->uid = *k->cgroups = '\0';
	err = filter_asks(d->filter, FILTER_namespace) && d->pods ? know_namespace(d, pid, k) : 0;
	if (err)
		return err;
	if (filter_asks(d->filter, FILTER_user) && !real_user(root, pid, &uid)) {
		snprintf(k->uid, sizeof(k->uid), "%u", uid);
		k->facts.user = user_name(d, uid);
	}
	if (filter_asks(d->filter, FILTER_cgroup) &&
	    proc_slurp(root, pid, "cgroup", k->cgroups, sizeof(k->cgroups)) < 0)
		*k->cgroups = '\0';
	return 0;
}

void discover_denied_clear(struct discover *d)
{
	uint64_t pid;

	for (size_t i = 0; table_next(d->denied, &i, &pid);)
		free(table_take(d->denied, pid));
}

/* ---- what becomes of it ------------------------------------------------------------------------
 */

/* Where most of so many are alive some are counted twice, rather than all looked at for each one
 * more. */
static void denied_trim(struct discover *d)
{
	uint64_t pid;

	for (size_t i = 0; table_next(d->denied, &i, &pid);)
		if (!process_start_ns(d->cfg.root, (pid_t)pid))
			free(table_take(d->denied, pid));
	if (table_count(d->denied) > DENIED_MAX / 4 * 3)
		discover_denied_clear(d);
}

static void deny(struct discover *d, pid_t pid, const struct known *k, const char *why)
{
	struct denied *known = table_get(d->denied, (uint64_t)pid);
	struct node_denied *shown;

	if (known && known->start_ns == k->process.start_ns)
		return;
	if (!known) {
		if (table_count(d->denied) >= DENIED_MAX)
			denied_trim(d);
		known = calloc(1, sizeof(*known));
		if (!known || table_put(d->denied, (uint64_t)pid, known)) {
			free(known);
			return;
		}
	}
	known->start_ns = k->process.start_ns;
	shown = &d->view.denied_last[d->view.denied++ % NODE_DENIED];
	if (d->view.ndenied < NODE_DENIED)
		d->view.ndenied++;
	shown->pid = (uint32_t)pid;
	memcpy(shown->comm, k->process.comm, sizeof(shown->comm));
	snprintf(shown->why, sizeof(shown->why), "%s", why);
	log_debug("process %d (%s) is not watched: %s", pid, k->process.comm, why);
}

/* Of this gp-bpf or another one: those that read libraries map them. */
static bool is_ours(const struct gp_process *p)
{
	return p->parent == (uint32_t)getpid() || !strcmp(p->comm, "gp-bpf") ||
	       !strncmp(p->comm, "gp-bpf-", 7);
}

int discover_judge(struct discover *d, pid_t pid, struct known *k)
{
	const char *why;
	int err;

	if (loader_watched(d->cfg.loader, pid))
		return -EEXIST;
	err = know(d, pid, k);
	if (err)
		return err;
	if (is_ours(&k->process))
		return -EPERM;
	switch (filter_judge(d->filter, &k->facts, &why)) {
	case FILTER_UNKNOWN:
		return -EAGAIN;
	case FILTER_DENIED:
		deny(d, pid, k, why);
		return -EPERM;
	case FILTER_ALLOWED:
		break;
	}
	return 0;
}
