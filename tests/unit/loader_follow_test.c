/* SPDX-License-Identifier: Apache-2.0 */
/* Probes where only a call tells a function is, on real processes; values along paths. Needs
 * root. */
#define PROBE_ROWS                                                                                         \
	"  - {id: run, symbol: gpt_call, group: marker, role: execute, captures: [{name: deep, arg: 0, "   \
	"width: 4}], why: w}\n"                                                                            \
	"  - {id: ask, symbol: gpt_hit, group: confirm, role: on_ready, return: true,\n"                   \
	"     captures: [{name: deep, arg: 0, path: [0, 8]}, {name: none, arg: 0, path: [16, 8]},\n"       \
	"                {name: callback, arg: 0, path: [8]}, {name: late, arg: 0, path: [24], late: "     \
	"true},\n"                                                                                         \
	"                {name: bad, arg: 0, path: [32, 0]}], why: w}\n"                                   \
	"  - {id: ready, follow: {probe: ask, capture: callback, join: deep, with: run}, group: confirm, " \
	"role: completion,\n"                                                                              \
	"     captures: [{name: error, arg: 0}, {name: token, arg: 1}], why: w}\n"
#include "tests/unit/probed.h"

#include <dlfcn.h>
#include <sys/mman.h>

struct note {
	const uint64_t *deep;
	void *callback;
	const uint64_t *none;
	uint64_t late;
	const void *bad;
};

static int phase[2];   /* the child goes on when the other end is written to */
static int arrived[2]; /* ... and has written a byte here, or ended */
static bool started;   /* its first byte was read */
static uint64_t words[3];
static struct note note;

__attribute__((noinline)) uint64_t follow_ready(uint64_t error, uint64_t token);
__attribute__((noinline)) uint64_t follow_ready(uint64_t error, uint64_t token)
{
	asm volatile("" ::: "memory");
	return error * 3 + token;
}

static void next_phase(void)
{
	char byte;

	close(phase[1]);
	if (write(arrived[1], "a", 1) != 1 || read(phase[0], &byte, 1) != 1)
		_exit(1);
}

static void ask(void *callback)
{
	gpt_call(22, 0);
	note.callback = callback;
	gpt_hit((uint64_t)(uintptr_t)&note, 0);
}

/* What the calls told is looked for, and attached; true: all is done. */
static void follow(struct watch *w)
{
	bool busy;
	size_t from = w->records.len;

	while (ring_peek(w->rings[1], &w->records, 1 << 20, &busy) > 0)
		ring_advance(w->rings[1]);
	loader_spent(w->loader, w->records.data + from, w->records.len - from);
	for (int i = 0; i < 20; i++) /* a few places a turn */
		assert_int_equal(loader_settle(w->loader, 10000000000ull), 0);
}

static void phase_go(struct watch *w)
{
	char byte;

	if (!started) {
		close(arrived[1]);
		assert_int_equal(read(arrived[0], &byte, 1), 1);
	}
	started = true;
	assert_int_equal(write(phase[1], "g", 1), 1);
	assert_true(read(arrived[0], &byte, 1) >= 0);
	follow(w);
}

static void body_ready(void)
{
	next_phase();
	for (int i = 0; i < 3; i++)
		ask((void *)(uintptr_t)follow_ready);
	for (uint64_t round = 0; round < 2; round++) {
		next_phase();
		for (uint64_t i = 0; i < 7; i++)
			follow_ready(0, 100 * round + i);
	}
	next_phase();
}

static void begin(void)
{
	need_root();
	assert_int_equal(pipe2(phase, O_CLOEXEC), 0);
	assert_int_equal(pipe2(arrived, O_CLOEXEC), 0);
	started = false;
	words[1] = 22; /* written: a page that nobody touched cannot be read by the kernel side */
	note = (struct note){.deep = words, .bad = (const void *)8};
}

static void child_end(const struct child *c)
{
	close(phase[1]);
	assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
	close(c->go);
}

static void end(struct watch *w)
{
	close(phase[0]);
	close(arrived[0]);
	watch_close(w);
}

static void where_a_call_says(void **state)
{
	struct watch *w;
	struct event ev;
	struct child c;
	size_t pos = 0;
	uint64_t n = 0;

	(void)state;
	begin();
	w = watch_open(NULL);
	c = child_start(w, body_ready);
	assert_int_equal(write(c.go, "g", 1), 1);
	assert_null(attached(w, "test.ready"));
	phase_go(w);
	assert_non_null(attached(w, "test.ready"));
	assert_int_equal(attached(w, "test.ready")->state, GP_ATTACH_attached);
	assert_string_equal(attached(w, "test.ready")->library, "loader_follow_test");
	phase_go(w);
	assert_int_equal(loader_relink(w->loader), 0);
	phase_go(w);
	child_end(&c);
	watch_collect(w);
	while (record_next(w, &pos, GP_KIND_hit, &ev)) {
		if (ev.rec->probe != gp_probe_hash("test.ready"))
			continue;
		assert_int_equal(ev.hit->arg[0], 0);
		assert_int_equal(ev.hit->arg[1], n < 7 ? n : 100 + n - 7);
		n++;
	}
	assert_int_equal(n, 14);
	assert_int_equal(records_count(w, GP_KIND_call, "test.ask", c.pid), 3);
	end(w);
}

static void body_wrong(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	next_phase();
	ask(NULL);
	ask(page);
	ask(&note);
	ask((char *)(uintptr_t)follow_ready + 1);
	ask(dlsym(RTLD_DEFAULT, "malloc"));
	ask((void *)(uintptr_t)gpt_count); /* of no record for unwinding */
	for (uintptr_t i = 0; i < 1000; i++)
		ask((void *)(i << 12 | 0xabc));
	next_phase();
}

/* Nothing is attached where a job only says so. */
static void not_where_none_begins(void **state)
{
	struct watch *w;
	struct child c;

	(void)state;
	begin();
	w = watch_open(NULL);
	c = child_start(w, body_wrong);
	assert_int_equal(write(c.go, "g", 1), 1);
	phase_go(w);
	for (size_t i = 0; i < w->attaches_n; i++)
		if (w->attaches[i].probe == gp_probe_hash("test.ready"))
			assert_int_equal(w->attaches[i].a.state, GP_ATTACH_refused);
	assert_int_equal(attached(w, "test.ready")->error, -ENOENT);
	child_end(&c);
	end(w);
}

static void body_alone(void)
{
	next_phase();
	gpt_call(33, 0);
	note.callback = (void *)(uintptr_t)follow_ready;
	gpt_hit((uint64_t)(uintptr_t)&note, 0);
	next_phase();
}

/* The call told of another value than the one that it is to be joined with. */
static void not_where_nothing_joins(void **state)
{
	struct watch *w;
	struct child c;

	(void)state;
	begin();
	w = watch_open(NULL);
	c = child_start(w, body_alone);
	assert_int_equal(write(c.go, "g", 1), 1);
	phase_go(w);
	assert_null(attached(w, "test.ready"));
	child_end(&c);
	watch_collect(w);
	assert_int_equal(records_count(w, GP_KIND_call, "test.ask", c.pid), 1);
	assert_int_equal(records_count(w, GP_KIND_hit, "test.run", c.pid), 1);
	end(w);
}

static void body_paths(void)
{
	next_phase();
	ask(NULL);
	note.bad = NULL;
	ask(NULL);
}

static void paths_lead_somewhere(void **state)
{
	struct watch *w;
	struct event ev;
	struct child c;
	size_t pos = 0;

	(void)state;
	begin();
	note.late = 77;
	w = watch_open(NULL);
	c = child_start(w, body_paths);
	assert_int_equal(write(c.go, "g", 1), 1);
	phase_go(w);
	child_end(&c);
	watch_collect(w);
	assert_true(record_next(w, &pos, GP_KIND_call, &ev));
	assert_int_equal(ev.call->arg[0], 22);
	assert_int_equal(ev.call->arg[1], 0); /* a NULL on the way */
	assert_int_equal(ev.call->arg[3], 77);
	assert_int_equal(ev.call->arg[4], 0);
	assert_int_equal(w->losses[GP_LOSS_read_fault], 1); /* a pointer to nowhere, once */
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_a_call_says),
		cmocka_unit_test(not_where_none_begins),
		cmocka_unit_test(not_where_nothing_joins),
		cmocka_unit_test(paths_lead_somewhere),
	};

	if (probed_setup())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
