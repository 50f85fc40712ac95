/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/sandbox.h"

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/loader.h"
#include "userspace/base/helper.h"
#include "userspace/base/confine.h"
#include "userspace/base/log.h"
#include "userspace/export/export.h"
#include "userspace/watch/watch_kernel_log.h"

#define PORTS_OF_ROOT 1024

/* ---- needs ----------------------------------------------------------------------------------- */

struct asked {
	const struct options *o;
	bool multi;
	bool paranoid; /* Debian's kernels, and derived ones, only let SYS_ADMIN open perf events */
};

static bool sandbox_always(const struct asked *a)
{
	(void)a;
	return true;
}

static bool sandbox_perf_events(const struct asked *a)
{
	return !a->multi || a->paranoid;
}

static bool sandbox_has_hooks(const struct asked *a)
{
	return a->o->hooks.count > 0;
}

static bool sandbox_hooks_or_cmd(const struct asked *a)
{
	return sandbox_has_hooks(a) || a->o->argc > 0;
}

static struct export_use sandbox_exports(const struct asked *a)
{
	return export_uses(a->o->exports.item, a->o->exports.count, a->o->dry_run);
}

static bool sandbox_exports_chown(const struct asked *a)
{
	return sandbox_exports(a).capabilities & CONFINE_CAP(CAP_CHOWN);
}

static bool sandbox_of_somebody_else(const char *path)
{
	struct stat st;

	return path && !stat(path, &st) && st.st_uid != geteuid();
}

/* Whether files are written by name: each may have another owner. */
static bool sandbox_has_files(const struct asked *a)
{
	const struct options *o = a->o;

	return sandbox_exports(a).files || o->store || o->carry || o->output || o->html ||
	       sandbox_has_hooks(a) || sandbox_of_somebody_else(o->state_dir) ||
	       (o->listen && !strncmp(o->listen, "unix:", strlen("unix:")));
}

static bool sandbox_low_port(const struct asked *a)
{
	const char *colon = a->o->listen ? strrchr(a->o->listen, ':') : NULL;
	long port = colon ? strtol(colon + 1, NULL, 10) : 0;

	return port > 0 && port < PORTS_OF_ROOT;
}

/* The manual lists these (PRIVILEGES), and deploy/gp-bpf.service those of a node. */
static const struct kept {
	int cap;
	const char *name;
	bool (*needed)(const struct asked *a);
	const char *why;
} kept[] = {
	{CAP_BPF, "CAP_BPF", sandbox_always,
	 "programs, maps and links: libraries are mapped at any time"},
	{CAP_PERFMON, "CAP_PERFMON", sandbox_always,
	 "probes, and what they read; /proc/PID/maps on newer kernels"},
	{CAP_SYS_PTRACE, "CAP_SYS_PTRACE", sandbox_always,
	 "what other users' processes map, run in and wait for"},
	{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", sandbox_always,
	 "libraries, settings and secrets not open to all"},
	{CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE", sandbox_always,
	 "mapped files by /proc/PID/map_files"},
	{CAP_SYS_ADMIN, "CAP_SYS_ADMIN", sandbox_perf_events,
	 "probes at one place each (without feature multi); kernel.perf_event_paranoid above 2"},
	{CAP_SETUID, "CAP_SETUID", sandbox_always,
	 "libraries that their process's user alone may read; commands of --on run as another user"},
	{CAP_SETGID, "CAP_SETGID", sandbox_always, "... and group"},
	{CAP_SETPCAP, "CAP_SETPCAP", sandbox_has_hooks, "... with an empty bounding set"},
	{CAP_KILL, "CAP_KILL", sandbox_hooks_or_cmd,
	 "their end; signals that are passed on to CMD of `run`"},
	{CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE", sandbox_has_files,
	 "files in folders of other users that were named"},
	{CAP_FOWNER, "CAP_FOWNER", sandbox_always,
	 "what of a library is in memory; files in the place of other users' files that were named"},
	{CAP_CHOWN, "CAP_CHOWN", sandbox_exports_chown,
	 "folders of runs are given to the owner of the folder above"},
	{CAP_NET_BIND_SERVICE, "CAP_NET_BIND_SERVICE", sandbox_low_port,
	 "--listen at a port below 1024"},
};

#define PARANOID_USUAL 2 /* the maximum of mainline Linux */

static bool sandbox_perf_paranoid(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = 0;

	if (f) {
		if (fscanf(f, "%d", &level) != 1)
			level = 0;
		fclose(f);
	}
	return level > PARANOID_USUAL;
}

uint64_t sandbox_capabilities(const struct options *o, bool multi)
{
	const struct asked a = {o, multi, sandbox_perf_paranoid()};
	uint64_t caps = 0;

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (kept[i].needed(&a))
			caps |= CONFINE_CAP(kept[i].cap);
	return caps;
}

/* ---- dropping -------------------------------------------------------------------------------- */

static bool sandbox_is_on(const struct options *o)
{
	return !o->sandbox || !strcmp(o->sandbox, "on");
}

static bool sandbox_has_multi(const char *features_off)
{
	const struct feature *f;
	int n = loader_features(features_off, &f);

	for (int i = 0; i < n; i++)
		if (!strcmp(f[i].name, "multi"))
			return f[i].have;
	return false;
}

static void sandbox_log(uint64_t caps)
{
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (caps >> kept[i].cap & 1)
			log_debug("sandbox: %s is kept: %s", kept[i].name, kept[i].why);
}

static int sandbox_refused(const char *what, const char *call, int err)
{
	log_error(
		"sandbox: %s: %s: %s, by a filter of the container or service that gp-bpf runs in; allow the call there, or go on with all privileges: --sandbox=off",
		what, call, strerror(-err));
	return err;
}

int sandbox_enter(const struct options *o)
{
	char off[512];
	int err = options_features_off(o, off, sizeof(off));
	uint64_t caps;

	if (err || !sandbox_is_on(o))
		return err;
	err = loader_prepare(off, o->durable);
	if (err)
		return err;
	watch_log_prepare(o->root ? o->root : "");
	caps = sandbox_capabilities(o, sandbox_has_multi(off));
	sandbox_log(caps);
	err = confine_capabilities(caps);
	if (err)
		return sandbox_refused("capabilities cannot be given up", "capset", err);
	err = confine_privileges();
	if (err)
		return sandbox_refused("ways to new privileges cannot be closed",
				       "prctl(PR_SET_NO_NEW_PRIVS)", err);
	err = confine_calls(CONFINE_MACHINE);
	if (err)
		log_warn(
			"sandbox: system calls stay as they are: this kernel has no seccomp filters, or refuses them");
	helper_confine(!err);
	return 0;
}
