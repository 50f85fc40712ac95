/* SPDX-License-Identifier: Apache-2.0 */
/* Probes on real processes: counts, ranges, calls, states of probes. Needs root. */
#include <bpf/bpf.h>
#include <dirent.h>

#include "bpf/gp_private.h"
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
	char copy[GP_NAME_MAX]; /* a constant's page may not be in memory yet, and then the kernel
				   cannot read it */
	struct text text = {.at = copy, .len = strlen(name)};

	snprintf(copy, sizeof(copy), "%s", name);
	gpt_begin(NULL, &text);
}

static void body_ranges(void)
{
	gpt_end(); /* begun before we came */
	begin("Keep.outer");
	for (int i = 0; i < 60; i++) { /* one name may have the first half of 40 a second */
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
		if (rec->kind == GP_KIND_range_begin &&
		    ev.range_begin->flags & GP_RANGE_ANONYMOUS) {
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
	/* 20 a second, and a loaded machine may take more than one for them */
	assert_true(users == 20 || users == 40);
	assert_int_equal(kept, 60);
	assert_int_equal(anonymous, 1);
	assert_int_equal(forgotten, GP_RANGE_DEPTH);
	assert_int_equal(begins, ends + forgotten);
	assert_int_equal(w->losses[GP_LOSS_rate_limited], 60 - users);
	assert_int_equal(w->losses[GP_LOSS_unpaired], 1 + GP_RANGE_DEPTH);
	assert_int_equal(w->losses[GP_LOSS_stack_full], 1);
	assert_int_equal(w->losses[GP_LOSS_read_fault], 1);
	watch_close(w);
}

/* ---- names that users choose ----------------------------------------------------------------- */

static void body_names(void)
{
	for (int i = 0; i < 1000; i++) {
		begin("hot, and long enough to take several words of the record");
		gpt_end();
		if (i % 300 == 0) {
			begin("hot, and long enough to take several words of the record, or rare");
			gpt_end();
		}
	}
}

static size_t names_sent(const struct watch *w, const char *end)
{
	size_t pos = 0, n = 0;
	struct event ev;

	while (record_next(w, &pos, GP_KIND_range_begin, &ev)) {
		const char *name = ev.range_begin->name;

		n += !strcmp(name + strlen(name) - strlen(end), end);
	}
	return n;
}

/* The hot name has the first half of 40 a second (but for the first rare one), the rare one all it
 * needs. */
static void hot_names_leave_room(void **state)
{
	struct watch *w;
	struct child c;

	(void)state;
	need_root();
	w = watch_open(NULL);
	c = child_start(w, body_names);
	child_run(&c);
	watch_collect(w);
	assert_int_equal(names_sent(w, "record"), 20 - 1);
	assert_int_equal(names_sent(w, "or rare"), 4);
	assert_int_equal(records_count(w, GP_KIND_range_end, NULL, c.pid), 19 + 4);
	assert_int_equal(w->losses[GP_LOSS_rate_limited], 981);
	assert_int_equal(w->losses[GP_LOSS_unpaired], 0);
	assert_int_equal(counted(w, "test.begin", c.pid), 981);
	assert_int_equal(counted(w, "test.end", c.pid), 981);
	w->counts_n = 0;
	watch_collect(w);
	assert_int_equal(w->counts_n, 0); /* told once */
	watch_close(w);
}

/* Our loader's map of this name: others may run beside this test. */
static int map_open(const char *name)
{
	struct bpf_map_info info;
	uint32_t len;

	for (int fd = 3; fd < 1024; fd++) {
		len = sizeof(info);
		memset(&info, 0, sizeof(info));
		if (!bpf_obj_get_info_by_fd(fd, &info, &len) && !strcmp(info.name, name))
			return dup(fd);
	}
	return -1;
}

static void full_name_tables_are_told(void **state)
{
	struct gp_name name = {.start_ns = 1}; /* long ago */
	struct gp_name_key key = {0};
	struct watch *w;
	struct child c;
	int fd;

	(void)state;
	need_root();
	w = watch_open(NULL);
	fd = map_open("gp_names");
	assert_true(fd >= 0);
	for (key.hash = 0; key.hash < GP_NAMES_MAX; key.hash++)
		assert_int_equal(bpf_map_update_elem(fd, &key, &name, BPF_ANY), 0);
	c = child_start(w, body_names);
	child_run(&c);
	watch_collect(w); /* and takes out what is old */
	assert_int_equal(w->losses[GP_LOSS_names_full], 40);
	assert_int_equal(names_sent(w, "record") + names_sent(w, "or rare"),
			 40); /* the row's bound holds */
	key.hash = 0;
	assert_int_not_equal(bpf_map_lookup_elem(fd, &key, &name), 0);
	close(fd);
	watch_close(w);
}

/* ---- entry and return, strings --------------------------------------------------------------- */

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

/* ---- rules, states, what stays behind -------------------------------------------------------- */

static void expect_state(const struct watch *w, const char *probe, enum gp_attach_state state,
			 int error)
{
	const struct gp_attach *a = attached(w, probe);

	assert_non_null(a);
	assert_int_equal(a->state, state);
	assert_int_equal(a->error, error);
	assert_string_equal(a->library, "loader_attach_test");
}

static void count_ignore(void *ctx, pid_t pid, uint32_t probe, const struct gp_counter *c)
{
	(void)ctx;
	(void)pid;
	(void)probe;
	(void)c;
}

static void loss_ignore(void *ctx, enum gp_loss_cause cause, uint64_t count, uint64_t total)
{
	(void)ctx;
	(void)cause;
	(void)count;
	(void)total;
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
	assert_true(attached(w, "test.hit")->hit_cost_ns > 0);
	assert_true(loader_hit_cost_ns(w->loader, GP_INSN_emulated, true) > 0);
#if defined(__x86_64__)
	assert_int_equal(attached(w, "test.hit")->insn, GP_INSN_emulated);
	assert_int_equal(attached(w, "test.nop5")->insn, GP_INSN_nop5);
#endif
	w->attaches_n = 0;
	assert_int_equal(loader_scan(w->loader, c.pid), 0); /* nothing new */
	assert_int_equal(w->attaches_n, 0);
	child_run(&c);
	loader_gone(w->loader, c.pid, c.slot);
	/* Its last user is gone; it is kept some seconds longer, for one that comes after. */
	assert_int_equal(w->attaches_n, 0);
	while (!w->attaches_n && !usleep(10000))
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
		cmocka_unit_test(hot_names_leave_room),
		cmocka_unit_test(full_name_tables_are_told),
		cmocka_unit_test(calls_have_length_and_result),
		cmocka_unit_test(each_probe_has_a_state),
		cmocka_unit_test(nothing_stays_behind),
	};

	if (probed_setup())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
