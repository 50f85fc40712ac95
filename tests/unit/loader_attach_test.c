/* SPDX-License-Identifier: Apache-2.0 */
/* Probes on real processes: this program forks children that call the functions below. Needs root. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <dirent.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/loader.h"
#include "loader/probe_file.h"
#include "userspace/base/log.h"
#include "userspace/ingest/event.h"
#include "userspace/ingest/ring.h"

/* ---- what is probed: real functions with a prologue that the kernel emulates ------------------ */

#if defined(__x86_64__)
#define PUSH_BODY    "push %rbp\n\tpop %rbp\n\tret"
#define NOP5_BODY    ".byte 0x0f,0x1f,0x44,0x00,0x00\n\tret" /* an assembler may choose a shorter nopl */
#define PRODUCT_BODY "push %rbp\n\tmov %edi,%eax\n\timul %esi,%eax\n\tpop %rbp\n\tret"
#elif defined(__aarch64__)
#define PUSH_BODY    "b 1f\n1:\tret"
#define NOP5_BODY    "nop\n\tret"
#define PRODUCT_BODY "b 1f\n1:\tmul w0, w0, w1\n\tret"
#endif

#define PROBED(name, body)                                                                                   \
	asm(".pushsection .text,\"ax\",@progbits\n.balign 16\n.globl " #name "\n.type " #name                \
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

/* ---- one loader and what it told -------------------------------------------------------------- */

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
	} counts[16];
	size_t counts_n;
	struct {
		uint32_t probe;
		struct gp_attach a;
	} attaches[ATTACHES_MAX];
	size_t attaches_n;
};

static char exe[256]; /* this program */

static void on_attach(void *ctx, uint32_t probe, const struct gp_attach *a)
{
	struct watch *w = ctx;

	assert_true(w->attaches_n < ATTACHES_MAX);
	w->attaches[w->attaches_n].probe = probe;
	w->attaches[w->attaches_n++].a = *a;
}

static void on_count(void *ctx, pid_t pid, uint32_t probe, uint64_t count)
{
	struct watch *w = ctx;

	assert_true(w->counts_n < 16);
	w->counts[w->counts_n].pid = pid;
	w->counts[w->counts_n].probe = probe;
	w->counts[w->counts_n++].count = count;
}

static void on_loss(void *ctx, enum gp_loss_cause cause, uint64_t count)
{
	struct watch *w = ctx;

	w->losses[cause] += count;
}

static const char probe_file[] =
	"runtime: test\n"
	"libraries: [loader_attach_test]\n"
	"probes:\n"
	"  - {id: hit, symbol: gpt_hit, group: marker, role: backward,\n"
	"     captures: [{name: a, arg: 0}, {name: b, arg: 1}], why: w}\n"
	"  - {id: twin, symbol: gpt_hit, group: confirm, role: backward, why: w}\n"
	"  - {id: count, symbol: gpt_count, group: bulk, role: launch, emit: count, why: w}\n"
	"  - {id: nop5, symbol: gpt_nop5, group: bulk, role: launch, emit: count, why: w}\n"
	"  - {id: begin, symbol: gpt_begin, group: marker, role: range_begin, max_hz: 5, keep: [Keep.],\n"
	"     string: {arg: 1, as: std_string}, why: w}\n"
	"  - {id: end, symbol: gpt_end, group: marker, role: range_end, why: w}\n"
	"  - {id: scope, symbol: gpt_scope, group: marker, role: range_begin, anonymous: true,\n"
	"     only: {arg: 0, width: 4, equals: 7}, why: w}\n"
	"  - {id: call, symbol: gpt_call, group: confirm, role: sync, return: true, may_block: true,\n"
	"     captures: [{name: a, arg: 0, width: 4}], why: w}\n"
	"  - {id: named, symbol: gpt_named, group: fault, role: save_begin,\n"
	"     string: {arg: 0, as: chars}, why: w}\n"
	"  - {id: absent, symbol: gpt_absent, group: fault, role: error, why: w}\n";

static char probe_folder[] = "/tmp/loader_attach_XXXXXX";

static void probe_folder_remove(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/test.yaml", probe_folder);
	unlink(path);
	rmdir(probe_folder);
}

static int probe_folder_make(void)
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

static struct watch *watch_open(const char *features_off)
{
	struct watch *w = test_calloc(1, sizeof(*w));
	struct loader_config cfg = {.features_off = features_off};
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

static void watch_close(struct watch *w)
{
	for (int i = 0; i < 2; i++)
		ring_close(w->rings[i]);
	loader_close(w->loader);
	probe_table_free(w->probes);
	buffer_free(&w->records);
	test_free(w);
}

/* Life first, then calls; the processes have ended, so the rings are at rest. */
static void watch_collect(struct watch *w)
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
static bool record_next(const struct watch *w, size_t *pos, unsigned int kind, struct event *ret)
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

static size_t records_count(const struct watch *w, unsigned int kind, const char *probe, pid_t pid)
{
	size_t pos = 0, n = 0;
	struct event ev;

	while (record_next(w, &pos, kind, &ev))
		n += (!probe || ev.rec->probe == gp_probe_hash(probe)) &&
		     (!pid || ev.rec->pid == (uint32_t)pid);
	return n;
}

static uint64_t counted(const struct watch *w, const char *probe, pid_t pid)
{
	uint64_t n = 0;

	for (size_t i = 0; i < w->counts_n; i++)
		if (w->counts[i].probe == gp_probe_hash(probe) && w->counts[i].pid == pid)
			n += w->counts[i].count;
	return n;
}

static const struct gp_attach *attached(const struct watch *w, const char *probe)
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
static struct child child_start(struct watch *w, void (*body)(void))
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
	return c;
}

static int child_run(const struct child *c)
{
	int status;

	assert_int_equal(write(c->go, "g", 1), 1);
	close(c->go);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	return status;
}

static void body_counts(void)
{
	for (int i = 0; i < 23; i++)
		gpt_hit((uint64_t)i, 7);
	for (int i = 0; i < 10007; i++)
		gpt_count();
	for (int i = 0; i < 7919; i++)
		gpt_nop5();
}

static void expect_counts(const char *features_off)
{
	struct watch *w = watch_open(features_off);
	struct child c = child_start(w, body_counts);
	uint64_t last_arg = 0;
	struct event ev;
	size_t pos = 0;

	assert_int_equal(WEXITSTATUS(child_run(&c)), 42);
	watch_collect(w);
	assert_int_equal(records_count(w, GP_KIND_hit, "test.hit", c.pid), 23);
	while (record_next(w, &pos, GP_KIND_hit, &ev)) {
		assert_int_equal(ev.hit->arg[0], last_arg++);
		assert_int_equal(ev.hit->arg[1], 7);
		assert_int_not_equal(ev.hit->sp, 0);
		assert_int_equal(ev.rec->tid, c.pid);
	}
	assert_int_equal(counted(w, "test.count", c.pid), 10007);
	assert_int_equal(counted(w, "test.nop5", c.pid), 7919);
	for (int i = 0; i < GP_LOSS_CAUSE_COUNT; i++)
		assert_int_equal(w->losses[i], 0);
	watch_close(w);
}

static void need_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("skipped: loading BPF programs needs root\n");
	skip();
}

static void counts_are_exact(void **state)
{
	(void)state;
	need_root();
	expect_counts(NULL);
}

static void counts_are_exact_without_features(void **state)
{
	(void)state;
	need_root();
	expect_counts("multi");
	expect_counts("task_vma");
	expect_counts("btf,multi");
}

static void body_unwatched(void)
{
	gpt_hit(1, 2);
	gpt_count();
}

/* Another process of the same file pays a lookup and is not told. */
static void others_are_not_told(void **state)
{
	struct watch *w;
	struct child c;

	(void)state;
	need_root();
	w = watch_open(NULL);
	c = child_start(w, body_counts);
	body_unwatched();
	child_run(&c);
	watch_collect(w);
	assert_int_equal(records_count(w, GP_KIND_hit, NULL, 0), 23);
	assert_int_equal(counted(w, "test.count", getpid()), 0);
	watch_close(w);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static void begin(const char *name)
{
	char copy[64]; /* a constant's page may not be in memory yet, and then the kernel cannot read it */
	struct text text = {.at = copy, .len = strlen(name)};

	snprintf(copy, sizeof(copy), "%s", name);
	gpt_begin(NULL, &text);
}

static void body_ranges(void)
{
	gpt_end(); /* begun before we came */
	begin("Keep.outer");
	for (int i = 0; i < 20; i++) { /* over the bound of 5 a second from the sixth on */
		begin("user");
		begin("Keep.inner");
		gpt_end();
		gpt_end();
	}
	gpt_end();
	gpt_scope(3); /* not the scope that the row asks for */
	gpt_scope(7);
	for (int i = 0; i < GP_RANGE_DEPTH + 2; i++)
		begin("Keep.deep");
	for (int i = 0; i < GP_RANGE_DEPTH + 2; i++)
		gpt_end();
	gpt_begin(NULL, NULL); /* no string there */
	gpt_end();
}

static void ranges_pair(void **state)
{
	bool open[GP_RANGE_DEPTH] = {false};
	size_t pos = 0, begins = 0, ends = 0, users = 0, kept = 0, anonymous = 0;
	struct event ev;
	struct watch *w;
	struct child c;

	(void)state;
	need_root();
	w = watch_open(NULL);
	c = child_start(w, body_ranges);
	child_run(&c);
	watch_collect(w);
	while (pos < w->records.len) {
		const struct gp_rec *rec = (const struct gp_rec *)(w->records.data + pos);

		pos += (rec->len + 7u) & ~7u;
		assert_int_equal(event_decode(rec, rec->len, &ev), 0);
		if (rec->kind == GP_KIND_range_begin && ev.range_begin->flags & GP_RANGE_ANONYMOUS) {
			anonymous++;
		} else if (rec->kind == GP_KIND_range_begin) {
			assert_true(ev.range_begin->depth < GP_RANGE_DEPTH);
			assert_false(open[ev.range_begin->depth]);
			open[ev.range_begin->depth] = true;
			users += !strcmp(ev.range_begin->name, "user");
			kept += !strcmp(ev.range_begin->name, "Keep.inner");
			begins++;
		} else if (rec->kind == GP_KIND_range_end) {
			assert_true(open[ev.range_end->depth]);
			open[ev.range_end->depth] = false;
			ends++;
		}
	}
	assert_int_equal(users, 5);
	assert_int_equal(kept, 20);
	assert_int_equal(anonymous, 1);
	assert_int_equal(begins, ends);
	assert_int_equal(w->losses[GP_LOSS_rate_limited], 15 + 1 /* the unreadable one */);
	assert_int_equal(w->losses[GP_LOSS_unpaired], 1);
	assert_int_equal(w->losses[GP_LOSS_stack_full], 2);
	assert_int_equal(w->losses[GP_LOSS_read_fault], 1);
	watch_close(w);
}

/* ---- entry and return, strings ---------------------------------------------------------------- */

static void body_calls(void)
{
	char path[64];

	for (int i = 1; i <= 13; i++)
		gpt_call(i, 3);
	snprintf(path, sizeof(path), "/some/where/model.pt");
	gpt_named(path);
}

static void expect_calls(const char *features_off)
{
	struct watch *w = watch_open(features_off);
	struct child c = child_start(w, body_calls);
	int64_t i = 0;
	struct event ev;
	size_t pos = 0;

	child_run(&c);
	watch_collect(w);
	while (record_next(w, &pos, GP_KIND_call, &ev)) {
		i++;
		assert_int_equal(ev.call->ret, 3 * i);
		assert_int_equal(ev.call->arg[0], i);
		assert_true(ev.call->dur_ns > 0 && ev.call->dur_ns < ev.rec->ts_ns);
		assert_int_equal(ev.rec->probe, gp_probe_hash("test.call"));
	}
	assert_int_equal(i, 13);
	pos = 0;
	assert_true(record_next(w, &pos, GP_KIND_named, &ev));
	assert_string_equal(ev.named->name, "/some/where/model.pt");
	assert_int_equal(w->losses[GP_LOSS_unpaired], 0);
	watch_close(w);
}

static void calls_have_length_and_result(void **state)
{
	(void)state;
	need_root();
	expect_calls(NULL);
	expect_calls("multi");
}

/* ---- process life ------------------------------------------------------------------------------ */

static void hits(int n)
{
	while (n--) {
		gpt_hit(1, 1);
		gpt_count();
	}
}

static void body_family(void)
{
	pid_t first = fork(), second;
	int status;

	if (!first) {
		hits(11);
		second = fork();
		if (!second) {
			execl(exe, exe, "hits", "13", NULL);
			_exit(99);
		}
		waitpid(second, &status, 0);
		_exit(5);
	}
	waitpid(first, &status, 0);
	hits(7);
	_exit(3);
}

static void children_are_followed(void **state)
{
	pid_t pids[3];
	const int status[3] = {3, 5, 17}, calls[3] = {7, 11, 13};
	struct event ev;
	struct watch *w;
	struct child c;
	size_t pos = 0;

	(void)state;
	need_root();
	w = watch_open(NULL);
	c = child_start(w, body_family);
	assert_int_equal(WEXITSTATUS(child_run(&c)), 3);
	watch_collect(w);
	pids[0] = c.pid;
	for (int i = 1; i < 3; i++) {
		assert_true(record_next(w, &pos, GP_KIND_fork, &ev));
		assert_int_equal(ev.rec->pid, pids[i - 1]);
		assert_int_not_equal(ev.fork->slot, 0);
		assert_int_not_equal(ev.fork->start_ns, 0);
		pids[i] = (pid_t)ev.fork->child;
	}
	assert_int_equal(records_count(w, GP_KIND_exec, NULL, 0), 1);
	assert_int_equal(records_count(w, GP_KIND_exec, NULL, pids[2]), 1);
	assert_true(records_count(w, GP_KIND_map, NULL, pids[2]) > 0);
	assert_int_equal(records_count(w, GP_KIND_exit, NULL, 0), 3);
	pos = 0;
	for (int i = 2; i >= 0; i--) {
		assert_true(record_next(w, &pos, GP_KIND_exit, &ev));
		assert_int_equal(ev.rec->pid, pids[i]);
		assert_int_equal(WEXITSTATUS(ev.exit->status), status[i]);
		assert_int_equal(records_count(w, GP_KIND_hit, "test.hit", pids[i]), calls[i]);
		assert_int_equal(counted(w, "test.count", pids[i]), calls[i]);
		assert_false(loader_watched(w->loader, pids[i]));
	}
	assert_int_equal(ev.exit->start_ns, 77); /* as loader_watch() was told */
	watch_close(w);
}

static void body_waits(void)
{
	for (;;)
		pause();
}

static void signals_name_their_sender(void **state)
{
	struct event ev;
	struct watch *w;
	struct child c;
	size_t pos = 0;

	(void)state;
	need_root();
	w = watch_open(NULL);
	c = child_start(w, body_waits);
	kill(c.pid, SIGCHLD); /* harmless: not told */
	kill(c.pid, SIGKILL);
	assert_int_equal(WTERMSIG(child_run(&c)), SIGKILL);
	watch_collect(w);
	assert_int_equal(records_count(w, GP_KIND_signal, NULL, 0), 1);
	assert_true(record_next(w, &pos, GP_KIND_signal, &ev));
	assert_int_equal(ev.rec->pid, c.pid);
	assert_int_equal(ev.signal->signal, SIGKILL);
	assert_int_equal(ev.signal->sender, getpid());
	pos = 0;
	assert_true(record_next(w, &pos, GP_KIND_exit, &ev));
	assert_int_equal(ev.exit->status, SIGKILL);
	watch_close(w);
}

/* ---- rules, states, what stays behind ------------------------------------------------------------ */

static void expect_state(const struct watch *w, const char *probe, enum gp_attach_state state, int error)
{
	const struct gp_attach *a = attached(w, probe);

	assert_non_null(a);
	assert_int_equal(a->state, state);
	assert_int_equal(a->error, error);
	assert_string_equal(a->library, "loader_attach_test");
}

static void each_probe_has_a_state(void **state)
{
	struct watch *w;
	struct child c;

	(void)state;
	need_root();
	w = watch_open(NULL);
	c = child_start(w, body_counts);
	expect_state(w, "test.hit", GP_ATTACH_attached, 0);
	expect_state(w, "test.call", GP_ATTACH_attached, 0);
	expect_state(w, "test.twin", GP_ATTACH_refused, -EEXIST);
	expect_state(w, "test.absent", GP_ATTACH_absent, 0);
	assert_true(attached(w, "test.hit")->price_ns > 0);
	assert_true(loader_price_ns(w->loader, GP_INSN_emulated, true) > 0);
#if defined(__x86_64__)
	assert_int_equal(attached(w, "test.hit")->insn, GP_INSN_emulated);
	assert_int_equal(attached(w, "test.nop5")->insn, GP_INSN_nop5);
#endif
	w->attaches_n = 0;
	assert_int_equal(loader_scan(w->loader, c.pid), 0); /* nothing new */
	assert_int_equal(w->attaches_n, 0);
	child_run(&c);
	loader_unwatch(w->loader, c.pid);
	loader_release_slot(w->loader, c.slot);
	expect_state(w, "test.hit", GP_ATTACH_detached, 0); /* its last user is gone */
	watch_close(w);
}

static size_t descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Links and maps live as long as their descriptors (nothing is pinned): none may be left. */
static void nothing_stays_behind(void **state)
{
	size_t before;

	(void)state;
	need_root();
	expect_counts(NULL);
	before = descriptors();
	expect_counts(NULL);
	expect_counts("multi");
	assert_int_equal(descriptors(), before);
}

static void unknown_features_and_processes(void **state)
{
	struct loader_config cfg = {.features_off = "multi,bogus"};
	struct probe_table *probes;
	struct loader *l = NULL;
	struct watch *w;
	uint32_t slot;
	pid_t pid;

	(void)state;
	need_root();
	assert_int_equal(probe_table_load(&probes, probe_folder), 0);
	cfg.probes = probes;
	assert_int_equal(loader_open(&l, &cfg), -EINVAL);
	cfg.features_off = "cookie";
	assert_int_equal(loader_open(&l, &cfg), -ENOSYS);
	assert_null(l);
	probe_table_free(probes);
	w = watch_open(NULL);
	pid = fork();
	if (!pid)
		_exit(0);
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(loader_watch(w->loader, pid, 0, &slot), -ESRCH); /* a zombie */
	waitpid(pid, NULL, 0);
	assert_int_equal(loader_watch(w->loader, pid, 0, &slot), -ESRCH);
	assert_int_equal(loader_scan(w->loader, pid), -ESRCH);
	watch_close(w);
}

static int open_result(void)
{
	struct probe_table *probes = NULL;
	struct loader_config cfg = {0};
	struct loader *l = NULL;
	int err = probe_table_load(&probes, probe_folder);

	cfg.probes = probes;
	if (!err)
		err = loader_open(&l, &cfg);
	loader_close(l);
	probe_table_free(probes);
	return -err;
}

/* In a program of its own: what the kernel allows is asked once. */
static int run_self(const char *mode)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execl(exe, exe, mode, NULL);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void refusals_are_clean(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(run_self("as-nobody"), EPERM);
	assert_int_equal(run_self("in-pid-namespace"), EPERM);
}

static int mode_run(char **argv)
{
	int status = 0;
	pid_t pid;

	if (!strcmp(argv[1], "as-nobody"))
		return open_result();
	if (unshare(CLONE_NEWPID))
		return 1;
	pid = fork();
	if (!pid)
		_exit(open_result());
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_exact),
		cmocka_unit_test(counts_are_exact_without_features),
		cmocka_unit_test(others_are_not_told),
		cmocka_unit_test(ranges_pair),
		cmocka_unit_test(calls_have_length_and_result),
		cmocka_unit_test(children_are_followed),
		cmocka_unit_test(signals_name_their_sender),
		cmocka_unit_test(each_probe_has_a_state),
		cmocka_unit_test(nothing_stays_behind),
		cmocka_unit_test(unknown_features_and_processes),
		cmocka_unit_test(refusals_are_clean),
	};
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (argc > 2 && !strcmp(argv[1], "hits")) {
		hits(atoi(argv[2]));
		_exit(17); /* at once: a sanitizer's own child at exit would be one too many */
	}
	if (len <= 0 || (argc > 1 && !strcmp(argv[1], "as-nobody") && (setgid(65534) || setuid(65534))))
		return 1;
	if (probe_folder_make())
		return 1;
	if (getenv("GP_TEST_DEBUG"))
		log_setup(LOG_DEBUG, LOG_TEXT);
	if (argc > 1)
		return mode_run(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
