/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf check: reports which features this host has, where each probe would be attached and at
 * what cost, and whether steps can be found. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/loader.h"
#include "loader/probe/probe_file.h"
#include "userspace/base/clock.h"
#include "userspace/base/helper.h"
#include "userspace/base/log.h"
#include "userspace/base/proc_file.h"
#include "userspace/base/tty.h"
#include "userspace/command/check_target.h"
#include "userspace/command/command.h"
#include "userspace/command/settings.h"
#include "userspace/identity/nvml.h"
#include "userspace/identity/process.h"
#include "userspace/ingest/event.h"
#include "userspace/option/option.h"
#include "userspace/option/option_probe.h"
#include "userspace/watch/device_read.h"
#include "userspace/watch/watch.h"

/* time limit for reading library files, after which the check is incomplete */
#define SETTLE_NS 10000000000ull
/* time limit for the accelerators' driver library, in ms */
#define DEVICE_MS   4000
#define TARGETS_MAX (2 * OPTION_LIST_MAX)

struct check {
	const char *root;
	struct probe_table *table;
	struct loader *loader; /* NULL: no probe can be attached on this host */
	struct check_host host;
	struct check_find *finds;
	size_t nfinds;
	int code;
};

static void check_fail(struct check *c, int code)
{
	c->code = c->code ? c->code : code;
}

/* ---- this host ------------------------------------------------------------------------------- */

static void cmd_check_host_prices(struct check *c)
{
	for (unsigned insn = GP_INSN_nop5; insn <= GP_INSN_stepped; insn++)
		c->host.prices[c->host.nprices++] = (struct check_hit_cost){
			.insn = event_insn_name(insn),
			.enter_ns = loader_hit_cost_ns(c->loader, insn, false),
			.return_ns = loader_hit_cost_ns(c->loader, insn, true),
		};
}

/* Reads the kernel's lockdown mode from /sys/kernel/security/lockdown, such as "none [integrity]
 * confidentiality", where brackets mark the mode in effect. The file is missing if securityfs is
 * not mounted. */
static void cmd_check_host_lockdown(struct check *c)
{
	char path[PATH_MAX], text[128] = "", *from, *to;
	FILE *f;

	snprintf(path, sizeof(path), "%s/sys/kernel/security/lockdown", c->root);
	f = fopen(path, "re");
	if (!f)
		return;
	if (!fgets(text, sizeof(text), f))
		*text = '\0';
	fclose(f);
	from = strchr(text, '[');
	to = from ? strchr(from, ']') : NULL;
	if (to)
		snprintf(c->host.lockdown, sizeof(c->host.lockdown), "%.*s", (int)(to - from - 1),
			 from + 1);
}

static void cmd_check_host_gvisor(struct check *c)
{
	struct helper *helper = c->loader ? loader_helper(c->loader) : NULL;
	const struct dirent *e;
	char path[PATH_MAX];
	DIR *dir;

	snprintf(path, sizeof(path), "%s/proc", c->root);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (proc_number(e->d_name) > 0)
			c->host.gvisor += process_gvisor_sandbox(helper, c->root,
								 proc_number(e->d_name));
	if (dir)
		closedir(dir);
}

/* Finds out whether the clocks of accelerators can be read. The driver's library may block, so it
 * is tried in a helper process. */
static void cmd_check_host_accelerators(struct check *c)
{
	struct device_request ask = {.root = c->root, .nvidia = true};
	struct device_reply *r = malloc(sizeof(*r));
	char *out = c->host.accelerators;
	size_t len = sizeof(c->host.accelerators);
	ssize_t n = r ? helper_once(device_read_there, &ask, sizeof(ask), r, sizeof(*r), DEVICE_MS)
		      : -ENOMEM;

	if (n != sizeof(*r))
		snprintf(out, len, "%s does not answer: %s", NVML_LIBRARY, strerror((int)-n));
	else if (r->error)
		snprintf(out, len, "%s; %u by sysfs", r->why, r->ndrm);
	else
		snprintf(out, len, "%u by %s, %u by sysfs", r->nnvidia, NVML_LIBRARY, r->ndrm);
	free(r);
}

static void check_host(struct check *c, const char *off, uint64_t budget_ns)
{
	struct loader_config cfg = {.probes = c->table, .features_off = off};
	int err;

	loader_raise_descriptors();
	c->host.nfeatures = loader_features(off, &c->host.features);
	c->host.budget_ns = budget_ns;
	cmd_check_host_lockdown(c);
	err = loader_open(&c->loader, &cfg);
	if (err)
		check_fail(c, err == -EINVAL ? EXIT_USAGE : EXIT_LACKING);
	else
		cmd_check_host_prices(c);
	cmd_check_host_gvisor(c);
	cmd_check_host_accelerators(c);
}

/* ---- one process, one file ------------------------------------------------------------------- */

static struct check_find *check_find_new(struct check *c, const char *name)
{
	struct check_find *f = &c->finds[c->nfinds++];

	*f = (struct check_find){.table = c->table, .loader = c->loader, .name = strdup(name)};
	return f;
}

static void cmd_check_find_fail(struct check *c, struct check_find *f, const char *error)
{
	log_error("%s: %s", f->name ? f->name : "?", error);
	f->error = strdup(error);
	check_fail(c, EXIT_RUNTIME);
}

static void check_library(struct check *c, const char *path)
{
	struct check_find *f = check_find_new(c, path);
	int err = loader_plan(c->table, path, check_find_planned, f);

	if (err)
		cmd_check_find_fail(c, f, err == -EINVAL ? "not a regular file" : strerror(-err));
	else
		check_find_files(f, path);
}

static const char *cmd_check_scan_error_text(int err)
{
	return err == -ESRCH	   ? "no such process"
	       : err == -ETIMEDOUT ? "cannot be checked: its address space is locked"
				   : strerror(-err);
}

/* Scans the process repeatedly, until the names of all its mapped files are known: on a busy
 * machine one scan may not suffice. */
static int cmd_check_process_scan(struct check *c, pid_t pid)
{
	uint64_t until_ns = clock_mono_ns() + SETTLE_NS;
	int err;

	do
		err = loader_scan(c->loader, pid);
	while (err > 0 && loader_unfinished(c->loader) && clock_mono_ns() < until_ns);
	return err;
}

static void check_process(struct check *c, struct check_find *f, const struct gp_process *p)
{
	int err;

	loader_on_attach(c->loader, check_find_attached, f);
	err = loader_watch(c->loader, (pid_t)f->pid, p->start_ns, NULL);
	if (!err)
		err = cmd_check_process_scan(c, (pid_t)f->pid);
	if (err >= 0 && loader_settle(c->loader, SETTLE_NS))
		log_warn(
			"%s: a library could not be read within 10 s; its probes may be missing from the result",
			f->name);
	loader_on_attach(c->loader, NULL, NULL);
	if (err < 0)
		cmd_check_find_fail(c, f, cmd_check_scan_error_text(err));
	else
		check_find_files(f, NULL);
}

static void check_pid(struct check *c, const char *text)
{
	struct check_find *f;
	struct gp_process p;
	char name[sizeof(p.command) + 48];
	int64_t pid;
	int err;

	if (option_number(text, 1, INT32_MAX, &pid))
		return; /* settings_check() has logged the reason */
	err = process_read_by_helper(loader_helper(c->loader), c->root, (pid_t)pid, &p);
	snprintf(name, sizeof(name), err ? "process %d" : "process %d (%s)", (int)pid, p.command);
	if (!err && process_permitted(c->root, (pid_t)pid)) {
		check_fail(c, EXIT_LACKING);
		return;
	}
	f = check_find_new(c, name);
	f->pid = (uint32_t)pid;
	if (err)
		cmd_check_find_fail(c, f, cmd_check_scan_error_text(err));
	else if (process_gvisor(c->root, (pid_t)pid, &p))
		cmd_check_find_fail(c, f, PROCESS_GVISOR);
	else
		check_process(c, f, &p);
}

/* ---- report ---------------------------------------------------------------------------------- */

static void check_print(struct check *c, bool json)
{
	int cols = tty_cols(STDOUT_FILENO);
	bool color = tty_color(STDOUT_FILENO);
	struct check_target *targets = calloc(c->nfinds + 1, sizeof(*targets));
	struct buffer out = {0};

	for (size_t i = 0; targets && i < c->nfinds; i++) {
		check_find_versions(&c->finds[i]);
		targets[i] = check_find_target(&c->finds[i]);
	}
	if (targets && json) {
		check_json(&out, &c->host, targets, c->nfinds);
		buffer_printf(&out, "\n");
	} else if (targets) {
		check_text_host(&out, &c->host, cols, color);
		check_text_targets(&out, targets, c->nfinds, cols, color);
		if (!c->nfinds || !c->loader)
			check_text_verdict(&out, &c->host, cols, color);
	}
	if (!targets || out.failed) {
		log_error("check: out of memory for the results");
		check_fail(c, EXIT_RUNTIME);
	} else {
		fwrite(out.data, 1, out.len, stdout);
	}
	buffer_free(&out);
	free(targets);
}

static int cmd_check_run(const struct options *o)
{
	struct check c = {.root = o->root ? o->root : ""};
	char off[512];
	int err;

	if (settings_check(o) || options_features_off(o, off, sizeof(off)))
		return EXIT_USAGE;
	err = option_probes(o, &c.table);
	if (err)
		return err == -EINVAL ? EXIT_USAGE : EXIT_RUNTIME;
	c.finds = calloc(TARGETS_MAX + (size_t)o->argc, sizeof(*c.finds));
	if (!c.finds) {
		log_error("check: out of memory");
		probe_table_free(c.table);
		return EXIT_RUNTIME;
	}
	check_host(&c, off, (uint64_t)o->overhead_ppm * 1000);
	for (int i = 0; i < o->libraries.count; i++)
		check_library(&c, o->libraries.item[i]);
	for (int i = 0; i < o->argc; i++)
		check_library(&c, o->argv[i]);
	for (int i = 0; c.loader && i < o->pids.count; i++)
		check_pid(&c, o->pids.item[i]);
	loader_close(c.loader);
	check_print(&c, o->json);
	for (size_t i = 0; i < c.nfinds; i++)
		check_find_free(&c.finds[i]);
	free(c.finds);
	probe_table_free(c.table);
	return c.code;
}

int cmd_check(int argc, char **argv)
{
	struct options o;
	int code;

	code = options_parse(&o, CMD_CHECK, argc, argv);
	if (code >= 0)
		return code;
	if (o.argc && !o.libraries.count) {
		log_error("check: unexpected argument '%s'; did you mean --library or --pid?",
			  o.argv[0]);
		code = EXIT_USAGE;
	} else {
		code = cmd_check_run(&o);
	}
	options_free(&o);
	return code;
}
