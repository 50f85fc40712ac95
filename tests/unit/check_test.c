/* SPDX-License-Identifier: Apache-2.0 */
/* By what steps can be found, told from the probes that fit; and the two forms in which it is
 * shown. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "loader/loader.h"
#include "userspace/text/canvas.h"
#include "userspace/report/check.h"

static struct check_probe probe(const char *id, enum gp_role role, enum gp_attach_state state)
{
	return (struct check_probe){
		.id = id,
		.runtime = "x",
		.versions = "from 2.0",
		.role = (uint16_t)role,
		.compiles = true,
		.why = state == GP_ATTACH_attached ? "" : "no such function",
		.hit_cost_ns = 700,
		.a = {.state = (uint8_t)state,
		      .insn = GP_INSN_emulated,
		      .offset = 0x40,
		      .library = "libx.so"},
	};
}

static void judged(const struct check_probe *probes, size_t n, enum check_tier tier, const char *by)
{
	struct check_target t = {.name = "process 1", .pid = 1, .probes = probes, .nprobes = n};
	struct check_verdict v;

	check_classify(&t, 1, &v);
	assert_int_equal(v.tier, tier);
	assert_string_equal(v.by, by);
	assert_true(strlen(v.text) > 20);
	assert_null(strchr(v.text, '%'));
	if (*by)
		assert_non_null(strstr(v.text, by));
}

static const char *text_of(const struct check_probe *probes, size_t n)
{
	static struct check_verdict v;
	struct check_target t = {.name = "process 1", .pid = 1, .probes = probes, .nprobes = n};

	check_classify(&t, 1, &v);
	return v.text;
}

static void test_ladder(void **state)
{
	struct check_probe p[] = {
		probe("x.sync", GP_ROLE_sync, GP_ATTACH_attached),
		probe("x.backward", GP_ROLE_backward, GP_ATTACH_attached),
		probe("x.execute", GP_ROLE_execute, GP_ATTACH_attached),
		probe("x.begin", GP_ROLE_range_begin, GP_ATTACH_attached),
		probe("x.end", GP_ROLE_range_end, GP_ATTACH_attached),
	};

	(void)state;
	judged(p, 0, CHECK_NONE, "");
	judged(p, 1, CHECK_CYCLE, "x.sync");
	judged(p, 2, CHECK_B, "x.backward");
	judged(p, 3, CHECK_B, "x.execute");
	judged(p, 4, CHECK_B, "x.execute"); /* a range without its end tells nothing */
	judged(p, 5, CHECK_A, "x.begin");
	p[3].a.state = GP_ATTACH_absent;
	judged(p, 5, CHECK_B, "x.execute");
	assert_non_null(strstr(text_of(p, 5), "--marker x.execute"));
	p[2].names = true; /* in each run */
	assert_null(strstr(text_of(p, 5), "--marker"));
	p[3].a.state = GP_ATTACH_attached;
	p[3].anonymous = true;
	p[2].role = GP_ROLE_reducer; /* the order of ranges without names tells more: the update's
					end */
	judged(p, 5, CHECK_B, "x.begin");
	assert_non_null(strstr(text_of(p, 5), "else by the order of backward passes"));
	p[3].a.state = GP_ATTACH_absent;
	judged(p, 5, CHECK_A, "x.execute");
}

/* What has no names is counted, and is no step by itself: bare CUDA, Neuron. */
static void test_nameless(void **state)
{
	struct check_probe p[] = {
		probe("cuda.sync", GP_ROLE_sync, GP_ATTACH_attached),
		probe("cuda.graph_launch", GP_ROLE_graph_launch, GP_ATTACH_attached),
		probe("neuron.execute", GP_ROLE_execute, GP_ATTACH_attached),
		probe("jax.execute", GP_ROLE_execute, GP_ATTACH_attached),
	};

	(void)state;
	p[2].compiles = false; /* nothing names its programs */
	judged(p, 1, CHECK_CYCLE, "cuda.sync");
	judged(p, 2, CHECK_CYCLE, "cuda.graph_launch");
	assert_non_null(
		strstr(text_of(p, 2), "no step can be told from outside by itself: launches of"));
	judged(p, 3, CHECK_CYCLE, "neuron.execute");
	assert_non_null(strstr(text_of(p, 3), "--marker ID"));
	judged(p, 4, CHECK_B, "jax.execute");
}

/* Files are judged as one process that maps them all. */
static void test_files(void **state)
{
	const struct check_probe begin = probe("x.begin", GP_ROLE_range_begin, GP_ATTACH_attached);
	const struct check_probe end = probe("x.end", GP_ROLE_range_end, GP_ATTACH_attached);
	const struct check_target t[] = {{.name = "a.so", .probes = &begin, .nprobes = 1},
					 {.name = "b.so", .probes = &end, .nprobes = 1}};
	struct check_verdict v;
	struct buffer out = {0};

	(void)state;
	check_classify(t, 1, &v);
	assert_int_equal(v.tier, CHECK_NONE);
	check_classify(t, 2, &v);
	assert_int_equal(v.tier, CHECK_A);
	check_text_targets(&out, t, 2, 0, false);
	assert_non_null(strstr(
		out.data,
		"  x.begin                            resolved  emulated     700 ns * libx.so+0x40\n"));
	assert_non_null(strstr(out.data, "\nwith these libraries: steps can be found, tier A"));
	assert_null(strstr(strstr(out.data, "with these") + 1, "with these"));
	assert_null(strchr(out.data, '\033'));
	buffer_free(&out);
}

static void test_shown(void **state)
{
	const struct check_probe p[] = {probe("x.execute", GP_ROLE_execute, GP_ATTACH_attached),
					probe("x.gone", GP_ROLE_none, GP_ATTACH_absent)};
	const struct check_runtime r = {
		.runtime = "x", .library = "libx.so", .version = "1.2", .version_from = "package"};
	const struct check_target t[] = {
		{.name = "process 7",
		 .pid = 7,
		 .probes = p,
		 .nprobes = 2,
		 .runtimes = &r,
		 .nruntimes = 1},
		{.name = "process 8", .pid = 8, .error = "no such process"}};
	const struct check_host h = {.budget_ns = 1000000, .lockdown = "integrity"};
	struct buffer out = {0};

	(void)state;
	check_text_targets(&out, t, 2, 0, true);
	assert_non_null(strstr(out.data, "  x              1.2              libx.so\n"));
	assert_non_null(strstr(
		out.data,
		"x.gone                             absent    libx.so: no such function (it is for: from 2.0)\n"));
	assert_non_null(strstr(
		out.data, "1 can be probed, 1 not in this version of the library, 0 failed\n"));
	assert_non_null(strstr(out.data, "\033[32msteps can be found, tier B"));
	assert_non_null(strstr(out.data, "  no such process\n"));
	buffer_clear(&out);
	check_json(&out, &h, t, 2);
	assert_non_null(strstr(
		out.data, "\"steps\":{\"can_be_found\":true,\"tier\":\"B\",\"by\":\"x.execute\""));
	assert_non_null(
		strstr(out.data, "\"error\":\"no such process\",\"runtimes\":[],\"probes\":[]}"));
	assert_non_null(strstr(out.data, "\"version\":\"1.2\",\"version_from\":\"package\""));
	assert_non_null(strstr(out.data, "\"budget_ns_per_s\":1000000"));
	assert_non_null(strstr(out.data, "\"lockdown\":\"integrity\""));
	buffer_free(&out);
}

static void lockdown_says(struct check_host *h, const char *mode, const char *text)
{
	struct buffer out = {0};

	snprintf(h->lockdown, sizeof(h->lockdown), "%s", mode);
	check_text_host(&out, h, 0, false);
	if (text)
		assert_non_null(strstr(out.data, text));
	else
		assert_null(strstr(out.data, "lockdown"));
	buffer_free(&out);
}

static void test_lockdown(void **state)
{
	const struct feature f[] = {{.name = "multi", .error = -EINVAL},
				    {.name = "tracefs", .error = -ENOENT},
				    {.name = "kernel_read", .error = -EINVAL},
				    {.name = "file", .off = true}};
	struct check_host h = {.features = f, .nfeatures = 4};

	(void)state;
	lockdown_says(&h, "", NULL);
	lockdown_says(&h, "none", "\nkernel lockdown: none; lost by it: nothing\n");
	lockdown_says(&h, "integrity", "\nkernel lockdown: integrity; lost by it: nothing\n");
	lockdown_says(&h, "confidentiality",
		      "\nkernel lockdown: confidentiality; lost by it: tracefs, kernel_read\n");
}

static void host_is(const struct check_host *h, bool able, const char *text)
{
	struct buffer out = {0};
	struct check_host_verdict v;
	char *save = NULL;

	check_classify_host(h, &v);
	assert_int_equal(v.able, able);
	assert_string_equal(v.text, text);
	check_text_host(&out, h, 80, false);
	check_text_verdict(&out, h, 80, false);
	for (char *at = strtok_r(out.data, "\n", &save); at; at = strtok_r(NULL, "\n", &save))
		if (canvas_width(at) > 80)
			fail_msg("wider than 80: %s", at);
	buffer_free(&out);
}

static void test_host(void **state)
{
	struct feature f[] = {
		{.name = "bpf",
		 .purpose = "programs",
		 .how = "loaded",
		 .without = "nothing works",
		 .have = true,
		 .required = true},
		{.name = "session",
		 .purpose = "both",
		 .how = "as multi",
		 .without = "nothing: it is not used"},
		{.name = "file",
		 .purpose =
			 "checkpoints by their files, and which one a restart reads, on every node of the job",
		 .how = "a program is attached",
		 .without = "checkpoints go unseen",
		 .error = -EPERM,
		 .kernel_has = true},
	};
	struct check_host h = {.features = f,
			       .nfeatures = 3,
			       .nprices = 1,
			       .prices = {{"nop5", 300, 500}},
			       .budget_ns = 1000000};

	(void)state;
	host_is(&h, true, "processes can be watched, without file (checkpoints go unseen)");
	f[2].have = true;
	host_is(&h, true,
		"processes can be watched; whether steps can be found: gp-bpf check --pid PID");
	h.nprices = 0;
	host_is(&h, false, "nothing can be watched: see the error above");
	f[0].have = false;
	f[0].error = -EPERM;
	host_is(&h, false, "nothing can be watched; missing: bpf (Operation not permitted)");
	f[0].off = true;
	host_is(&h, false, "nothing can be watched; missing: bpf (switched off)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ladder),	 cmocka_unit_test(test_nameless),
		cmocka_unit_test(test_files),	 cmocka_unit_test(test_shown),
		cmocka_unit_test(test_lockdown), cmocka_unit_test(test_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
