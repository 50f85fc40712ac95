/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "loader/library/library_user.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"

/* Limit of libraries of one process; the largest frameworks have a dozen. */
#define LIBRARIES_MAX 64
#define SWAPS_MAX     32

struct user { /* libraries of one process */
	struct library *libs[LIBRARIES_MAX];
	size_t count;
	unsigned int swapped;
	bool full; /* the process has too many libraries, and that was logged */
	/* files of the process were gone or replaced too often, so no more of its libraries are
	 * probed */
	bool banned;
};

struct users {
	struct table *all; /* pid -> struct user; only processes with a library */
};

struct users *users_new(void)
{
	struct users *us = calloc(1, sizeof(*us));

	if (us)
		us->all = table_new();
	if (us && us->all)
		return us;
	free(us);
	return NULL;
}

void users_free(struct users *us)
{
	if (!us)
		return;
	table_free(us->all, free);
	free(us);
}

bool user_has(const struct library *lib, pid_t pid)
{
	return lib->users && table_get(lib->users, (uint64_t)pid);
}

static struct user *user_get(struct users *us, pid_t pid)
{
	struct user *u = table_get(us->all, (uint64_t)pid);

	if (u)
		return u;
	u = calloc(1, sizeof(*u));
	if (!u || !table_put(us->all, (uint64_t)pid, u))
		return u;
	free(u);
	return NULL;
}

static int library_add_user(struct library *lib, pid_t pid, struct user *u)
{
	if (!lib->users)
		lib->users = table_new();
	return lib->users ? table_put(lib->users, (uint64_t)pid, u) : -ENOMEM;
}

int user_add(struct users *us, struct library *lib, pid_t pid)
{
	struct user *u = user_get(us, pid);
	int err;

	if (!u)
		return -ENOMEM;
	if (user_has(lib, pid))
		return 0;
	if (u->banned)
		return -EEXIST;
	if (u->count == LIBRARIES_MAX) {
		err = u->full ? -EEXIST : -EMFILE;
		u->full = true;
		return err;
	}
	err = library_add_user(lib, pid, u);
	if (!err)
		u->libs[u->count++] = lib;
	return err;
}

void user_remove(struct users *us, struct library *lib, pid_t pid)
{
	struct user *u = lib->users ? table_take(lib->users, (uint64_t)pid) : NULL;

	if (!u)
		return;
	for (size_t i = 0; i < u->count; i++)
		if (u->libs[i] == lib)
			u->libs[i] = u->libs[--u->count];
	if (!u->count && !u->swapped)
		free(table_take(us->all, (uint64_t)pid));
}

void users_copy(struct users *us, pid_t parent, pid_t child)
{
	const struct user *from = table_get(us->all, (uint64_t)parent);

	for (size_t i = 0; from && i < from->count; i++)
		user_add(us, from->libs[i], child);
}

struct library *user_next(const struct users *us, pid_t pid, size_t *pos)
{
	const struct user *u = table_get(us->all, (uint64_t)pid);

	if (!u || !u->count)
		return NULL;
	/* Iterates from the last library to the first: a removed library is replaced by the last
	 * one, which was already returned. */
	if (!*pos)
		*pos = u->count + 1;
	if (*pos > u->count + 1)
		*pos = u->count + 1;
	return --*pos ? u->libs[*pos - 1] : NULL;
}

pid_t user_any(const struct library *lib)
{
	uint64_t pid = 0;
	size_t at = 0;

	return lib->users && table_next(lib->users, &at, &pid) ? (pid_t)pid : 0;
}

bool user_swapped(struct users *us, pid_t pid)
{
	struct user *u = table_get(us->all, (uint64_t)pid);

	if (!u || u->banned || ++u->swapped < SWAPS_MAX)
		return false;
	u->banned = true;
	return true;
}

bool user_known(const struct users *us, pid_t pid)
{
	return table_get(us->all, (uint64_t)pid);
}

void user_forget(struct users *us, pid_t pid)
{
	free(table_take(us->all, (uint64_t)pid));
}

void library_idle(struct libraries *ls, struct library *lib)
{
	if (library_users(lib))
		return;
	lib->idle_ns = clock_mono_ns();
	table_put(ls->idle, lib->tag, lib);
}

void library_enter(struct libraries *ls, struct library *lib, pid_t pid)
{
	int err = user_add(ls->users, lib, pid);

	if (err == -EMFILE)
		log_warn(
			"process %d maps too many libraries of known runtimes: %s and more are not probed",
			pid, lib->name);
	if (!err)
		table_take(ls->idle, lib->tag);
	library_idle(ls, lib);
}
