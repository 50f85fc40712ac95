/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/base/log.h"
#include "userspace/identity/filter.h"

static const struct filter_facts job = {
	.command = "python3 /data/train.py --lr 1",
	.comm = "python3",
	.cgroups = "12:cpuset:/kubepods/burstable/pod1/c2\n0::/user.slice/job-7.scope\n",
	.user = "alice",
	.uid = "1000",
	.namespace = "ml-one",
};

static const char *why;

static enum filter_verdict judged(const struct filter_facts *facts, const char *allow1,
				  const char *allow2, const char *deny)
{
	char *allows[] = {(char *)(uintptr_t)allow1, (char *)(uintptr_t)allow2},
	     *denies[] = {(char *)(uintptr_t)deny};
	static char text[128];
	enum filter_verdict v;
	struct filter *f;

	assert_int_equal(filter_new(&f, allows, !!allow1 + !!allow2, denies, !!deny), 0);
	v = filter_classify(f, facts, &why);
	strncpy(text, why, sizeof(text) - 1);
	why = text;
	filter_free(f);
	return v;
}

static void without_rules_everybody_is_allowed(void **state)
{
	static const struct filter_facts nothing = {"", "", "", "", "", NULL};

	(void)state;
	assert_int_equal(judged(&job, NULL, NULL, NULL), FILTER_ALLOWED);
	assert_int_equal(judged(&nothing, NULL, NULL, NULL), FILTER_ALLOWED);
}

static void each_key_matches_its_own(void **state)
{
	static const char *const hit[] = {"namespace=ml-*",	"user=al?ce",
					  "user=1000",		"command=*train.py*",
					  "command=python[23]", "cgroup=/kubepods/*/c2",
					  "cgroup=*job-7.scope"};
	static const char *const miss[] = {"namespace=alice", "user=python3",	  "user=100",
					   "command=train",   "cgroup=kubepods*", "cgroup=*job-7"};

	(void)state;
	for (size_t i = 0; i < sizeof(hit) / sizeof(*hit); i++) {
		assert_int_equal(judged(&job, hit[i], NULL, NULL), FILTER_ALLOWED);
		assert_int_equal(judged(&job, NULL, NULL, hit[i]), FILTER_DENIED);
		assert_true(strstr(why, hit[i]));
	}
	for (size_t i = 0; i < sizeof(miss) / sizeof(*miss); i++) {
		assert_int_equal(judged(&job, miss[i], NULL, NULL), FILTER_DENIED);
		assert_true(strstr(why, "no allow rule"));
		assert_int_equal(judged(&job, NULL, NULL, miss[i]), FILTER_ALLOWED);
	}
}

static void rules_of_a_key_are_alternatives_and_keys_add_up(void **state)
{
	(void)state;
	assert_int_equal(judged(&job, "user=bob", "user=alice", NULL), FILTER_ALLOWED);
	assert_int_equal(judged(&job, "user=alice", "command=*sh", NULL), FILTER_DENIED);
	assert_string_equal(why, "no allow rule matches its command");
	assert_int_equal(judged(&job, "user=alice", "command=*train*", NULL), FILTER_ALLOWED);
	assert_int_equal(judged(&job, "user=alice", NULL, "command=*train*"), FILTER_DENIED);
	assert_string_equal(why, "deny command=*train*");
}

static void who_has_no_user_is_matched_by_none(void **state)
{
	struct filter_facts unknown = job;

	(void)state;
	unknown.user = unknown.uid = "";
	assert_int_equal(judged(&unknown, "user=*", NULL, NULL), FILTER_DENIED);
	assert_int_equal(judged(&unknown, NULL, NULL, "user=*"), FILTER_ALLOWED);
}

static void a_namespace_that_is_to_come_is_waited_for(void **state)
{
	struct filter_facts early = job;

	(void)state;
	early.namespace = NULL;
	assert_int_equal(judged(&early, "namespace=ml-*", NULL, NULL), FILTER_UNKNOWN);
	assert_int_equal(judged(&early, NULL, NULL, "namespace=kube-*"), FILTER_UNKNOWN);
	assert_int_equal(judged(&early, "user=alice", NULL, NULL), FILTER_ALLOWED);
	assert_int_equal(judged(&early, "namespace=ml-*", "user=bob", NULL), FILTER_DENIED);
	early.namespace = ""; /* of no pod */
	assert_int_equal(judged(&early, "namespace=ml-*", NULL, NULL), FILTER_DENIED);
	assert_int_equal(judged(&early, NULL, NULL, "namespace=kube-*"), FILTER_ALLOWED);
}

static char told[256];

static void on_log(void *ctx, enum log_level level, const char *line)
{
	(void)ctx;
	(void)level;
	strncpy(told, line, sizeof(told) - 1);
}

static void what_is_no_rule_is_refused(void **state)
{
	char *const wrong[] = {(char[]){"alice"}, (char[]){"user="}, (char[]){"=x"},
			       (char[]){"users=alice"}, (char[]){""}};
	struct filter *f;

	(void)state;
	log_sink(on_log, NULL);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		*told = '\0';
		assert_int_equal(filter_new(&f, &wrong[i], 1, NULL, 0), -EINVAL);
		assert_true(strstr(told, "--allow: '"));
		assert_int_equal(filter_new(&f, NULL, 0, &wrong[i], 1), -EINVAL);
		assert_true(strstr(told, "--deny: '"));
	}
	log_sink(NULL, NULL);
}

static void lines_of_cgroups_may_be_anything(void **state)
{
	static const char *const lines[] = {
		"", "\n", ":", "::", "0::", "a\n:b\n::\n", "no end ::/x"};
	struct filter_facts odd = job;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		odd.cgroups = lines[i];
		assert_int_equal(judged(&odd, "cgroup=/kube*", NULL, NULL), FILTER_DENIED);
	}
	odd.cgroups = "0:/x";
	assert_int_equal(judged(&odd, "cgroup=/x", NULL, NULL),
			 FILTER_DENIED); /* one colon too few */
	odd.cgroups = "0::/x";
	assert_int_equal(judged(&odd, "cgroup=/x", NULL, NULL), FILTER_ALLOWED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_rules_everybody_is_allowed),
		cmocka_unit_test(each_key_matches_its_own),
		cmocka_unit_test(rules_of_a_key_are_alternatives_and_keys_add_up),
		cmocka_unit_test(who_has_no_user_is_matched_by_none),
		cmocka_unit_test(a_namespace_that_is_to_come_is_waited_for),
		cmocka_unit_test(what_is_no_rule_is_refused),
		cmocka_unit_test(lines_of_cgroups_may_be_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
