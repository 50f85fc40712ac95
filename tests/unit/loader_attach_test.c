/* SPDX-License-Identifier: Apache-2.0 */
/* Probes on real processes: counts, ranges, calls, states of probes. Needs root. */
#include <dirent.h>

#include "tests/unit/probed.h"

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
	size_t pos = 0, begins = 0, ends = 0, users = 0, kept = 0, anonymous = 0, forgotten = 0;
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
			if (!ev.range_begin->depth && open[0]) { /* what was open is forgotten */
				memset(open, 0, sizeof(open));
				forgotten = begins - ends;
			}
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
	assert_int_equal(forgotten, GP_RANGE_DEPTH);
	assert_int_equal(begins, ends + forgotten);
	assert_int_equal(w->losses[GP_LOSS_rate_limited], 15 + 1 /* the unreadable one */);
	assert_int_equal(w->losses[GP_LOSS_unpaired], 1 + GP_RANGE_DEPTH);
	assert_int_equal(w->losses[GP_LOSS_stack_full], 1);
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

/* ---- rules, states, what stays behind ------------------------------------------------------------ */

static void expect_state(const struct watch *w, const char *probe, enum gp_attach_state state, int error)
{
	const struct gp_attach *a = attached(w, probe);

	assert_non_null(a);
	assert_int_equal(a->state, state);
	assert_int_equal(a->error, error);
	assert_string_equal(a->library, "loader_attach_test");
}

static void count_ignore(void *ctx, pid_t pid, uint32_t probe, uint64_t count)
{
	(void)ctx;
	(void)pid;
	(void)probe;
	(void)count;
}

static void loss_ignore(void *ctx, enum gp_loss_cause cause, uint64_t count)
{
	(void)ctx;
	(void)cause;
	(void)count;
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
	/* Its last user is gone; it is kept a second longer, for one that comes after. */
	assert_int_equal(w->attaches_n, 0);
	while (!w->attaches_n)
		loader_sample(w->loader, count_ignore, loss_ignore, NULL);
	expect_state(w, "test.hit", GP_ATTACH_detached, 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_exact),
		cmocka_unit_test(counts_are_exact_without_features),
		cmocka_unit_test(others_are_not_told),
		cmocka_unit_test(ranges_pair),
		cmocka_unit_test(calls_have_length_and_result),
		cmocka_unit_test(each_probe_has_a_state),
		cmocka_unit_test(nothing_stays_behind),
	};

	if (probed_setup())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
