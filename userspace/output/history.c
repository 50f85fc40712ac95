/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/output/history.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/log.h"

static int history_path_of(const struct options *o, char path[PATH_MAX])
{
	int err;

	if (o->store && strcmp(o->store, "default") != 0)
		return snprintf(path, PATH_MAX, "%s", o->store) < PATH_MAX ? 0 : -ENAMETOOLONG;
	err = store_default_path(path, o->state_dir);
	if (err)
		log_error("--store: there is no default folder: %s; give a file: --store FILE",
			  strerror(-err));
	return err;
}

int history_path(const struct options *o, char path[PATH_MAX])
{
	int err;

	if (o->store ? !strcmp(o->store, "none") : !o->durable)
		return 0;
	err = history_path_of(o, path);
	/* If the folder cannot be made, the error is reported when the store is opened. */
	if (!err && (!o->store || !strcmp(o->store, "default")))
		store_make_folder(path);
	return err ? err : 1;
}

int history_open(struct store **ret, const struct options *o, enum store_mode mode)
{
	char path[PATH_MAX];
	int err = history_path_of(o, path);

	if (err)
		return err;
	err = store_open(ret, path, mode);
	if (err == -ENOENT && geteuid() && !o->store && !o->state_dir)
		log_error(
			"no store at %s: run as root to read the store of the service, or name another one with --store FILE",
			path);
	else if (err == -ENOENT)
		log_error("no store at %s; run gp-bpf with --durable or --store FILE to make one",
			  path);
	else if (err == -EACCES && mode == STORE_READ)
		log_error("store %s: no permission to read it; run as root", path);
	else if (err)
		log_error("store %s: %s", path, store_why(err));
	return err;
}
