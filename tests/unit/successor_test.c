/* SPDX-License-Identifier: Apache-2.0 */
/* Whether another pod comes: an update, a removal, and an API server that refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/pods_stand.h"
#include "userspace/handover/successor.h"

static struct successor_config of;
static char why[200];

static void arrange_cluster(void)
{
	deed("{'put':[{'kind':'Namespace','metadata':{'name':'gp-bpf'}},"
	     "{'kind':'DaemonSet','metadata':{'name':'watcher','namespace':'gp-bpf'}},"
	     "{'kind':'Pod','metadata':{'name':'gp-bpf-x7','namespace':'gp-bpf','deletionTimestamp':'2026-01-01T00:00:00Z',"
	     "'ownerReferences':[{'kind':'DaemonSet','name':'watcher','controller':true}]},'spec':{'nodeName':'n'}}]}");
}

static int arrange(void **state)
{
	setup(state);
	of = (struct successor_config){.server = server,
				       .token_file = cfg.token_file,
				       .ca_file = cfg.ca_file,
				       .pod = "gp-bpf-x7",
				       .namespace = "gp-bpf",
				       .limit_s = WAIT_S};
	arrange_cluster();
	return 0;
}

static bool comes(void)
{
	struct successor *one;
	bool is;

	assert_int_equal(successor_new(&one, &of), 0);
	assert_non_null(one);
	why[0] = '\0';
	is = successor_comes(one, why, sizeof(why));
	successor_free(one);
	assert_null(strstr(why, "kube-secret"));
	return is;
}

#define NONE(text)                                                                                 \
	do {                                                                                       \
		assert_false(comes());                                                             \
		assert_string_equal(why, text);                                                    \
	} while (0)

static void update(void **state)
{
	(void)state;
	assert_true(comes());
	assert_string_equal(why, "");
	assert_int_equal(
		stand_in_count(&s, (const char *const[]){"\"authorized\": false", "/api", NULL}),
		0);
	deed("{'rotate':true}");
	assert_true(comes());
	setenv("POD_NAME", of.pod, 1);
	setenv("POD_NAMESPACE", of.namespace, 1);
	of.pod = of.namespace = NULL;
	assert_true(comes());
	unsetenv("POD_NAME");
	unsetenv("POD_NAMESPACE");
}

static void removal(void **state)
{
	(void)state;
	deed("{'put':{'kind':'DaemonSet','metadata':{'name':'watcher','namespace':'gp-bpf','"
	     "deletionTimestamp':'2026-01-01T00:00:00Z'}}}");
	NONE("its DaemonSet watcher is being deleted");
	deed("{'delete':'DaemonSet/gp-bpf/watcher'}");
	NONE("its DaemonSet watcher is deleted");
	arrange_cluster();
	deed("{'put':{'kind':'Namespace','metadata':{'name':'gp-bpf','deletionTimestamp':'2026-01-01T00:00:00Z'}}}");
	NONE("its namespace gp-bpf is being deleted");
	deed("{'delete':'Namespace//gp-bpf'}");
	NONE("its namespace gp-bpf is deleted");
	deed("{'delete':'Pod/gp-bpf/gp-bpf-x7'}");
	NONE("this pod is deleted");
}

static void of_none(void **state)
{
	(void)state;
	deed("{'put':{'kind':'Pod','metadata':{'name':'gp-bpf-x7','namespace':'gp-bpf'},'spec':{'nodeName':'n'}}}");
	NONE("this pod does not belong to a DaemonSet");
	deed("{'put':{'kind':'Pod','metadata':{'name':'gp-bpf-x7','namespace':'gp-bpf',"
	     "'ownerReferences':[{'kind':'DaemonSet','name':'../../secrets'}]},'spec':{'nodeName':'n'}}}");
	NONE("this pod does not belong to a DaemonSet");
	of.pod = "a/../b";
	NONE("cannot identify this pod: set POD_NAME and POD_NAMESPACE");
	of.pod = NULL;
	NONE("cannot identify this pod: set POD_NAME and POD_NAMESPACE");
}

/* Rights are removed with the rest, in any order. */
static void refused(void **state)
{
	(void)state;
	deed("{'fault':{'one':'403'}}");
	NONE("this pod: the API server answered with status 403");
	deed("{'fault':{'one':'401'}}");
	NONE("this pod: the API server answered with status 401");
	deed("{'fault':{'one':'html'}}");
	NONE("this pod: the API server's answer cannot be parsed");
	/* It is away for a moment. */
	deed("{'fault':{'one':'503*2'}}");
	assert_true(comes());
	deed("{'fault':{'one':'half*1'}}");
	assert_true(comes());
}

static void silent(void **state)
{
	uint64_t from_ns;

	(void)state;
	of.limit_s = 0;
	deed("{'fault':{'one':'hang'}}");
	from_ns = clock_mono_ns();
	assert_false(comes());
	assert_non_null(strstr(why, "this pod: the API server does not answer"));
	assert_in_range(clock_mono_ns() - from_ns, 2500000000ull, 10000000000ull);
	of.server = "https://127.0.0.1:1";
	assert_false(comes());
	assert_non_null(strstr(why, "does not answer"));
}

static void *cancel_when_asked(void *one)
{
	while (!asked("\"fault\": \"hang\"", ""))
		usleep(1000);
	successor_cancel(one);
	return NULL;
}

static void cancelled(void **state)
{
	struct successor *one;
	uint64_t from_ns = clock_mono_ns();
	pthread_t thread;

	(void)state;
	deed("{'fault':{'one':'hang'}}");
	assert_int_equal(successor_new(&one, &of), 0);
	assert_int_equal(pthread_create(&thread, NULL, cancel_when_asked, one), 0);
	assert_false(successor_comes(one, why, sizeof(why)));
	pthread_join(thread, NULL);
	successor_free(one);
	assert_true(clock_mono_ns() - from_ns < 30000000000ull);
}

static void on_answer(void *loop, bool is, const char *text)
{
	snprintf(why, sizeof(why), "%s", is ? "it comes" : text);
	loop_stop(loop, 0);
}

static void in_the_background(void **state)
{
	struct successor *one;
	struct loop *loop;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(loop_new(&loop), 0);
		assert_int_equal(successor_new(&one, &of), 0);
		assert_int_equal(successor_ask(one, loop, on_answer, loop), 0);
		assert_int_equal(loop_run(loop), 0);
		assert_string_equal(why, i ? "this pod is deleted" : "it comes");
		successor_free(one);
		loop_free(loop);
		of.pod = "another";
	}
}

static void freed_before_the_answer(void **state)
{
	uint64_t from_ns = clock_mono_ns();
	struct successor *one;
	struct loop *loop;

	(void)state;
	deed("{'fault':{'one':'hang'}}");
	why[0] = '\0';
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(successor_new(&one, &of), 0);
	assert_int_equal(successor_ask(one, loop, on_answer, loop), 0);
	while (!asked("\"fault\": \"hang\"", ""))
		usleep(1000);
	successor_free(one);
	loop_free(loop);
	assert_string_equal(why, "");
	assert_true(clock_mono_ns() - from_ns < 30000000000ull);
}

static void nowhere(void **state)
{
	struct successor *one;

	(void)state;
	of.server = NULL;
	assert_int_equal(successor_new(&one, &of), 0);
	assert_null(one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(update, arrange, teardown),
		cmocka_unit_test_setup_teardown(removal, arrange, teardown),
		cmocka_unit_test_setup_teardown(of_none, arrange, teardown),
		cmocka_unit_test_setup_teardown(refused, arrange, teardown),
		cmocka_unit_test_setup_teardown(silent, arrange, teardown),
		cmocka_unit_test_setup_teardown(cancelled, arrange, teardown),
		cmocka_unit_test_setup_teardown(in_the_background, arrange, teardown),
		cmocka_unit_test_setup_teardown(freed_before_the_answer, arrange, teardown),
		cmocka_unit_test_setup_teardown(nowhere, arrange, teardown),
	};

	return cmocka_run_group_tests_name("successor", tests, start, stop);
}
