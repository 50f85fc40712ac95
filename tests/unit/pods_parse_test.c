/* SPDX-License-Identifier: Apache-2.0 */
/* Pods and nodes in the shapes that JobSet, Job, RayJob, PyTorchJob, a kubelet and GKE give them;
 * others; and streams of them in pieces. Written by hand; ' stands for ". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/kubernetes/pods_private.h"

#define SECOND INT64_C(1000000000)

static struct pod pod;
static char alias[PODS_UID_MAX];

static cJSON *json(const char *fmt, ...)
{
	char text[8192];
	cJSON *out;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	out = cJSON_Parse(text);
	assert_non_null(out);
	return out;
}

/* meta: further members of metadata, each with a comma before it. */
static bool parse(const char *meta, const char *spec, const char *status)
{
	cJSON *whole = json("{'kind':'Pod','metadata':{'name':'train-0','namespace':'ml',"
			    "'uid':'6f1c0a52-9d0e-4b7e-8d7b-0f7d9a3f1c11',"
			    "'creationTimestamp':'2026-11-22T10:00:00Z'%s},"
			    "'spec':{'nodeName':'gke-h100-1'%s},'status':{'phase':'Running'%s}}",
			    meta, spec, status);
	bool fits;

	memset(&pod, 0xa5, sizeof(pod));
	fits = pods_parse(whole, &pod, alias);
	cJSON_Delete(whole);
	return fits;
}

#define LABELS(labels) ",'labels':{" labels "}"
#define OWNER(kind, name, uid)                                                                     \
	",'ownerReferences':[{'kind':'Other','name':'x','uid':'y'},{'kind':'" kind                 \
	"','name':'" name "','uid':'" uid "','controller':true}]"

static void job_is(enum gp_job_from from, const char *owner, const char *job, const char *uid)
{
	assert_int_equal(pod.job_from, from);
	assert_string_equal(pod.owner, owner);
	assert_string_equal(pod.job, job);
	assert_string_equal(pod.job_uid, uid);
}

/* ---- jobs */

#define SET "'jobset.sigs.k8s.io/jobset-name':'llama','jobset.sigs.k8s.io/jobset-uid':'set-uid'"

static void of_a_set(void **state)
{
	(void)state;
	assert_true(parse(
		LABELS(SET
		       ",'jobset.sigs.k8s.io/restart-attempt':'2',"
		       "'jobset.sigs.k8s.io/job-restart-attempt':'1',"
		       "'jobset.sigs.k8s.io/job-global-index':'0',"
		       "'batch.kubernetes.io/job-name':'llama-workers-0',"
		       "'batch.kubernetes.io/controller-uid':'job-uid'") ",'annotations':{'batch.kubernetes."
									 "io/job-completion-index':'3',"
									 "'jobset.sigs.k8s.io/"
									 "in-place-restart-attempt':'4'"
									 "}" OWNER(
										 "Job",
										 "llama-workers-0",
										 "job-uid"),
		"", ""));
	job_is(GP_JOB_FROM_jobset, "JobSet", "llama", "set-uid");
	assert_int_equal(pod.attempt, 7);
	assert_int_equal(pod.rank, 3);
	assert_int_equal(pod.world_size, -1);
	assert_false(pod.later);
	/* How many pods the first Job has, the second's pods do not say. */
	assert_true(parse(LABELS(SET ",'jobset.sigs.k8s.io/job-global-index':'1',"
				     "'jobset.sigs.k8s.io/global-replicas':'2',"
				     "'batch.kubernetes.io/job-completion-index':'3'"),
			  "", ""));
	assert_int_equal(pod.rank, -1);
	assert_int_equal(pod.attempt, -1);
	assert_false(pod.later); /* the first one may be no part of the training */
	assert_true(parse(LABELS(SET ",'jobset.sigs.k8s.io/job-global-index':'1',"
				     "'jobset.sigs.k8s.io/global-replicas':'2',"
				     "'jobset.sigs.k8s.io/replicatedjob-replicas':'2',"
				     "'batch.kubernetes.io/job-completion-index':'0'"),
			  "", ""));
	assert_int_equal(pod.rank, -1);
	assert_true(pod.later); /* it is as this one */
	assert_true(parse(LABELS(SET ",'jobset.sigs.k8s.io/job-global-index':'1'"), "", ""));
	assert_false(pod.later);
	assert_true(parse(LABELS("'jobset.sigs.k8s.io/jobset-name':'old'"), "", ""));
	job_is(GP_JOB_FROM_jobset, "JobSet", "old", "");
}

static void of_a_job(void **state)
{
	(void)state;
	assert_true(parse(
		LABELS("'batch.kubernetes.io/job-name':'sweep',"
		       "'batch.kubernetes.io/controller-uid':'job-uid',"
		       "'batch.kubernetes.io/job-completion-index':'5'") ",'annotations':{'batch.kubernetes."
									 "io/"
									 "job-index-failure-count':'1'"
									 "}" OWNER("Job", "sweep",
										   "job-uid"),
		"", ""));
	job_is(GP_JOB_FROM_controller, "Job", "sweep", "job-uid");
	assert_int_equal(pod.rank, 5);
	assert_int_equal(pod.attempt, 1);
	assert_true(parse(LABELS("'job-name':'older','controller-uid':'u'"), "", ""));
	job_is(GP_JOB_FROM_controller, "Job", "older", "u");
	/* Somebody's own label. */
	assert_true(parse(LABELS("'job-name':'mine'"), "", ""));
	job_is(GP_JOB_FROM_pod, "Pod", "train-0", pod.uid);
}

static void of_operators(void **state)
{
	(void)state;
	assert_true(parse(LABELS("'training.kubeflow.org/job-name':'bert',"
				 "'training.kubeflow.org/operator-name':'pytorchjob-controller',"
				 "'training.kubeflow.org/replica-type':'worker'")
				  OWNER("PyTorchJob", "bert", "pt-uid"),
			  ",'containers':[{'name':'side','env':[{'name':'PATH','value':'/bin'}]},"
			  "{'name':'pytorch','env':[{'name':'WORLD_SIZE','value':'8'},"
			  "{'name':'RANK','value':'1'},{'name':'SECRET','value':'x'}]}]",
			  ""));
	job_is(GP_JOB_FROM_controller, "PyTorchJob", "bert", "pt-uid");
	assert_int_equal(pod.rank, 1);
	assert_int_equal(pod.world_size, 8);
	assert_true(parse(LABELS("'training.kubeflow.org/job-name':'mpi',"
				 "'training.kubeflow.org/operator-name':'mpi-operator'")
				  OWNER("Job", "mpi-launcher", "launcher-uid"),
			  "", ""));
	job_is(GP_JOB_FROM_controller, "MPIJob", "mpi", "");
	assert_true(
		parse(LABELS("'ray.io/cluster':'tune-x7k2p','ray.io/originated-from-crd':'RayJob',"
			     "'ray.io/originated-from-cr-name':'tune'")
			      OWNER("RayCluster", "tune-x7k2p", "cluster-uid"),
		      "", ""));
	job_is(GP_JOB_FROM_controller, "RayJob", "tune", "");
	assert_true(parse(LABELS("'ray.io/cluster':'shared'")
				  OWNER("RayCluster", "shared", "cluster-uid"),
			  "", ""));
	job_is(GP_JOB_FROM_controller, "RayCluster", "shared", "cluster-uid");
	assert_true(parse(LABELS("'pod-template-hash':'6d4f'")
				  OWNER("ReplicaSet", "serve-6d4f", "rs"),
			  "", ""));
	job_is(GP_JOB_FROM_controller, "Deployment", "serve", "");
	assert_true(parse(OWNER("StatefulSet", "db", "sts"), "", ""));
	job_is(GP_JOB_FROM_controller, "StatefulSet", "db", "sts");
}

static void of_nobody(void **state)
{
	(void)state;
	assert_true(parse("", "", ""));
	job_is(GP_JOB_FROM_pod, "Pod", "train-0", "6f1c0a52-9d0e-4b7e-8d7b-0f7d9a3f1c11");
	assert_string_equal(pod.namespace, "ml");
	assert_string_equal(pod.node, "gke-h100-1");
	assert_string_equal(alias, "");
	/* A static pod's mirror: the kubelet knows it by its file's hash. */
	assert_true(parse(
		",'annotations':{'kubernetes.io/config.hash':'0123456789abcdef0123456789abcdef'}" OWNER(
			"Node", "gke-h100-1", "n"),
		"", ""));
	job_is(GP_JOB_FROM_pod, "Pod", "train-0", pod.uid);
	assert_string_equal(alias, "0123456789abcdef0123456789abcdef");
}

/* ---- what happens to it */

static void instants(void **state)
{
	int64_t base = INT64_C(1795341600) * SECOND; /* 10:00:00 */

	(void)state;
	assert_true(parse(
		",'deletionTimestamp':'2026-11-22T11:00:30Z','deletionGracePeriodSeconds':30", "",
		",'conditions':["
		"{'type':'PodScheduled','status':'True','lastTransitionTime':'2026-11-22T10:00:01Z'},"
		"{'type':'Initialized','status':'True','lastTransitionTime':'2026-11-22T10:00:02Z'},"
		"{'type':'Ready','status':'False','lastTransitionTime':'2026-11-22T10:00:03Z'},"
		"{'type':'DisruptionTarget','status':'True','reason':'PreemptionByScheduler',"
		"'lastTransitionTime':'2026-11-22T10:59:59.5Z'}]"));
	assert_int_equal(pod.created_ns, base);
	assert_int_equal(pod.scheduled_ns, base + SECOND);
	assert_int_equal(pod.initialized_ns, base + 2 * SECOND);
	assert_int_equal(pod.ready_ns, 0);
	assert_int_equal(pod.deleted_ns, base + 3600 * SECOND);
	assert_true(pod.disrupted);
	assert_int_equal(pod.disrupted_ns, base + 3600 * SECOND - SECOND / 2);
	assert_string_equal(pod.reason, "PreemptionByScheduler");
	assert_string_equal(pod.phase, "Running");
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void containers(void **state)
{
	const struct pod_container *c = pod.containers;

	(void)state;
	assert_true(
		parse("", "",
		      ",'containerStatuses':[{'name':'train','containerID':'containerd://" ID "',"
		      "'restartCount':2,'state':{'running':{'startedAt':'2026-11-22T10:05:00Z'}},"
		      "'lastState':{'terminated':{'exitCode':137,'reason':'OOMKilled',"
		      "'finishedAt':'2026-11-22T10:04:00Z','containerID':'containerd://old'}}},"
		      "{'name':'pull','state':{'waiting':{'reason':'ImagePullBackOff'}}},"
		      "{'name':'done','state':{'terminated':{'exitCode':0,'reason':'Completed',"
		      "'startedAt':'2026-11-22T10:01:00Z','finishedAt':'2026-11-22T10:02:00Z',"
		      "'containerID':'cri-o://ffff'}}}]"));
	assert_int_equal(pod.ncontainers, 3);
	assert_string_equal(c[0].id, ID);
	assert_int_equal(c[0].restarts, 2);
	assert_int_equal(c[0].exit_code, 137);
	assert_string_equal(c[0].reason, "OOMKilled");
	assert_int_equal(c[0].finished_ns, 0);
	assert_int_equal(c[0].started_ns - c[0].ended_ns, 60 * SECOND);
	assert_string_equal(c[1].id, "");
	assert_int_equal(c[1].exit_code, -1);
	assert_string_equal(c[1].reason, "ImagePullBackOff");
	assert_string_equal(c[2].id, "ffff");
	assert_int_equal(c[2].exit_code, 0);
	assert_int_equal(c[2].finished_ns - c[2].started_ns, 60 * SECOND);
}

/* ---- hostile */

static void of_other_types(void **state)
{
	char many[4096] = ",'containerStatuses':[{}";

	(void)state;
	assert_true(parse(
		",'labels':[1,2],'annotations':'x','ownerReferences':{'kind':7}", ",'containers':7",
		",'conditions':{'a':1},'containerStatuses':[7,'x',{'name':5,'restartCount':-1}]"));
	assert_int_equal(pod.ncontainers, 1);
	assert_true(
		parse(LABELS(SET ",'jobset.sigs.k8s.io/restart-attempt':'99999999999'"), "", ""));
	assert_int_equal(pod.attempt, -1);
	assert_true(parse(LABELS(SET ",'jobset.sigs.k8s.io/restart-attempt':'2147483647',"
				     "'jobset.sigs.k8s.io/job-restart-attempt':'2147483647'"),
			  "", ""));
	assert_int_equal(pod.attempt, INT32_MAX);
	for (int i = 0; i < 100; i++)
		strcat(many, ",{'name':'c'}");
	assert_true(parse("", "", strcat(many, "]")));
	assert_int_equal(pod.ncontainers, POD_CONTAINERS);
	assert_true(parse(",'creationTimestamp':'1','deletionTimestamp':'9999-12-31T23:59:59Z'", "",
			  ""));
	assert_int_equal(pod.deleted_ns, 0);
}

static void names(void **state)
{
	static const char *const bad[] = {"'name':'a'",
					  "'name':'a','uid':7",
					  "'name':'a','uid':''",
					  "'name':'a','uid':'../../etc'",
					  "'name':'','uid':'u'",
					  "'uid':'u'",
					  "'name':'a','uid':'a\\u0000b c'",
					  "'name':'a','uid':'a\\nb'"};
	cJSON *whole;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		whole = json("{'metadata':{%s}}", bad[i]);
		if (pods_parse(whole, &pod, alias) && strlen(pod.uid) != 1)
			fail_msg("taken: %s", bad[i]);
		cJSON_Delete(whole);
	}
	whole = json("{'metadata':{'uid':'u','name':'\\u001b[31m\\n%0300d','namespace':'\\u202e'}}",
		     1);
	assert_true(pods_parse(whole, &pod, alias));
	assert_int_equal(strlen(pod.name), sizeof(pod.name) - 1);
	assert_null(strpbrk(pod.name, "\033\n"));
	cJSON_Delete(whole);
	assert_false(pods_parse(NULL, &pod, alias));
}

/* ---- nodes */

static void nodes(void **state)
{
	struct pods_signal s[PODS_SIGNALS];
	cJSON *node = json(
		"{'metadata':{'labels':{'cloud.google.com/active-node-maintenance':'ONGOING'}},"
		"'spec':{'taints':[{'key':'nvidia.com/gpu','value':'present','effect':'NoSchedule'},"
		"{'key':'cloud.google.com/impending-node-termination','effect':'NoSchedule'},"
		"{'key':'node.kubernetes.io/"
		"unreachable','effect':'NoExecute','timeAdded':'2026-11-22T10:00:00Z'},"
		"{'key':'node.kubernetes.io/unreachable','effect':'NoSchedule'}]},"
		"'status':{'conditions':[{'type':'Ready','status':'Unknown','reason':'NodeStatusUnknown'},"
		"{'type':'MemoryPressure','status':'False'},{'type':'DiskPressure','status':'Unknown'},"
		"{'type':'GpuHealthy','status':'True'},{'type':'XidCriticalError','status':'True',"
		"'message':'\\u001b[2JXid 79'}]}}");
	uint32_t n = pods_parse_node(node, s);

	(void)state;
	cJSON_Delete(node);
	assert_int_equal(n, 5);
	assert_int_equal(s[0].notice.what, GP_NOTICE_maintenance);
	assert_int_equal(s[1].notice.what, GP_NOTICE_maintenance);
	assert_string_equal(s[1].notice.text,
			    "taint cloud.google.com/impending-node-termination:NoSchedule");
	assert_int_equal(s[2].notice.what, GP_NOTICE_node);
	assert_string_equal(s[3].notice.text, "Ready=Unknown: NodeStatusUnknown");
	assert_string_equal(s[4].key, "condition XidCriticalError");
	assert_null(strchr(s[4].notice.text, '\033'));
	assert_int_equal(pods_parse_node(NULL, s), 0);
}

/* ---- streams */

static struct buffer seen;

static bool see(void *ctx, char *text, size_t len)
{
	assert_int_equal(strlen(text), len);
	buffer_printf(&seen, "%s%s;", (const char *)ctx, len > 100 ? "long" : text);
	return true;
}

static bool see_meta(void *ctx, char *text, size_t len)
{
	(void)ctx;
	return see("meta ", text, len);
}

static bool feed(bool list, const char *text, size_t piece)
{
	struct pods_stream s = {.list = list, .object = see, .meta = see_meta, .ctx = ""};
	bool all = true;

	buffer_clear(&seen);
	buffer_add(&seen, "", 0);
	for (size_t at = 0, len = strlen(text); all && at < len; at += piece)
		all = pods_stream_feed(&s, text + at, piece < len - at ? piece : len - at);
	all = all && pods_stream_end(&s) && !s.depth;
	pods_stream_free(&s);
	return all;
}

static void streams(void **state)
{
	static const char text[] =
		"{\"kind\":\"items\",\"metadata\":{\"a\":\"}\\\"{[\"} , \"other\":[{\"items\":[{}]}],"
		"\"items\" : [ {\"metadata\":{\"x\":[{}]}},7,{},{\"b\":\"]\"} ],\"z\":{}}\n";

	(void)state;
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		assert_true(feed(true, text, piece));
		assert_string_equal(
			seen.data,
			"meta {\"a\":\"}\\\"{[\"};{\"metadata\":{\"x\":[{}]}};{};{\"b\":\"]\"};");
	}
	assert_false(feed(true, "{\"items\":[{}", 3)); /* cut off */
	assert_false(feed(true, "]", 1));
	assert_true(feed(true, "[[[{\"items\":[{}]}]]]", 4));
	assert_string_equal(seen.data, "");
	for (size_t piece = 1; piece < 12; piece++) {
		assert_true(feed(false, "{\"a\"}\n\n{\"b\"}\nrest", piece));
		assert_string_equal(seen.data, "{\"a\"};{\"b\"};rest;");
	}
}

static void too_long(void **state)
{
	struct pods_stream s = {.object = see, .ctx = ""};
	char *large = malloc(PODS_OBJECT_MAX + 2);

	(void)state;
	assert_non_null(large);
	memset(large, 'x', PODS_OBJECT_MAX + 1);
	buffer_clear(&seen);
	assert_true(pods_stream_feed(&s, large, PODS_OBJECT_MAX + 1));
	assert_true(pods_stream_feed(&s, "\nshort\n", 7));
	assert_string_equal(seen.data, "short;");
	assert_int_equal(s.skipped, 1);
	assert_true(pods_stream_feed(&s, large, PODS_OBJECT_MAX));
	assert_true(pods_stream_feed(&s, "\n", 1));
	assert_string_equal(seen.data, "short;long;");
	pods_stream_free(&s);
	free(large);
}

static int forget(void **state)
{
	(void)state;
	buffer_free(&seen);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_set),	  cmocka_unit_test(of_a_job),
		cmocka_unit_test(of_operators),	  cmocka_unit_test(of_nobody),
		cmocka_unit_test(instants),	  cmocka_unit_test(containers),
		cmocka_unit_test(of_other_types), cmocka_unit_test(names),
		cmocka_unit_test(nodes),	  cmocka_unit_test(streams),
		cmocka_unit_test(too_long),
	};

	return cmocka_run_group_tests(tests, NULL, forget);
}
