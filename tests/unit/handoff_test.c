/* SPDX-License-Identifier: Apache-2.0 */
/* handoff: what is read when a job begins goes onto the tape once, what is none does not; what is
 * known here is left there when something happened; who gives way says so; a folder that is not
 * there holds up nothing; the same through ConfigMaps. The tape and the model are made by hand. */
#include <signal.h>

#include "tests/unit/stand_in.h"

#include "tests/unit/handoff_world.h"

static void tick_until_said(const char *text)
{
	for (int i = 0; i < 20000 && !said(text); i++) {
		handoff_tick(handoff);
		usleep(1000);
	}
	assert_said(text);
}

static void leave(const struct carry *c)
{
	struct carry had;

	assert_int_equal(carry_file_write(dir, c, &had), 0);
}

static void leave_text(const char *text)
{
	char name[CARRY_NAME_MAX], path[200];
	FILE *f;

	carry_name(name, "llama", "", false);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* 0: nothing is there. */
static uint32_t there(struct carry *ret)
{
	char name[CARRY_NAME_MAX], text[CARRY_MAX];
	ssize_t len;

	carry_name(name, "llama", "", false);
	len = carry_file_read(dir, name, text);
	return len > 0 && !carry_parse(ret, text, (size_t)len) ? ret->attempt : 0;
}

/* Until it has been written, or what is there is what was to be. */
static void tick_until(uint32_t attempt, uint64_t disruptions)
{
	struct carry c = {0};

	for (int i = 0; i < 6000 && (there(&c) != attempt || c.disruptions != disruptions); i++) {
		handoff_tick(handoff);
		usleep(1000);
	}
	assert_int_equal(there(&c), attempt);
	assert_int_equal(c.disruptions, disruptions);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_comes(void **state)
{
	struct carry c = at("host-a", 2, 30), got;
	const struct gp_carry *r = (const struct gp_carry *)(const void *)(world.record +
									   sizeof(struct gp_rec));
	struct gp_place p = {.job_from = GP_JOB_FROM_option, .job = "llama"};

	(void)state;
	leave(&c);
	handoff_start(handoff);
	assert_int_equal(world.records, 1);
	assert_int_equal(carry_parse(&got, r->text, r->len), 0);
	assert_int_equal(got.attempt, 2);
	assert_string_equal(got.node, "host-a");
	for (int i = 0; i < 100; i++) { /* each of its processes is told */
		handoff_job(handoff, &p);
		handoff_poll(handoff);
		usleep(1000);
	}
	assert_int_equal(world.records, 1);
	assert_said("continues with its history of node host-a: attempt 2, step 50");
	assert_null(strchr(strchr(world.said, '\n') + 1, '\n'));
}

/* As whoever runs it names it: by its uid, not as the options have it; who names it on this node
 * alone names nothing that another one knows. */
static void test_comes_by_place(void **state)
{
	struct gp_place p = {.job_from = GP_JOB_FROM_cgroup, .job = "llama", .job_uid = "uid-1"};
	struct carry c = at("host-a", 2, 30), other = at("host-b", 7, 20);

	(void)state;
	options.job = NULL;
	snprintf(c.uid, sizeof(c.uid), "uid-1");
	leave(&c);
	snprintf(other.uid, sizeof(other.uid), "uid-2");
	leave(&other);
	handoff_start(handoff);
	for (int i = 0; i < 6000 && !world.records; i++) {
		handoff_job(handoff, &p);
		handoff_poll(handoff);
		p.job_from = i < 20 ? GP_JOB_FROM_cgroup : GP_JOB_FROM_jobset;
		assert_true(i > 20 || !world.records);
		usleep(1000);
	}
	assert_int_equal(world.records, 1);
	assert_said("job llama continues with its history of node host-a: attempt 2");
	world.own = at("", 3, 0); /* of the name, with no uid: another job */
	for (int i = 0; i < 200; i++) {
		handoff_tick(handoff);
		usleep(1000);
	}
	assert_int_equal(there(&c), 3);
	assert_string_equal(c.uid, "");
	assert_null(strchr(strchr(world.said, '\n') + 1, '\n'));
}

static void test_none(void **state)
{
	struct carry c = at("host-a", 2, 30);

	(void)state;
	handoff_start(handoff);
	assert_int_equal(world.records, 0);
	assert_string_equal(world.said, "");
	snprintf(c.job, sizeof(c.job), "other");
	leave(&c); /* another one's */
	handoff_start(handoff);
	assert_int_equal(world.records, 0);
	leave_text("gp-bpf carry 1\nattempt");
	handoff_start(handoff);
	handoff_start(handoff);
	assert_int_equal(world.records, 0);
	assert_said("not a history of a job, or damaged");
	assert_null(strchr(strchr(world.said, '\n') + 1, '\n')); /* said once */
}

static void test_of_no_later_run(void **state)
{
	struct carry c = at("host-a", 2, 30);

	(void)state;
	leave(&c);
	world.own = at("", 2, 10);
	world.own.state = JOB_DOWN;
	handoff_start(handoff);
	assert_int_equal(world.records, 0);
}

static void test_goes(void **state)
{
	struct carry c;
	char host[CARRY_NODE_MAX] = "";

	(void)state;
	gethostname(host, sizeof(host) - 1);
	handoff_start(handoff);
	world.own = at("", 1, 0);
	tick_until(1, 0);
	assert_true(there(&c));
	assert_string_equal(c.node, host);
	world.own.disruptions = 1; /* at once, not when it is due */
	tick_until(1, 1);
	world.own.attempt = 2;
	tick_until(2, 1);
	world.own.last_step = 77;
	world.own.until_ns++;
	handoff_finish(handoff);
	assert_int_equal(there(&c), 2);
	assert_int_equal(c.last_step, 77);
	assert_string_equal(world.said, "");
}

/* Another node is further: its word stays, and that is said once. */
static void test_gives_way(void **state)
{
	struct carry c = at("host-b", 5, 0);

	(void)state;
	handoff_start(handoff);
	leave(&c);
	world.own = at("", 1, 0);
	tick_until_said("attempt 5 on node host-b");
	assert_int_equal(there(&c), 5);
	world.own.disruptions++;
	handoff_finish(handoff);
	assert_int_equal(there(&c), 5);
	assert_null(strchr(strchr(world.said, '\n') + 1, '\n'));
}

/* The process that reads there: the only child. */
static pid_t reader(void)
{
	char at[64];
	pid_t pid = 0;
	FILE *f;

	snprintf(at, sizeof(at), "/proc/self/task/%d/children", getpid());
	f = fopen(at, "re");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &pid), 1); /* NOLINT(cert-err34-c) */
	fclose(f);
	return pid;
}

/* It does not answer: that holds up nobody, and what it says when it does is taken. */
static void test_hangs(void **state)
{
	struct carry c = at("host-a", 2, 30);

	(void)state;
	handoff_start(handoff);
	leave(&c);
	assert_int_equal(kill(reader(), SIGSTOP), 0);
	handoff_start(handoff);
	for (int i = 0; i < 100; i++)
		handoff_tick(handoff);
	assert_int_equal(world.records, 0);
	assert_int_equal(kill(reader(), SIGCONT), 0);
	for (int i = 0; i < 6000 && !world.records; i++) {
		handoff_poll(handoff);
		usleep(1000);
	}
	assert_int_equal(world.records, 1);
}

static void test_no_folder(void **state)
{
	(void)state;
	assert_int_equal(rmdir(dir), 0);
	handoff_start(handoff);
	assert_said("the history of jobs stays on this node");
	world.own = at("", 1, 0);
	for (int i = 0; i < 10; i++)
		handoff_tick(handoff);
	handoff_finish(handoff);
	assert_null(strchr(strchr(world.said, '\n') + 1, '\n'));
}

/* ---- ConfigMaps ------------------------------------------------------------------------------ */

static struct stand_in api;
static char map[] = "configmap:ml";

static int begin_map(void **state)
{
	static const char *const args[] = {"--journal", "journal", NULL};

	if (stand_in_start(&api, "tests/servers/kubernetes.py", args) || begin(state))
		return -1;
	handoff_free(handoff);
	options.carry = map;
	options.api_server = api.base;
	return handoff_new(&handoff, &options, NULL, NULL);
}

static int end_map(void **state)
{
	stand_in_stop(&api);
	return end(state);
}

static bool asked(const char *method, const char *status)
{
	return stand_in_count(&api, (const char *const[]){"/configmaps", method, status, NULL}) > 0;
}

static void tick_until_asked(const char *method, const char *status)
{
	for (int i = 0; i < 20000 && !asked(method, status); i++) {
		handoff_tick(handoff);
		usleep(1000);
	}
	assert_true(asked(method, status));
}

static void test_map(void **state)
{
	(void)state;
	handoff_start(handoff);
	assert_int_equal(world.records, 0);
	world.own = at("", 1, 0);
	tick_until_asked("POST", "\"status\": 201");
	world.own.disruptions = 1; /* at once, not when it is due */
	tick_until_asked("PATCH", "\"status\": 200");
	world.own.attempt = 3;
	world.own.until_ns++;
	world.own.last_step = 77;
	handoff_finish(handoff);
	assert_string_equal(world.said, "");
	/* Another node. */
	handoff_free(handoff);
	memset(&world.own, 0, sizeof(world.own));
	options.node_name = (char[]){"node-b"};
	assert_int_equal(handoff_new(&handoff, &options, NULL, NULL), 0);
	handoff_start(handoff);
	assert_int_equal(world.records, 1);
	assert_said("attempt 3, step 77");
	/* The first one's are the same run's, which began earlier. */
	world.own = at("", 2, 0);
	tick_until_said("also runs with attempt 3 on node");
}

static uint32_t lines(const char *text)
{
	uint32_t n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

static int refused(void)
{
	return stand_in_count(&api, (const char *const[]){"\"POST\"", "\"status\": 403", NULL});
}

/* Said once, tried again, and said when it works; reading works all the time. */
static void test_map_refused(void **state)
{
	(void)state;
	assert_int_equal(stand_in_set(&api, "{\"verbs\": [\"get\"]}"), 0);
	handoff_start(handoff);
	world.own = at("", 1, 0);
	for (int i = 0; i < 20000 && refused() < 2; i++) {
		handoff_start(handoff);
		handoff_tick(handoff);
		world.own.disruptions++;
		usleep(1000);
	}
	assert_said("--carry configmap:ml: configmaps of http://127.0.0.1");
	assert_said("needs a Role in namespace ml with configmaps: get, create, patch");
	assert_said("; the history of jobs stays on this node until requests succeed again");
	assert_int_equal(lines(world.said), 1);
	assert_int_equal(stand_in_set(&api, "{\"verbs\": [\"get\", \"create\", \"patch\"]}"), 0);
	tick_until_asked("POST", "\"status\": 201");
	tick_until_said(": requests succeed again");
	assert_int_equal(lines(world.said), 2);
}

static void test_map_nowhere(void **state)
{
	struct handoff *none;

	(void)state;
	unsetenv("KUBERNETES_SERVICE_HOST");
	options.carry = map;
	assert_int_equal(handoff_new(&none, &options, NULL, NULL), 0);
	assert_null(none);
	assert_said("no Kubernetes found");
	assert_int_equal(lines(world.said), 1);
	handoff_start(none);
	handoff_tick(none);
	handoff_finish(none);
	options.carry = (char[]){"configmap:a/b"};
	assert_int_equal(handoff_new(&none, &options, NULL, NULL), -EINVAL);
	options.carry = (char[]){"configmaps"}; /* a folder, which is not there */
	assert_int_equal(handoff_new(&none, &options, NULL, NULL), 0);
	handoff_start(none);
	assert_said("no such folder");
	handoff_free(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_comes, begin, end),
		cmocka_unit_test_setup_teardown(test_comes_by_place, begin, end),
		cmocka_unit_test_setup_teardown(test_none, begin, end),
		cmocka_unit_test_setup_teardown(test_of_no_later_run, begin, end),
		cmocka_unit_test_setup_teardown(test_goes, begin, end),
		cmocka_unit_test_setup_teardown(test_gives_way, begin, end),
		cmocka_unit_test_setup_teardown(test_hangs, begin, end),
		cmocka_unit_test_setup_teardown(test_no_folder, begin, end),
		cmocka_unit_test_setup_teardown(test_map, begin_map, end_map),
		cmocka_unit_test_setup_teardown(test_map_refused, begin_map, end_map),
		cmocka_unit_test_setup_teardown(test_map_nowhere, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
