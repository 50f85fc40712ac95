/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf check: what works on this host, and where each probe would sit and what it would cost. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/loader.h"
#include "loader/probe_file.h"
#include "userspace/base/log.h"
#include "userspace/command.h"
#include "userspace/identity/process.h"
#include "userspace/ingest/event.h"
#include "userspace/option.h"
#include "userspace/watch.h"

#define SETTLE_NS 10000000000ull /* for libraries to be read */

struct check {
	const struct probe_table *probes;
	struct loader *loader; /* NULL: prices are not known */
	bool color;
	unsigned attached, absent, failed;
};

/* Returns false when something without which nothing works is missing. */
static bool print_features(const char *off, bool color)
{
	const struct feature *f;
	int n = loader_features(off, &f);
	bool all = true;

	puts("kernel and privileges");
	for (int i = 0; i < n; i++) {
		const char *mark = f[i].have ? "yes" : f[i].off ? "off" : "no";
		const char *paint = !color	    ? ""
				    : f[i].have	    ? "\033[32m"
				    : f[i].required ? "\033[31m"
						    : "\033[33m";

		printf("  %-12s %s%-4s%s %s\n", f[i].name, paint, mark, color ? "\033[0m" : "", f[i].purpose);
		printf("  %-17s tested: %s%s%s%s%s; without it: %s\n", "", f[i].how, f[i].error ? " (" : "",
		       f[i].error ? strerror(-f[i].error) : "", f[i].kernel_has ? "; this kernel has it" : "",
		       f[i].error ? ")" : "", f[i].without);
		all = all && (f[i].have || !f[i].required);
	}
	return all;
}

static void print_attach(struct check *c, const char *id, bool returns, const struct gp_attach *a)
{
	uint32_t price = a->price_ns;
	char cost[32] = "-";

	if (!price && c->loader)
		price = loader_price_ns(c->loader, a->insn, returns);
	if (price && a->state == GP_ATTACH_attached)
		snprintf(cost, sizeof(cost), "%u ns", price);
	if (a->state == GP_ATTACH_attached)
		printf("  %-34s %-9s %-9s %8s  %s+0x%llx\n", id, event_attach_state_name(a->state),
		       event_insn_name(a->insn), cost, a->library, (unsigned long long)a->offset);
	else
		printf("  %-34s %-9s %s%s%s\n", id, event_attach_state_name(a->state), a->library,
		       a->error ? ": " : "", a->error ? strerror(-a->error) : "");
	c->attached += a->state == GP_ATTACH_attached;
	c->absent += a->state == GP_ATTACH_absent;
	c->failed += a->state == GP_ATTACH_failed || a->state == GP_ATTACH_refused;
}

static void on_plan(void *ctx, const char *probe_id, const struct gp_attach *a)
{
	struct check *c = ctx;
	const struct probe_row *r = probe_table_row(c->probes,
						    probe_table_index(c->probes, gp_probe_hash(probe_id)));

	print_attach(c, probe_id, r && r->returns, a);
}

static void on_attach(void *ctx, uint32_t probe, const struct gp_attach *a)
{
	struct check *c = ctx;
	const struct probe_row *r = probe_table_row(c->probes, probe_table_index(c->probes, probe));

	if (r)
		print_attach(c, r->id, r->returns, a);
}

static void print_summary(const struct check *c, const char *what)
{
	if (!c->attached && !c->absent && !c->failed)
		printf("  no library of a known runtime in %s (known: gp-bpf probes)\n", what);
	else
		printf("%u can be probed, %u not in this version of the library, %u failed\n", c->attached,
		       c->absent, c->failed);
}

static int check_library(struct check *c, const char *path)
{
	int err;

	printf("\nprobes in %s%*s class      price  place\n", path,
	       (int)(strlen(path) < 20 ? 20 - strlen(path) : 1), "");
	err = loader_plan(c->probes, path, on_plan, c);
	if (err) {
		log_error("library %s: %s", path, strerror(-err));
		return EXIT_RUNTIME;
	}
	print_summary(c, path);
	return EXIT_OK;
}

static const char *look_error_text(int err)
{
	return err == -ESRCH	   ? "no such process"
	       : err == -ETIMEDOUT ? "cannot be looked at: its address space is locked"
				   : strerror(-err);
}

static int check_pid(struct check *c, const char *text)
{
	struct gp_process p;
	char what[32];
	int64_t pid;
	int err;

	if (option_number(text, 1, INT32_MAX, &pid)) {
		log_error("--pid: '%s' is not a process id", text);
		return EXIT_USAGE;
	}
	err = process_read_aside(loader_aside(c->loader), "", (pid_t)pid, &p);
	if (err) {
		log_error("process %s: %s", text, look_error_text(err));
		return EXIT_RUNTIME;
	}
	if (process_permitted("", (pid_t)pid))
		return EXIT_LACKING;
	snprintf(what, sizeof(what), "process %d", (int)pid);
	printf("\nprobes in %s (%s)\n", what, p.command);
	loader_on_attach(c->loader, on_attach, c);
	err = loader_watch(c->loader, (pid_t)pid, p.start_ns, NULL);
	if (!err)
		err = loader_scan(c->loader, (pid_t)pid);
	if (err >= 0 && loader_settle(c->loader, SETTLE_NS))
		log_warn("%s: a library does not answer reads", what);
	if (err < 0) {
		log_error("%s: %s", what, look_error_text(err));
		return EXIT_RUNTIME;
	}
	print_summary(c, what);
	return EXIT_OK;
}

static void print_prices(const struct check *c, uint64_t budget_ns)
{
	uint32_t usual = loader_price_ns(c->loader, GP_INSN_emulated, false);

	puts("\nprice of one empty hit on this host       entry     entry+return");
	for (unsigned insn = GP_INSN_nop5; insn <= GP_INSN_stepped; insn++)
		printf("  %-32s %8u ns %10u ns\n", event_insn_name(insn),
		       loader_price_ns(c->loader, insn, false), loader_price_ns(c->loader, insn, true));
	if (!budget_ns) {
		puts("overhead budget: none, nothing is ever given up");
		return;
	}
	printf("overhead budget: %g %% of a process's time", (double)budget_ns / 1e7);
	if (usual)
		printf(" (%llu emulated hits a second)", (unsigned long long)(budget_ns / usual));
	puts(" for probes beyond the marker;\n"
	     "  over it, of a runtime: bulk and confirm are counted instead of sent, then bulk is detached, "
	     "then\n"
	     "  confirm; what finds steps (marker) and what is rare (fault) never");
}

static int check(const struct options *o)
{
	struct check c = {.color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR")};
	struct loader_config cfg = {0};
	struct probe_table *t = NULL;
	char off[512];
	int code = EXIT_OK, rc;
	bool able;

	if (options_features_off(o, off, sizeof(off)))
		return EXIT_USAGE;
	if (watch_probes(o, &t))
		return o->probes ? EXIT_USAGE : EXIT_RUNTIME;
	c.probes = cfg.probes = t;
	cfg.features_off = off;
	able = print_features(off, c.color);
	rc = able ? loader_open(&c.loader, &cfg) : -ENOSYS;
	if (rc)
		code = rc == -EINVAL ? EXIT_USAGE : EXIT_LACKING;
	else
		print_prices(&c, (uint64_t)o->overhead_ppm * 1000);
	if (o->library) {
		rc = check_library(&c, o->library);
		code = code ? code : rc;
	}
	for (int i = 0; c.loader && i < o->pids.count; i++) {
		rc = check_pid(&c, o->pids.item[i]);
		code = code ? code : rc;
	}
	loader_close(c.loader);
	probe_table_free(t);
	return code;
}

int cmd_check(int argc, char **argv)
{
	struct options o;
	int code;

	code = options_parse(&o, CMD_CHECK, argc, argv);
	if (code >= 0)
		return code;
	if (o.argc) {
		log_error("check takes no argument '%s'; did you mean --library or --pid?", o.argv[0]);
		code = EXIT_USAGE;
	} else {
		code = check(&o);
	}
	options_free(&o);
	return code;
}
