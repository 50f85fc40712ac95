/* SPDX-License-Identifier: Apache-2.0 */
/* attach PROBES CACHE PID: how long it takes from the first look at a process until the libraries
 * that it maps are dealt with, in one line: "milliseconds, of which looking at mappings, functions,
 * files". CACHE: the folder for what is remembered of files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/loader.h"
#include "loader/probe/probe_file.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"

#define ROUNDS_MAX 50
#define SETTLE_NS  10000000000ull
#define FILES_MAX  64

struct told {
	size_t functions, files;
	uint64_t ino[FILES_MAX];
};

static void on_attach(void *ctx, uint32_t probe, const struct gp_attach *a)
{
	struct told *t = ctx;
	size_t i = 0;

	(void)probe;
	if (a->state != GP_ATTACH_attached)
		return;
	t->functions++;
	while (i < t->files && t->ino[i] != a->ino)
		i++;
	if (i == t->files && i < FILES_MAX)
		t->ino[t->files++] = a->ino;
}

/* As gp-bpf does it at its start: until nothing new is met. */
static int attach(struct loader *l, pid_t pid, uint64_t *ret_scan_ns)
{
	uint64_t start_ns;
	int err = loader_watch(l, pid, 0, NULL), fresh = 1;

	for (int i = 0; i < ROUNDS_MAX && !err && fresh > 0; i++) {
		start_ns = clock_mono_ns();
		fresh = loader_scan(l, pid);
		*ret_scan_ns += clock_mono_ns() - start_ns;
		err = fresh < 0 ? fresh : loader_settle(l, SETTLE_NS);
	}
	return err;
}

int main(int argc, char **argv)
{
	struct probe_table *probes = NULL;
	struct loader_config cfg = {0};
	uint64_t start_ns, scan_ns = 0;
	struct loader *l = NULL;
	struct told told = {0};
	int err;

	if (argc != 4) {
		fprintf(stderr, "attach PROBES CACHE PID\n");
		return 2;
	}
	log_setup(LOG_WARN, LOG_TEXT);
	err = probe_table_load(&probes, argv[1]);
	cfg = (struct loader_config){.probes = probes, .cache_dir = argv[2]};
	if (!err)
		err = loader_open(&l, &cfg);
	if (!err) {
		loader_on_attach(l, on_attach, &told);
		start_ns = clock_mono_ns();
		err = attach(l, (pid_t)atol(argv[3]), &scan_ns);
		printf("%.3f %.3f %zu %zu\n", (double)(clock_mono_ns() - start_ns) / 1e6,
		       (double)scan_ns / 1e6, told.functions, told.files);
	}
	if (err)
		fprintf(stderr, "attach: %s\n", strerror(-err));
	loader_close(l);
	probe_table_free(probes);
	return err ? 1 : 0;
}
