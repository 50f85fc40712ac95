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
#include "userspace/watch/watch_ras.h"

#define PORTS_OF_ROOT 1024

/* ---- needs ----------------------------------------------------------------------------------- */

/* Facts on which the choice of capabilities depends */
struct asked {
	const struct options *o;
	bool multi;
	/* kernel.perf_event_paranoid is so high that perf events need CAP_SYS_ADMIN (on Debian and
	 * derived systems). */
	bool paranoid;
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

/* Returns true if options name files to write: their folders may belong to other users. */
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

/* Capabilities that are kept, and why. The manual lists all of them (section PRIVILEGES);
 * deploy/gp-bpf.service lists those of `node`. */
static const struct kept {
	int cap;
	const char *name;
	bool (*needed)(const struct asked *a);
	const char *why;
} kept[] = {
	{CAP_BPF, "CAP_BPF", sandbox_always,
	 "loading programs and making links whenever a library is mapped"},
	{CAP_PERFMON, "CAP_PERFMON", sandbox_always,
	 "attaching probes and reading memory in them; reading /proc/PID/maps on newer kernels"},
	{CAP_SYS_PTRACE, "CAP_SYS_PTRACE", sandbox_always,
	 "reading what processes of other users map, where they run and what they wait for"},
	{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", sandbox_always,
	 "reading libraries, settings and secrets that not every user may read"},
	{CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE", sandbox_always,
	 "opening mapped files through /proc/PID/map_files"},
	{CAP_SYS_ADMIN, "CAP_SYS_ADMIN", sandbox_perf_events,
	 "attaching probes one by one (kernel without feature multi, or kernel.perf_event_paranoid above 2)"},
	{CAP_SETUID, "CAP_SETUID", sandbox_always,
	 "reading libraries that only the user of their process may read; running commands of --on as another user"},
	{CAP_SETGID, "CAP_SETGID", sandbox_always, "as CAP_SETUID, for groups"},
	{CAP_SETPCAP, "CAP_SETPCAP", sandbox_has_hooks,
	 "running commands of --on with an empty bounding set"},
	{CAP_KILL, "CAP_KILL", sandbox_hooks_or_cmd,
	 "ending commands of --on; passing signals to CMD of `run`"},
	{CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE", sandbox_has_files,
	 "writing files that options name in folders of other users"},
	{CAP_FOWNER, "CAP_FOWNER", sandbox_always,
	 "asking which pages of a library are in memory; replacing other users' files that options name"},
	{CAP_CHOWN, "CAP_CHOWN", sandbox_exports_chown,
	 "giving folders of runs to the owner of the folder above"},
	{CAP_NET_BIND_SERVICE, "CAP_NET_BIND_SERVICE", sandbox_low_port,
	 "--listen at a port below 1024"},
};

/* The highest value of kernel.perf_event_paranoid that mainline Linux defines. */
#define PARANOID_USUAL 2

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
		"sandbox: %s: %s: %s: a filter of the container or service that gp-bpf runs in refuses the call; allow it there, or keep all privileges with --sandbox=off",
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
	ras_prepare(o->root ? o->root : "");
	caps = sandbox_capabilities(o, sandbox_has_multi(off));
	sandbox_log(caps);
	err = confine_capabilities(caps);
	if (err)
		return sandbox_refused("cannot drop capabilities", "capset", err);
	err = confine_privileges();
	if (err)
		return sandbox_refused("cannot forbid new privileges", "prctl(PR_SET_NO_NEW_PRIVS)",
				       err);
	err = confine_calls(CONFINE_MACHINE);
	if (err)
		log_warn(
			"sandbox: system calls are not restricted: this kernel has no seccomp filters, or refuses them");
	helper_confine(!err);
	return 0;
}
