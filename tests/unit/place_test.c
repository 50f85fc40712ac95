/* SPDX-License-Identifier: Apache-2.0 */
/* place_test - where a process runs and what its job is called, from made-up files of /proc and
 * made-up pods. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/base/helper.h"
#include "userspace/identity/place.h"
#include "userspace/kubernetes/pods.h"

#define UID  "4a163a05-439d-484b-8e53-2968bc15824f"
#define UID_ "4a163a05_439d_484b_8e53_2968bc15824f"
#define ID   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2  "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define HASH "00112233445566778899aabbccddeeff"

/* ---- stands in for userspace/kubernetes ------------------------------------------------------ */

static struct pod stand_pod;
static int stand_err;

int pods_get(const struct pods *p, const char *uid, struct pod *ret)
{
	assert_non_null(p);
	assert_string_equal(uid, UID);
	*ret = stand_pod;
	return stand_err;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static const struct {
	const char *path;
	enum gp_container container;
	const char *id, *pod, *slurm, *service;
} paths[] = {
	/* kubelet, cgroupfs */
	{"/kubepods/burstable/pod" UID "/" ID, GP_CONTAINER_unknown, ID, UID, "", ""},
	{"/kubepods/pod" UID "/" ID, GP_CONTAINER_unknown, ID, UID, "", ""},
	{"/kubepods/besteffort/pod" HASH "/" ID, GP_CONTAINER_unknown, ID, HASH, "", ""},
	{"/kubepods/burstable/pod" UID, GP_CONTAINER_none, "", UID, "", ""},
	{"/kubepods/burstable/pod" UID "/crio-" ID, GP_CONTAINER_crio, ID, UID, "", ""},
	/* systemd */
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	 ".slice/cri-containerd-" ID ".scope",
	 GP_CONTAINER_containerd, ID, UID, "", ""},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope", GP_CONTAINER_crio, ID, UID,
	 "", ""},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" ID ".scope", GP_CONTAINER_none,
	 "", UID, "", ""},
	{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" HASH
	 ".slice/docker-" ID ".scope",
	 GP_CONTAINER_docker, ID, HASH, "", ""},
	{"/system.slice/containerd.service/kubepods-burstable-pod" UID_ ".slice:cri-containerd:" ID,
	 GP_CONTAINER_containerd, ID, UID, "", ""},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID
	 ".scope/system.slice/train.service",
	 GP_CONTAINER_containerd, ID, UID, "", ""},
	/* kind: a node that is a container */
	{"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
	 "kubelet-kubepods-burstable-pod" UID_ ".slice/cri-containerd-" ID ".scope",
	 GP_CONTAINER_containerd, ID, UID, "", ""},
	{"/system.slice/docker-" ID2
	 ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
	 ".slice/cri-containerd-" ID ".scope",
	 GP_CONTAINER_containerd, ID, UID, "", ""},
	{"/docker/" ID2 "/kubepods/pod" UID "/" ID, GP_CONTAINER_unknown, ID, UID, "", ""},
	/* of another cgroup namespace */
	{"/../../kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/cri-containerd-" ID
	 ".scope",
	 GP_CONTAINER_containerd, ID, UID, "", ""},
	{"/../pod" UID "/" ID, GP_CONTAINER_unknown, ID, UID, "", ""},
	{"/../../..", GP_CONTAINER_none, "", "", "", ""},
	{"/../cri-containerd-" ID ".scope", GP_CONTAINER_containerd, ID, "", "", ""},
	/* without Kubernetes */
	{"/docker/" ID, GP_CONTAINER_docker, ID, "", "", ""},
	{"/system.slice/docker-" ID ".scope", GP_CONTAINER_docker, ID, "", "", ""},
	{"/machine.slice/libpod-" ID ".scope", GP_CONTAINER_podman, ID, "", "", ""},
	{"/machine.slice/libpod-" ID ".scope/container", GP_CONTAINER_podman, ID, "", "", ""},
	{"/libpod_parent/libpod-" ID, GP_CONTAINER_podman, ID, "", "", ""},
	{"/machine.slice/libpod-conmon-" ID ".scope", GP_CONTAINER_none, "", "", "", ""},
	{"/machine.slice/machine-libpod_pod_" ID ".slice", GP_CONTAINER_none, "", "", "", ""},
	{"/system.slice/train.service/libpod-payload-" ID, GP_CONTAINER_podman, ID, "", "",
	 "train"},
	{"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope",
	 GP_CONTAINER_podman, ID, "", "", ""},
	{"/system.slice/docker-" ID ".scope (deleted)", GP_CONTAINER_docker, ID, "", "", ""},
	{"/some/thing-" ID ".scope", GP_CONTAINER_unknown, ID, "", "", ""},
	/* Slurm */
	{"/slurm/uid_1000/job_4711/step_0/task_0", GP_CONTAINER_none, "", "", "4711", ""},
	{"/slurm_node7/uid_1000/job_4711/step_batch", GP_CONTAINER_none, "", "", "4711", ""},
	{"/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0", GP_CONTAINER_none, "", "",
	 "4711", ""},
	{"/system.slice/node7_slurmstepd.scope/job_4711/step_extern", GP_CONTAINER_none, "", "",
	 "4711", ""},
	{"/system.slice/slurmd.service", GP_CONTAINER_none, "", "", "", ""},
	{"/slurm/uid_1000/job_47x1/step_0", GP_CONTAINER_none, "", "", "", ""},
	{"/elsewhere/job_4711", GP_CONTAINER_none, "", "", "", ""},
	/* services and sessions */
	{"/system.slice/train.service", GP_CONTAINER_none, "", "", "", "train"},
	{"/system.slice/system-train.slice/train@gpt.service", GP_CONTAINER_none, "", "", "",
	 "train@gpt"},
	{"/user.slice/user-1000.slice/user@1000.service/app.slice/notebook.service",
	 GP_CONTAINER_none, "", "", "", "notebook"},
	{"/user.slice/user-1000.slice/user@1000.service/init.scope", GP_CONTAINER_none, "", "", "",
	 ""},
	{"/user.slice/user-1000.slice/session-3.scope", GP_CONTAINER_none, "", "", "", ""},
	{"/system.slice/ssh.service", GP_CONTAINER_none, "", "", "", ""},
	{"/system.slice/cron.service", GP_CONTAINER_none, "", "", "", ""},
	{"/system.slice/systemd-udevd.service", GP_CONTAINER_none, "", "", "", ""},
	{"/", GP_CONTAINER_none, "", "", "", ""},
	{"", GP_CONTAINER_none, "", "", "", ""},
	/* nearly */
	{"/kubepods/pod" UID "0/x", GP_CONTAINER_none, "", "", "", ""},
	{"/kubepods/pod4a163a05-439d-484b-8e53-2968bc15824g", GP_CONTAINER_none, "", "", "", ""},
	{"/kubepods/pod4a163a05-439d-484b-8e5-32968bc15824f", GP_CONTAINER_none, "", "", "", ""},
	{"/kubepods/xpod" UID, GP_CONTAINER_none, "", "", "", ""},
	{"/process_api/" HASH, GP_CONTAINER_none, "", "", "", ""},
	{"/docker/0" ID, GP_CONTAINER_none, "", "", "", ""},
	{"/system.slice/.service", GP_CONTAINER_none, "", "", "", ""},
	{"/system.slice/tra\nin\033[2J.service", GP_CONTAINER_none, "", "", "", "tra?in?[2J"},
};

static void test_paths(void **state)
{
	struct cgroup_place p;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		memset(&p, 0xff, sizeof(p));
		cgroup_place_parse(paths[i].path, &p);
		if (p.container != paths[i].container || strcmp(p.container_id, paths[i].id) != 0 ||
		    strcmp(p.pod_uid, paths[i].pod) != 0 ||
		    strcmp(p.slurm_job, paths[i].slurm) != 0 ||
		    strcmp(p.service, paths[i].service) != 0)
			fail_msg("%s: container %d %s, pod %s, slurm %s, service %s", paths[i].path,
				 p.container, p.container_id, p.pod_uid, p.slurm_job, p.service);
		assert_int_equal(p.shared, !*paths[i].id && !*paths[i].pod && !*paths[i].slurm &&
						   !*paths[i].service);
	}
}

static void test_lines(void **state)
{
	static const struct {
		const char *text, *pod, *id, *slurm;
	} cases[] = {
		{"0::/kubepods/pod" UID "/" ID "\n", UID, ID, ""},
		{"12:pids:/kubepods/pod" UID "/" ID "\n11:memory:/\n1:name=systemd:/\n0::/\n", UID,
		 ID, ""},
		{"13:cpu,cpuacct:/kubepods/pod" UID "\n1:name=systemd:/kubepods/pod" UID "/" ID
		 "\n0::/",
		 UID, ID, ""},
		{"5:freezer:/slurm/uid_1/job_7/step_0\n1:name=systemd:/system.slice/slurmd.service\n",
		 "", "", "7"},
		{"0::/docker/" ID, "", ID, ""}, /* no newline */
		{"nothing\n\n:\n::\n0::\n0::/docker/" ID "\n", "", ID, ""},
		{"", "", "", ""},
	};
	struct cgroup_place p;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cgroup_place_of(cases[i].text, &p);
		assert_string_equal(p.pod_uid, cases[i].pod);
		assert_string_equal(p.container_id, cases[i].id);
		assert_string_equal(p.slurm_job, cases[i].slurm);
	}
}

static void test_hostile_lines(void **state)
{
	size_t len = 1 << 20;
	char *text = malloc(len + 1);
	struct cgroup_place p;

	(void)state;
	memset(text, 'a', len); /* one line that has no end */
	text[len] = '\0';
	memcpy(text, "0::/", 4);
	cgroup_place_of(text, &p);
	assert_true(p.shared);
	memset(text, '/', len);
	cgroup_place_parse(text, &p);
	assert_true(p.shared);
	memset(text, '\n',
	       len); /* thousands of lines; and what comes behind them is not looked at */
	memcpy(text + len - sizeof("0::/docker/" ID), "0::/docker/" ID "\n",
	       sizeof("0::/docker/" ID));
	cgroup_place_of(text, &p);
	assert_true(p.shared);
	memset(text, ':', len);
	cgroup_place_of(text, &p);
	assert_true(p.shared);
	/* A name as long as there may be, with bytes that no terminal should see. */
	memset(text, 1, 4000);
	memcpy(text, "0::/system.slice/", 17);
	strcpy(text + 300, ".service");
	cgroup_place_of(text, &p);
	assert_int_equal(strlen(p.service), sizeof(p.service) - 1);
	assert_int_equal(strspn(p.service, "?"), strlen(p.service));
	free(text);
}

/* ---- processes ------------------------------------------------------------------------------- */

static char root[64];

static int setup(void **state)
{
	char path[128];

	(void)state;
	strcpy(root, "/tmp/gp-place-test-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	snprintf(path, sizeof(path), "%s/proc", root);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/proc/5", root);
	memset(&stand_pod, 0, sizeof(stand_pod));
	stand_err = 0;
	return mkdir(path, 0755);
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void put(const char *name, const void *data, size_t len)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/proc/5/%s", root, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

#define PUT_TEXT(name, text) put(name, text, sizeof(text) - 1)

static void test_environment(void **state)
{
	struct gp_place p;

	(void)state;
	PUT_TEXT("cgroup", "0::/user.slice/user-0.slice/session-3.scope\n");
	PUT_TEXT("environ",
		 "TORCHELASTIC_RUN_ID=run\0TORCHELASTIC_RESTART_COUNT=2\0SLURM_JOB_ID=5");
	assert_int_equal(place_read(root, 5, NULL, NULL, &p), 0);
	assert_string_equal(p.job, "5");
	assert_int_equal(p.job_from, GP_JOB_FROM_slurm);
	assert_int_equal(p.attempt, 2);
	assert_int_equal(p.rank, -1);
	PUT_TEXT("environ", "TORCHELASTIC_RUN_ID=r\033un\0SLURM_RESTART_COUNT=1");
	assert_int_equal(place_read(root, 5, NULL, NULL, &p), 0);
	assert_string_equal(p.job, "r?un");
	assert_int_equal(p.job_from, GP_JOB_FROM_torchelastic);
	assert_int_equal(p.attempt, 1);
	assert_int_equal(place_read(root, 5, "mine", NULL, &p), 0);
	assert_string_equal(p.job, "mine");
	assert_int_equal(p.job_from, GP_JOB_FROM_option);
	PUT_TEXT("environ", "JOBSET_NAME=set\0JOB_COMPLETION_INDEX=3");
	assert_int_equal(place_read(root, 5, NULL, NULL, &p), 0);
	assert_int_equal(p.job_from, GP_JOB_FROM_jobset);
	assert_int_equal(p.rank, 3);
	PUT_TEXT("environ", "TORCHELASTIC_RUN_ID=none");
	assert_int_equal(place_read(root, 5, NULL, NULL, &p), 0);
	assert_true(place_empty(&p));
	assert_int_equal(place_read(root, 6, NULL, NULL, &p), -ESRCH);
}

/* A worker's number counts within its slice; its slice has as many hosts as their list names. */
static void test_slices(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		int rank, world;
	} cases[] = {
#define ENVIRON(s) s, sizeof(s)
		{ENVIRON("TPU_WORKER_ID=1\0TPU_WORKER_HOSTNAMES=a,b,c,d"), 1, 4},
		{ENVIRON("TPU_WORKER_ID=1\0TPU_WORKER_HOSTNAMES=a,b\0MEGASCALE_NUM_SLICES=3\0MEGASCALE_SLICE_ID=2"),
		 5, 6},
		{ENVIRON("TPU_WORKER_ID=0\0TPU_WORKER_HOSTNAMES=localhost"), 0, 1},
		{ENVIRON("TPU_WORKER_ID=1\0MEGASCALE_SLICE_ID=2"), -1, -1}, /* of how many? */
		{ENVIRON("TPU_WORKER_ID=1"), 1, -1},
		{ENVIRON("TPU_WORKER_ID=4\0TPU_WORKER_HOSTNAMES=a,b"), -1, -1},
		{ENVIRON("TPU_WORKER_ID=1\0TPU_WORKER_HOSTNAMES=a,b\0MEGASCALE_NUM_SLICES=2147483647"
			 "\0MEGASCALE_SLICE_ID=2147483646"),
		 -1, -1},
#undef ENVIRON
	};
	static char many[4096 * 8];
	struct gp_place p;
	int len;

	(void)state;
	PUT_TEXT("cgroup", "0::/\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put("environ", cases[i].text, cases[i].len);
		assert_int_equal(place_read(root, 5, NULL, NULL, &p), 0);
		assert_int_equal(p.rank, cases[i].rank);
		assert_int_equal(p.world_size, cases[i].world);
	}
	len = snprintf(many, sizeof(many), "TPU_WORKER_ID=3%cTPU_WORKER_HOSTNAMES=", 0);
	for (int i = 0; i < 1021; i++)
		len += snprintf(many + len, sizeof(many) - (size_t)len, "%st-%07d.local",
				i ? "," : "", i);
	put("environ", many, (size_t)len);
	assert_int_equal(place_read(root, 5, NULL, NULL, &p), 0);
	assert_int_equal(p.world_size, 1021);
}

static void test_pod(void **state)
{
	struct pods *pods = (struct pods *)&stand_pod;
	struct gp_place p;

	(void)state;
	PUT_TEXT("cgroup", "0::/kubepods/pod" UID "/" ID "\n");
	PUT_TEXT("environ", "SLURM_JOB_ID=5\0TORCHELASTIC_RESTART_COUNT=7");
	stand_pod = (struct pod){
		.uid = UID,
		.namespace = "research",
		.name = "gpt-0-0-x7k2p",
		.node = "n1",
		.job_from = GP_JOB_FROM_jobset,
		.owner = "JobSet",
		.job = "gpt",
		.job_uid = "u-1",
		.attempt = 3,
		.rank = 1,
		.world_size = 4,
		.created_ns = 10,
		.scheduled_ns = 20,
		.containers = {{.name = "sidecar", .id = ID2},
			       {.name = "main", .id = ID, .started_ns = 30}},
		.ncontainers = 2,
	};
	assert_int_equal(place_read(root, 5, NULL, pods, &p), 0);
	assert_int_equal(p.job_from, GP_JOB_FROM_jobset);
	assert_string_equal(p.job, "gpt");
	assert_string_equal(p.job_uid, "u-1");
	assert_string_equal(p.namespace, "research");
	assert_string_equal(p.pod, "gpt-0-0-x7k2p");
	assert_string_equal(p.pod_uid, UID);
	assert_string_equal(p.node, "n1");
	assert_string_equal(p.owner, "JobSet");
	assert_string_equal(p.container_name, "main");
	assert_string_equal(p.container_id, "0123456789ab");
	assert_int_equal(p.attempt, 3);
	assert_int_equal(p.rank, 1);
	assert_int_equal(p.created_ns, 10);
	assert_int_equal(p.started_ns, 30);
	/* What is above the pod outranks what is within, and that the pod itself. */
	stand_pod.job_from = GP_JOB_FROM_pod;
	stand_pod.attempt = -1;
	assert_int_equal(place_read(root, 5, NULL, pods, &p), 0);
	assert_int_equal(p.job_from, GP_JOB_FROM_slurm);
	assert_int_equal(p.attempt, 7);
	assert_string_equal(p.pod, "gpt-0-0-x7k2p");
	stand_err = -EAGAIN;
	PUT_TEXT("environ", "A=1");
	assert_int_equal(place_read(root, 5, NULL, pods, &p), -EAGAIN);
	assert_int_equal(p.job_from, GP_JOB_FROM_none);
	assert_string_equal(p.pod_uid, UID);
	stand_err = -ENOENT;
	assert_int_equal(place_read(root, 5, NULL, pods, &p), 0);
	assert_string_equal(p.job, "pod-" UID);
	assert_int_equal(place_read(root, 5, NULL, NULL, &p), 0);
	assert_string_equal(p.job, "pod-" UID);
	assert_int_equal(p.job_from, GP_JOB_FROM_pod);
}

/* The index in the environment is within one of the Jobs of a set; its pod knows what it is in
 * all. */
static void test_pod_of_a_set(void **state)
{
	struct pods *pods = (struct pods *)&stand_pod;
	struct gp_place p;

	(void)state;
	PUT_TEXT("cgroup", "0::/kubepods/pod" UID "/" ID "\n");
	PUT_TEXT("environ", "JOB_COMPLETION_INDEX=0");
	stand_pod = (struct pod){.uid = UID,
				 .job_from = GP_JOB_FROM_jobset,
				 .owner = "JobSet",
				 .job = "gpt",
				 .attempt = -1,
				 .rank = -1,
				 .world_size = -1,
				 .later = true};
	stand_err = 0;
	assert_int_equal(place_read(root, 5, NULL, pods, &p), 0);
	assert_int_equal(p.rank, -1);
	assert_int_equal(p.later, 1);
	stand_pod.later = false;
	stand_pod.rank = 2;
	assert_int_equal(place_read(root, 5, NULL, pods, &p), 0);
	assert_int_equal(p.rank, 2);
	assert_int_equal(p.later, 0);
	stand_pod.later = true; /* what counts all slices is a rank */
	stand_pod.rank = -1;
	PUT_TEXT("environ", "JOB_COMPLETION_INDEX=0\0TPU_WORKER_ID=1\0TPU_WORKER_HOSTNAMES=a,b");
	assert_int_equal(place_read(root, 5, NULL, pods, &p), 0);
	assert_int_equal(p.rank, 1);
	assert_int_equal(p.later, 0);
	PUT_TEXT("environ", "JOB_COMPLETION_INDEX=3"); /* no set's: as it is */
	stand_pod.job_from = GP_JOB_FROM_controller;
	assert_int_equal(place_read(root, 5, NULL, pods, &p), 0);
	assert_int_equal(p.rank, 3);
	stand_pod = (struct pod){.uid = UID};
	stand_err = -ENOENT;
}

static void test_units(void **state)
{
	struct gp_place p;

	(void)state;
	PUT_TEXT("environ", "A=1");
	PUT_TEXT("cgroup", "0::/system.slice/docker-" ID ".scope\n");
	assert_int_equal(place_read(root, 5, NULL, NULL, &p), 0);
	assert_string_equal(p.job, "docker-0123456789ab");
	assert_int_equal(p.job_from, GP_JOB_FROM_cgroup);
	assert_int_equal(p.container, GP_CONTAINER_docker);
	PUT_TEXT("cgroup", "0::/system.slice/train.service/libpod-payload-" ID "\n");
	assert_int_equal(place_read(root, 5, NULL, NULL, &p), 0);
	assert_string_equal(p.job, "train");
	PUT_TEXT("cgroup", "0::/slurm/uid_0/job_12/step_0\n");
	assert_int_equal(place_read(root, 5, NULL, NULL, &p), 0);
	assert_string_equal(p.job, "12");
	assert_int_equal(p.job_from, GP_JOB_FROM_slurm);
}

/* What is read aside is what is read here; and a process without cgroups is one. */
static void test_helper(void **state)
{
	struct place_facts here, there;
	struct helper *a;

	(void)state;
	PUT_TEXT("environ", "RANK=1\0SLURM_JOB_ID=5");
	PUT_TEXT("status", "Name:\tx\nTgid:\t5\n");
	assert_int_equal(helper_new(&a, sizeof(there)), 0);
	assert_int_equal(place_read_facts(root, 5, &here), 0);
	assert_int_equal(place_read_facts_by_helper(a, root, 5, &there), 0);
	assert_memory_equal(&here, &there, sizeof(here));
	assert_true(here.cgroup.shared);
	PUT_TEXT("cgroup", "0::/kubepods/pod" UID "/" ID "\n");
	assert_int_equal(place_read_facts(root, 5, &here), 0);
	assert_int_equal(place_read_facts_by_helper(a, root, 5, &there), 0);
	assert_memory_equal(&here, &there, sizeof(here));
	assert_string_equal(there.cgroup.pod_uid, UID);
	helper_free(a);
	/* Ourselves, where we run: nothing that we do not share with ourselves. */
	assert_int_equal(place_read_facts("", getpid(), &here), 0);
	assert_int_equal(here.own, *here.cgroup.container_id || *here.cgroup.service);
}

/* A secret of the environment is nowhere but there. */
static void test_secret(void **state)
{
	static const char secret[] = "hunter2-very-secret";
	struct place_facts facts;
	struct gp_place p;

	(void)state;
	PUT_TEXT("cgroup", "0::/\n");
	PUT_TEXT(
		"environ",
		"AWS_SECRET=hunter2-very-secret\0RANK=1\0TOKEN=hunter2-very-secret\0JOBSET_NAMEX=hunter2-very-"
		"secret\0HUGE=hunter2-very-secret,hunter2-very-secret");
	memset(&p, 0, sizeof(p));
	assert_int_equal(place_read_facts(root, 5, &facts), 0);
	assert_int_equal(place_make(&facts, NULL, NULL, &p), 0);
	assert_null(memmem(&facts, sizeof(facts), secret, 7));
	assert_null(memmem(&p, sizeof(p), secret, 7));
	assert_int_equal(facts.env.rank, 1);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_hostile_lines),
		TEST(test_environment),
		TEST(test_slices),
		TEST(test_pod),
		TEST(test_pod_of_a_set),
		TEST(test_units),
		TEST(test_helper),
		TEST(test_secret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
