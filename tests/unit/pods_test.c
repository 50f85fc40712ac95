/* SPDX-License-Identifier: Apache-2.0 */
/* The pods of a node and what is told of them, followed against a stand-in for the API server and
 * the kubelet. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/pods_stand.h"

static void without(void **state)
{
	struct pods_config none = {0}, wrong = {.node = NODE, .server = "http://10.0.0.1"};

	(void)state;
	p = (struct pods *)&none;
	assert_int_equal(pods_open(&p, &none), 0);
	assert_null(p);
	assert_string_equal(logged, "");
	assert_int_equal(pods_open(&p, &wrong), -EINVAL);
	wrong.server = "https://a b";
	assert_int_equal(pods_open(&p, &wrong), -EINVAL);
	wrong.server = server;
	wrong.node = "a/b";
	assert_int_equal(pods_open(&p, &wrong), -EINVAL);
	assert_null(p);
	pods_get_view(NULL, &view);
	assert_false(view.here);
	pods_close(NULL);
}

static void follows(void **state)
{
	struct pod pod;

	(void)state;
	put("a", "uid-a", NODE, "", "");
	put("b", "uid-b", "gke-2", "", "");
	open_it();
	WAIT(is_current, NULL);
	WAIT(is_known, "uid-a");
	assert_int_equal(pods_get(p, "uid-b", &pod), -ENOENT);
	WAIT(is_changed, NULL);
	put("c", "uid-c", NODE, "'jobset.sigs.k8s.io/jobset-name':'llama'", "");
	WAIT(is_known, "uid-c");
	assert_int_equal(pods_get(p, "uid-c", &pod), 0);
	assert_string_equal(pod.job, "llama");
	deed("{'delete':'Pod/ml/a'}");
	WAIT(is_gone, "uid-a");
	put("a", "uid-a2", NODE, "", ""); /* another by the same name */
	WAIT(is_known, "uid-a2");
	assert_true(is_gone("uid-a"));
	pods_get_view(p, &view);
	assert_int_equal(view.lists, 1);
	assert_int_equal(view.pods, 2);
	assert_int_equal(asked("resourceVersion=0", "fieldSelector=spec.nodeName%3Dgke-1") > 0, 1);
	deed("{'delete':'Pod/ml/a'}");
	deed("{'delete':'Pod/ml/b'}");
	deed("{'delete':'Pod/ml/c'}");
}

static void in_pages(void **state)
{
	char name[16], uid[16];

	(void)state;
	deed("{'page':2,'cache':false}");
	for (int i = 0; i < 7; i++) {
		snprintf(name, sizeof(name), "page-%d", i);
		snprintf(uid, sizeof(uid), "uid-%d", i);
		put(name, uid, NODE, "", "");
	}
	open_it();
	WAIT(is_current, NULL);
	for (int i = 0; i < 7; i++) {
		snprintf(uid, sizeof(uid), "uid-%d", i);
		assert_true(is_known(uid));
	}
	assert_true(asked("continue=", "/api/v1/pods") >= 3);
	for (int i = 0; i < 7; i++)
		deed("{'delete':'Pod/ml/page-%d'}", i);
}

static bool is_answered(const char *status)
{
	return asked(status, "watch=1") > 0;
}

static int watches(void)
{
	return stand_in_count(
		&s, (const char *const[]){"/api/v1/pods?", "watch=1", "\"status\": 200", NULL});
}

static int watches_before;

static bool is_watching(const char *arg)
{
	(void)arg;
	return watches() > watches_before;
}

/* What was missed is found by the next list: what went, too. */
static void too_old(void **state)
{
	(void)state;
	put("a", "uid-a", NODE, "", "");
	put("b", "uid-b", NODE, "", "");
	open_it();
	WAIT(is_known, "uid-b");
	deed("{'fault':{'watch':'503'},'end':true}");
	watches_before = watches();
	deed("{'delete':'Pod/ml/a'}");
	put("c", "uid-c", NODE, "", "");
	deed("{'compact':true}");
	deed("{'fault':{}}");
	WAIT(is_known, "uid-c"); /* 410 as a status */
	WAIT(is_gone, "uid-a");
	WAIT(is_told, "deleted uid-a");
	WAIT(is_answered, "\"status\": 410");
	WAIT(has_lists, "2");
	WAIT(is_watching, NULL); /* who does not watch is told nothing */
	deed("{'error':{'kind':'Status','code':410,'reason':'Expired','message':'too old'}}");
	put("d", "uid-d", NODE, "", "");
	WAIT(is_known, "uid-d"); /* 410 as an event */
	WAIT(has_lists, "3");
	WAIT(is_well, NULL);
}

static void notices(void **state)
{
	(void)state;
	put("m", "uid-m", NODE, "",
	    "'containerStatuses':[{'name':'c','lastState':{'terminated':{'reason':'OOMKilled','exitCode':137}}}]");
	open_it();
	WAIT(is_well, NULL);
	put("m", "uid-m", NODE, "",
	    "'containerStatuses':[{'name':'c','restartCount':2,'lastState':{'terminated':{'reason':'"
	    "OOMKilled','exitCode':137}}}]");
	WAIT(is_told, "oom uid-m OOMKilled: c");
	put("n", "uid-n", NODE, "",
	    "'reason':'Preempting','conditions':[{'type':'DisruptionTarget','status':'True','reason':'"
	    "PreemptionByScheduler'}]");
	WAIT(is_told, "preempted uid-n Preempting");
	deed("{'put':{'kind':'Node','metadata':{'name':'%s','uid':'n'},'spec':{'taints':[{'key':'cloud."
	     "google.com/impending-node-termination','effect':'NoSchedule'}]},'status':{}}}",
	     NODE);
	WAIT(is_told, "maintenance  taint cloud.google.com/impending-node-termination:NoSchedule");
	deed("{'put':{'kind':'Node','metadata':{'name':'%s','uid':'n'},'spec':{},'status':{'conditions':[{'"
	     "type':'Ready','status':'False','reason':'KubeletNotReady'}]}}}",
	     NODE);
	WAIT(is_told, "-maintenance  taint");
	WAIT(is_told, "node  Ready=False: KubeletNotReady");
	is_told("");
	assert_null(
		strstr(strstr(told, "oom uid-m") + 1, "oom uid-m")); /* once, and not of before */
	deed("{'delete':'Node//%s'}", NODE);
	deed("{'delete':'Pod/ml/m'}");
	deed("{'delete':'Pod/ml/n'}");
}

static void of_the_machine(void **state)
{
	(void)state;
	unsetenv("METADATA_SERVER_DETECTION");
	setenv("GCE_METADATA_HOST", g.base + strlen("http://"), 1);
	assert_int_equal(
		stand_in_set(
			&g,
			"{\"texts\": {\"instance/preempted\": \"FALSE\", \"instance/maintenance-event\": "
			"\"TERMINATE_ON_HOST_MAINTENANCE\"}}"),
		0);
	intervals.metadata_s = 0.05;
	open_it();
	WAIT(is_told,
	     "maintenance  Compute Engine: maintenance-event TERMINATE_ON_HOST_MAINTENANCE");
	assert_int_equal(stand_in_set(&g, "{\"texts\": {\"instance/preempted\": \"TRUE\", "
					  "\"instance/maintenance-event\": \"NONE\"}}"),
			 0);
	WAIT(is_told, "preempted  Compute Engine: preempted TRUE");
	WAIT(is_told, "-maintenance  Compute Engine");
	unsetenv("GCE_METADATA_HOST");
}

static void of_the_kubelet(void **state)
{
	(void)state;
	cfg.kubelet = server;
	cfg.server = NULL;
	put("k", "uid-k", NODE, "",
	    "'conditions':[{'type':'DisruptionTarget','status':'True','reason':'EvictionByEvictionAPI'}]");
	open_it();
	WAIT(is_known, "uid-k");
	WAIT(is_told, "evicted uid-k EvictionByEvictionAPI");
	deed("{'delete':'Pod/ml/k'}");
	WAIT(is_gone, "uid-k");
	deed("{'fault':{'pods':'403'}}");
	WAIT(has_trouble, "nodes/pods: get");
	deed("{'fault':{}}");
	WAIT(is_well, NULL);
	pods_close(p);
	free((char *)cfg.ca_file);
	cfg.ca_file = strdup("/nonexistent/ca");
	cfg.kubelet_insecure = false;
	open_it();
	WAIT(has_trouble, "/nonexistent/ca");
	pods_close(p);
	cfg.kubelet_insecure = true;
	free((char *)cfg.ca_file);
	cfg.ca_file = strdup(stand_in_path(&s, "token")); /* holds no certificate */
	open_it();
	WAIT(is_well, NULL);
}

/* More than there is room for, and one that is too large. */
static void too_many(void **state)
{
	struct buffer b = {0};

	(void)state;
	buffer_printf(&b, "{\"put\":[");
	for (int i = 0; i < PODS_MAX + 10; i++)
		buffer_printf(
			&b,
			"%s{\"kind\":\"Pod\",\"metadata\":{\"name\":\"x%d\",\"uid\":\"u%d\"},\"spec\":{"
			"\"nodeName\":\"full\"}}",
			i ? "," : "", i, i);
	buffer_printf(
		&b,
		",{\"kind\":\"Pod\",\"metadata\":{\"name\":\"large\",\"uid\":\"large\"},\"spec\":{"
		"\"nodeName\":\"full\",\"x\":\"%0*d\"}}]}",
		PODS_OBJECT_MAX, 1);
	assert_int_equal(stand_in_set(&s, b.data), 0);
	buffer_free(&b);
	cfg.node = "full";
	open_it();
	WAIT(is_current, NULL);
	assert_int_equal(view.pods, PODS_MAX);
	assert_int_equal(view.lost, 11);
	assert_non_null(strstr(logged, "more than 1024 pods"));
	assert_false(is_known("large"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without, setup, teardown),
		cmocka_unit_test_setup_teardown(follows, setup, teardown),
		cmocka_unit_test_setup_teardown(in_pages, setup, teardown),
		cmocka_unit_test_setup_teardown(too_old, setup, teardown),
		cmocka_unit_test_setup_teardown(notices, setup, teardown),
		cmocka_unit_test_setup_teardown(of_the_machine, setup, teardown),
		cmocka_unit_test_setup_teardown(of_the_kubelet, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many, setup, teardown),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
