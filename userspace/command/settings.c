/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/command/settings.h"

#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/probe/probe_file.h"
#include "userspace/base/log.h"
#include "userspace/export/hook/hook.h"
#include "userspace/http/listen.h"
#include "userspace/identity/filter.h"
#include "userspace/option/option_probe.h"
#include "userspace/output/output.h"
#include "userspace/handover/handoff_transport.h"
#include "userspace/watch/select.h"

static int settings_rules(const struct options *o)
{
	struct filter *f = NULL;
	int err = filter_new(&f, o->allow.item, o->allow.count, o->deny.item, o->deny.count);

	filter_free(f);
	return err;
}

static int settings_probes(const struct options *o)
{
	struct probe_table *t = NULL;
	int err = 0;

	if (o->print_config && o->probes && access(o->probes, R_OK | X_OK))
		return 0; /* With --print-config a missing path is not an error: it may exist later,
			     or for another user. */
	if (o->probes || o->marker)
		err = option_probes(o, &t);
	probe_table_free(t);
	return err;
}

static int settings_pids(const struct options *o)
{
	int64_t pid;

	for (int i = 0; i < o->pids.count; i++) {
		if (!option_number(o->pids.item[i], 1, INT32_MAX, &pid))
			continue;
		log_error("--pid: '%s' is not a process id", o->pids.item[i]);
		return -EINVAL;
	}
	return select_check(o);
}

static int settings_state(const struct options *o)
{
	struct stat st;

	if (!o->state_dir || stat(o->state_dir, &st) || S_ISDIR(st.st_mode))
		return 0;
	log_error("--state-dir %s: not a folder; name a folder, which is created if it is missing",
		  o->state_dir);
	return -EINVAL;
}

int settings_check(const struct options *o)
{
	int err = settings_pids(o);

	if (!err)
		err = settings_state(o);

	if (!err)
		err = settings_rules(o);
	if (!err)
		err = settings_probes(o);
	if (!err && o->listen)
		err = listen_check(o->listen);
	if (!err)
		err = output_check(o);
	for (int i = 0; !err && i < o->hooks.count; i++)
		err = hook_check(o->hooks.item[i]);
	return err ? err : transport_check(o);
}
