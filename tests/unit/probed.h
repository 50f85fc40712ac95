/* SPDX-License-Identifier: Apache-2.0 */
/* probed.h - what the tests that probe real processes share: functions to be probed in this very
 * program, children that call them, and one loader with what it told. */
#ifndef TESTS_UNIT_PROBED_H
#define TESTS_UNIT_PROBED_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/loader.h"
#include "loader/probe/probe_file.h"
#include "userspace/ingest/event.h"
#include "userspace/ingest/ring.h"

/* ---- what is probed: real functions with a prologue that the kernel emulates ----------------- */

#if defined(__x86_64__)
#define PUSH_BODY "push %rbp\n\tpop %rbp\n\tret"
#define NOP5_BODY                                                                                  \
	".byte 0x0f,0x1f,0x44,0x00,0x00\n\tret" /* an assembler may choose a shorter nopl */
#define PRODUCT_BODY "push %rbp\n\tmov %edi,%eax\n\timul %esi,%eax\n\tpop %rbp\n\tret"
#elif defined(__aarch64__)
#define PUSH_BODY    "b 1f\n1:\tret"
#define NOP5_BODY    "nop\n\tret"
#define PRODUCT_BODY "b 1f\n1:\tmul w0, w0, w1\n\tret"
#endif

#define PROBED(name, body)                                                                         \
	asm(".pushsection .text,\"ax\",@progbits\n.balign 16\n.globl " #name "\n.type " #name      \
	    ", %function\n" #name ":\n\t" body "\n.size " #name ", . - " #name "\n.popsection\n")

struct text { /* as std::string begins: a pointer to the characters */
	const char *at;
	size_t len;
	char small[16];
};

int gpt_hit(uint64_t a, uint64_t b);
int gpt_count(void);
int gpt_nop5(void);
int gpt_begin(void *result, const struct text *name);
int gpt_end(void);
int gpt_scope(int scope);
int gpt_call(int a, int b);
int gpt_named(const char *path);
PROBED(gpt_hit, PUSH_BODY);
PROBED(gpt_count, PUSH_BODY);
PROBED(gpt_nop5, NOP5_BODY);
PROBED(gpt_begin, PUSH_BODY);
PROBED(gpt_end, PUSH_BODY);
PROBED(gpt_scope, PUSH_BODY);
PROBED(gpt_call, PRODUCT_BODY);
PROBED(gpt_named, PUSH_BODY);

/* ---- one loader and what it told ------------------------------------------------------------- */

#define ATTACHES_MAX 64

struct watch {
	struct probe_table *probes;
	struct loader *loader;
	struct ring *rings[2];
	struct buffer records;
	uint64_t losses[GP_LOSS_CAUSE_COUNT];
	struct {
		uint32_t probe;
		pid_t pid;
		uint64_t count;
	} counts[32];
	size_t counts_n;
	struct {
		uint32_t probe;
		struct gp_attach a;
	} attaches[ATTACHES_MAX];
	size_t attaches_n;
};

static char exe[256]; /* this program */

static inline void on_attach(void *ctx, uint32_t probe, const struct gp_attach *a)
{
	struct watch *w = ctx;

	assert_true(w->attaches_n < ATTACHES_MAX);
	w->attaches[w->attaches_n].probe = probe;
	w->attaches[w->attaches_n++].a = *a;
}

static inline void on_count(void *ctx, pid_t pid, uint32_t probe, const struct gp_counter *c)
{
	struct watch *w = ctx;

	assert_true(w->counts_n < 32);
	w->counts[w->counts_n].pid = pid;
	w->counts[w->counts_n].probe = probe;
	w->counts[w->counts_n++].count = c->count;
}

static inline void on_loss(void *ctx, enum gp_loss_cause cause, uint64_t count, uint64_t total)
{
	struct watch *w = ctx;

	(void)total;
	w->losses[cause] += count;
}

static const char probe_file[] =
	"runtime: test\n"
	"libraries: [loader_attach_test, loader_capture_test, loader_follow_test, "
	"loader_life_test, loader_relink_test]\n"
	"probes:\n"
#if defined(PROBE_ROWS) /* a test with rows of its own */
	PROBE_ROWS;
#else
	"  - {id: hit, symbol: gpt_hit, group: marker, role: backward,\n"
	"     captures: [{name: a, arg: 0}, {name: b, arg: 1}], why: w}\n"
	"  - {id: twin, prefix: gpt_hit, group: confirm, role: backward, why: w}\n"
	"  - {id: count, symbol: gpt_count, group: bulk, role: launch, emit: count, why: w}\n"
	"  - {id: nop5, symbol: gpt_nop5, group: bulk, role: launch, emit: count, why: w}\n"
	"  - {id: begin, symbol: gpt_begin, group: marker, role: range_begin, "
	"max_hz: 40, keep: [Keep.],\n"
	"     string: {arg: 1, as: std_string}, why: w}\n"
	"  - {id: end, symbol: gpt_end, group: marker, role: range_end, why: w}\n"
	"  - {id: scope, symbol: gpt_scope, group: marker, role: range_begin, anonymous: true,\n"
	"     only: {arg: 0, width: 4, equals: 7}, why: w}\n"
	"  - {id: call, symbol: gpt_call, group: confirm, role: sync, return: true, may_block: true,\n"
	"     captures: [{name: a, arg: 0, width: 4}], why: w}\n"
	"  - {id: named, symbol: gpt_named, group: fault, role: save_begin,\n"
	"     string: {arg: 0, as: chars}, why: w}\n"
	"  - {id: absent, symbol: gpt_absent, group: fault, role: error, why: w}\n";
#endif

static char probe_folder[] = "/tmp/loader_attach_XXXXXX";

static inline void probe_folder_remove(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/test.yaml", probe_folder);
	unlink(path);
	rmdir(probe_folder);
}

static inline int probe_folder_make(void)
{
	char path[64];
	FILE *f;

	if (!mkdtemp(probe_folder))
		return -1;
	atexit(probe_folder_remove);
	snprintf(path, sizeof(path), "%s/test.yaml", probe_folder);
	f = fopen(path, "we");
	if (!f)
		return -1;
	fputs(probe_file, f);
	return fclose(f);
}

/* durable: state directory, or NULL. */
static inline struct watch *watch_open_durable(const char *features_off, const char *durable)
{
	struct watch *w = test_calloc(1, sizeof(*w));
	struct loader_config cfg = {.features_off = features_off, .durable = durable};
	const struct loader_ring *rings;

	assert_int_equal(probe_table_load(&w->probes, probe_folder), 0);
	cfg.probes = w->probes;
	assert_int_equal(loader_open(&w->loader, &cfg), 0);
	assert_int_equal(loader_rings(w->loader, &rings), 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(ring_open(&w->rings[i], rings[i].fd, rings[i].bytes), 0);
	loader_on_attach(w->loader, on_attach, w);
	return w;
}

static inline struct watch *watch_open(const char *features_off)
{
	return watch_open_durable(features_off, NULL);
}

static inline void watch_close(struct watch *w)
{
	for (int i = 0; i < 2; i++)
		ring_close(w->rings[i]);
	loader_close(w->loader);
	probe_table_free(w->probes);
	buffer_free(&w->records);
	test_free(w);
}

/* Life first, then calls; the processes have ended, so the rings are at rest. */
static inline void watch_collect(struct watch *w)
{
	bool busy;

	for (int i = 0; i < 2; i++) {
		while (ring_peek(w->rings[i], &w->records, 1 << 20, &busy) > 0)
			ring_advance(w->rings[i]);
		assert_false(busy);
	}
	loader_sample(w->loader, on_count, on_loss, w);
}

/* Next record of the kind at or after *pos. */
static inline bool record_next(const struct watch *w, size_t *pos, unsigned int kind,
			       struct event *ret)
{
	while (*pos < w->records.len) {
		const struct gp_rec *rec = (const struct gp_rec *)(w->records.data + *pos);

		*pos += (rec->len + 7u) & ~7u;
		assert_int_equal(event_decode(rec, rec->len, ret), 0);
		if (rec->kind == kind)
			return true;
	}
	return false;
}

static inline size_t records_count(const struct watch *w, unsigned int kind, const char *probe,
				   pid_t pid)
{
	size_t pos = 0, n = 0;
	struct event ev;

	while (record_next(w, &pos, kind, &ev))
		n += (!probe || ev.rec->probe == gp_probe_hash(probe)) &&
		     (!pid || ev.rec->pid == (uint32_t)pid);
	return n;
}

static inline uint64_t counted(const struct watch *w, const char *probe, pid_t pid)
{
	uint64_t n = 0;

	for (size_t i = 0; i < w->counts_n; i++)
		if (w->counts[i].probe == gp_probe_hash(probe) && w->counts[i].pid == pid)
			n += w->counts[i].count;
	return n;
}

static inline const struct gp_attach *attached(const struct watch *w, const char *probe)
{
	for (size_t i = w->attaches_n; i > 0; i--)
		if (w->attaches[i - 1].probe == gp_probe_hash(probe))
			return &w->attaches[i - 1].a;
	return NULL;
}

/* ---- children -------------------------------------------------------------------------------- */

struct child {
	pid_t pid;
	int go;
	uint32_t slot;
};

/* Forks a child that waits until child_run(), and watches it. */
static inline struct child child_start(struct watch *w, void (*body)(void))
{
	struct child c;
	int go[2];
	char byte;

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (!c.pid) {
		close(go[1]);
		if (read(go[0], &byte, 1) == 1)
			body();
		_exit(42);
	}
	close(go[0]);
	c.go = go[1];
	assert_int_equal(loader_watch(w->loader, c.pid, 77, &c.slot), 0);
	assert_true(loader_scan(w->loader, c.pid) > 0);
	do /* a slow machine judges some files by the next look only */
		assert_int_equal(loader_settle(w->loader, 10000000000ull), 0);
	while (loader_scan(w->loader, c.pid) > 0);
	return c;
}

static inline int child_run(const struct child *c)
{
	int status;

	assert_int_equal(write(c->go, "g", 1), 1);
	close(c->go);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	return status;
}

static inline void need_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("skipped: loading BPF programs needs root\n");
	skip();
}

/* Before anything else in main(): 0, or -1. */
static inline int probed_setup(void)
{
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	return len <= 0 ? -1 : probe_folder_make();
}

#endif
