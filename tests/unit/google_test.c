/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/google_stand.h"
#include "userspace/base/clock.h"

/* ---- tokens */

static void check_tokens(const char *path)
{
	char *first;
	int before = asked(path);

	assert_int_equal(token(), 0);
	assert_int_equal(strncmp(header.data, "Authorization: Bearer ya29.stand-in-", 36), 0);
	first = strdup(header.data);
	assert_int_equal(token(), 0);
	assert_string_equal(header.data, first); /* kept */
	assert_int_equal(asked(path), before + 1);
	google_token_refused(g);
	assert_int_equal(token(), 0);
	assert_string_not_equal(header.data, first);
	assert_int_equal(asked(path), before + 2);
	free(first);
}

static void of_an_account(void **state)
{
	(void)state;
	use("account.json");
	assert_string_equal(google_project(g), "");
	check_tokens("\"/token\"");
	assert_string_equal(google_project(g), "stand-in-project");
	assert_string_equal(google_quota_project(g), "");
	setenv("GOOGLE_CLOUD_PROJECT", "another", 1);
	setenv("GOOGLE_CLOUD_QUOTA_PROJECT", "payer", 1);
	assert_string_equal(google_project(g), "another");
	assert_string_equal(google_quota_project(g), "payer");
	setenv("GOOGLE_CLOUD_QUOTA_PROJECT", "payer\r\nX-Injected: yes", 1);
	assert_string_equal(google_quota_project(g), "");
}

static void of_a_user(void **state)
{
	(void)state;
	use("user.json");
	check_tokens("\"/token\"");
	assert_string_equal(google_quota_project(g), "who-pays");
	assert_string_equal(google_project(g), "");
}

static void of_the_machine(void **state)
{
	(void)state;
	setenv("http_proxy", "http://127.0.0.1:1", 1); /* is not for the metadata server */
	check_tokens("default/token");
	set_fault("default/token", "503*2");
	google_token_refused(g);
	assert_int_equal(token(), 0);
	unsetenv("GCE_METADATA_HOST");
	setenv("GCE_METADATA_IP", s.base + strlen("http://"), 1);
	google_token_refused(g);
	assert_int_equal(token(), 0);
}

static void in_google_s_order(void **state)
{
	int before = asked("default/token");
	char file[128];

	(void)state;
	assert_int_equal(mkdir(stand_in_path(&s, ".config"), 0700), 0);
	assert_int_equal(mkdir(stand_in_path(&s, ".config/gcloud"), 0700), 0);
	snprintf(file, sizeof(file), "%s/.config/gcloud/application_default_credentials.json",
		 s.dir);
	assert_int_equal(symlink("../../user.json", file), 0);
	assert_int_equal(token(), 0);
	assert_string_equal(google_quota_project(g), "who-pays");
	assert_int_equal(asked("default/token"), before);
	setenv("CLOUDSDK_CONFIG", s.dir, 1); /* is instead of the home's, and empty */
	google_token_refused(g);
	assert_int_equal(token(), 0);
	assert_int_equal(asked("default/token"), before + 1);
	setenv("CLOUDSDK_CONFIG", stand_in_path(&s, ".config/gcloud"), 1);
	google_token_refused(g);
	assert_int_equal(token(), 0);
	assert_string_equal(google_quota_project(g), "who-pays");
	use("account.json"); /* comes first */
	google_token_refused(g);
	assert_int_equal(token(), 0);
	assert_string_equal(google_project(g), "stand-in-project");
	assert_int_equal(asked("default/token"), before + 1);
	assert_int_equal(unlink(file), 0);
}

static void short_lives(void **state)
{
	int before = asked("default/token");
	char *first;

	(void)state;
	assert_int_equal(stand_in_set(&s, "{\"expires\": 100}"), 0);
	assert_int_equal(token(), 0);
	assert_int_equal(token(), 0);
	assert_int_equal(asked("default/token"), before + 1);
	google_token_refused(g);
	assert_int_equal(stand_in_set(&s, "{\"expires\": 0.2}"), 0);
	assert_int_equal(token(), 0);
	first = strdup(header.data);
	do {
		usleep(1000);
		assert_int_equal(token(), 0);
	} while (!strcmp(header.data, first));
	free(first);
}

/* One that can still be used is used while no other is to be had, and there is no asking at each
 * call. */
static void old_while_good(void **state)
{
	uint64_t start_ns;
	char *first;
	int before;

	(void)state;
	assert_int_equal(stand_in_set(&s, "{\"expires\": 1}"), 0);
	start_ns = clock_boot_ns();
	assert_int_equal(token(), 0);
	first = strdup(header.data);
	set_fault("default/token", "403");
	before = asked("default/token");
	while (!token()) {
		assert_string_equal(header.data, first);
		usleep(1000);
	}
	assert_true(clock_boot_ns() - start_ns >= 1000000000);
	says("403");
	assert_true(asked("default/token") <= before + 2);
	free(first);
}

struct case_of {
	const char *kind;
	int err;
	const char *text;
};

static void check_faults(const char *path, const struct case_of *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		set_fault(path, cases[i].kind);
		google_token_refused(g);
		why[0] = '\0';
		if (token() != cases[i].err)
			fail_msg("%s: %s", cases[i].kind, why);
		says(cases[i].text);
		assert_null(strstr(why, "ya29"));
		assert_null(strstr(why, "X-Injected"));
		assert_null(strstr(why, "stand-in-refresh"));
		assert_null(strstr(why, "secret/with"));
		assert_null(strstr(why, "eyJ")); /* of an assertion */
	}
}

#define NO_TOKENS(from)                                                                            \
	{"newline", -EAGAIN, from ": the reply has no valid token"},                               \
		{"nul", -EAGAIN, "has no valid token"},                                            \
		{"not-utf8", -EAGAIN, "has no valid token"},                                       \
		{"long", -EAGAIN, "has no valid token"}, {"blank", -EAGAIN, "has no valid token"}, \
		{"html", -EAGAIN, "has no valid token"},                                           \
		{"garbage", -EAGAIN, "has no valid token"},                                        \
		{"empty", -EAGAIN, "has no valid token"},                                          \
		{"array", -EAGAIN, "has no valid token"},                                          \
		{"number", -EAGAIN, "has no valid token"},                                         \
	{                                                                                          \
		"over", -EAGAIN, "has no valid token"                                              \
	}

static void faults_of_endpoints(void **state)
{
	static const struct case_of cases[] = {
		NO_TOKENS("/token"),
		{"huge", -EAGAIN, "has no valid token"},
		{"redirect", -EAGAIN, "redirect, which gp-bpf does not follow (302"},
		{"503", -EAGAIN, "no token, will be tried again (503"},
		{"429/7", -EAGAIN, "no token, will be tried again (429"},
		{"403", -EACCES, "refused (403"},
		{"404", -EACCES, "refused (404"},
		{"400/invalid_grant", -EACCES,
		 "(400: invalid_grant: Token has been expired or revoked.)"},
		{"400/echo", -EACCES, "refused (400)"},
		{"none", -EAGAIN, "/token: "},
		{"half", -EAGAIN, "/token: "},
		{"reset", -EAGAIN, "/token: "},
	};

	(void)state;
	use("user.json");
	check_faults("/token", cases, sizeof(cases) / sizeof(cases[0]));
	use("account.json");
	check_faults("/token", cases, sizeof(cases) / sizeof(cases[0]));
}

static void faults_of_metadata(void **state)
{
	static const struct case_of cases[] = {
		NO_TOKENS("metadata server"),
		{"huge", -EAGAIN, "the reply is too long"},
		{"redirect", -EAGAIN, ": reply 302"},
		{"503", -EAGAIN, ": reply 503"},
		{"429/7", -EAGAIN, ": reply 429"},
		{"403", -EACCES, ": reply 403"},
		{"404", -EACCES, "no service account"},
		{"no-flavor", -EACCES, "is not a metadata server of Google"},
		{"none", -EAGAIN, "metadata server 127.0.0.1:"},
		{"half", -EAGAIN, "metadata server 127.0.0.1:"},
	};

	(void)state;
	check_faults("default/token", cases, sizeof(cases) / sizeof(cases[0]));
	assert_int_equal(stand_in_set(&s, "{\"faults\": {}, \"flavor\": \"Pirate\"}"), 0);
	assert_int_equal(token(), -EACCES);
	says("GOOGLE_APPLICATION_CREDENTIALS");
}

static void *cancel(void *ctx)
{
	(void)ctx;
	while (!asked("\"fault\": \"hang\""))
		usleep(1000);
	web_cancel(w);
	return NULL;
}

static void cancelled(void **state)
{
	pthread_t t;

	(void)state;
	set_fault("default/token", "hang");
	assert_int_equal(pthread_create(&t, NULL, cancel, NULL), 0);
	assert_int_equal(token(), -EAGAIN);
	pthread_join(t, NULL);
	says("cancelled");
}

static void clocks_apart(void **state)
{
	(void)state;
	use("account.json");
	assert_int_equal(stand_in_set(&s, "{\"skew\": 3660}"), 0);
	assert_int_equal(token(), -EACCES);
	says("Token must be a short-lived token");
	says("this machine's clock is 1 h 0");
	says("behind that of the server");
	assert_int_equal(stand_in_set(&s, "{\"skew\": -660}"), 0);
	assert_int_equal(token(), -EACCES);
	says("ahead of that of the server");
	assert_int_equal(stand_in_set(&s, "{\"skew\": 200}"), 0); /* is borne */
	assert_int_equal(token(), 0);
}

static void nowhere(void **state)
{
	(void)state;
	setenv("GCE_METADATA_HOST", "127.0.0.1:1", 1);
	assert_int_equal(token(), -EAGAIN); /* that of a pod comes later */
	says("metadata server 127.0.0.1:1: ");
	setenv("METADATA_SERVER_DETECTION", "ping-only", 1);
	assert_int_equal(token(), -EACCES);
	says("no Google credentials: set GOOGLE_APPLICATION_CREDENTIALS");
	setenv("METADATA_SERVER_DETECTION", "assume-present", 1);
	assert_int_equal(token(), -EAGAIN);
	setenv("METADATA_SERVER_DETECTION", "none", 1);
	assert_int_equal(token(), -EACCES);
	says("METADATA_SERVER_DETECTION");
	unsetenv("METADATA_SERVER_DETECTION");
	setenv("GCE_METADATA_HOST", "127.0.0.1/x?\r\n", 1);
	assert_int_equal(token(), -EACCES);
	says("GCE_METADATA_HOST: expected host[:port]");
}

/* ---- where it is */

static void places(void **state)
{
	struct google_place p;

	(void)state;
	assert_int_equal(google_place(g, &p), 0);
	assert_string_equal(p.project, "stand-in-project");
	assert_string_equal(p.zone, "us-central1-a");
	assert_string_equal(p.location, "us-central1-a");
	assert_string_equal(p.cluster, "");
	assert_string_equal(p.instance_id, "4567890123456789012");
	assert_string_equal(p.instance_name, "gke-node-1");
	assert_string_equal(p.machine_type, "a3-highgpu-8g");
	assert_string_equal(p.tpu_type, "");
	assert_int_equal(stand_in_set(&s, "{\"gke\": true}"), 0);
	assert_int_equal(google_place(g, &p), 0);
	assert_string_equal(p.cluster, "trainers");
	assert_string_equal(p.location, "us-central1");
	assert_string_equal(p.zone, "us-central1-a");
	assert_string_equal(p.machine_type, "");
	assert_string_equal(google_accelerator(p.machine_type), "UNKNOWN");
	assert_int_equal(stand_in_set(&s,
				      "{\"gke\": false, \"texts\": {"
				      "\"instance/attributes/accelerator-type\": \"v5p-8\","
				      "\"instance/attributes/agent-worker-number\": \"3\\n\"}}"),
			 0);
	assert_int_equal(google_place(g, &p), 0);
	assert_string_equal(p.tpu_type, "v5p-8");
	assert_string_equal(p.tpu_worker, "3");
}

static void hostile_places(void **state)
{
	struct google_place p, untouched = {.project = "as it was"};
	char knobs[1024], long_text[600];

	(void)state;
	memset(long_text, 'x', sizeof(long_text));
	long_text[sizeof(long_text) - 1] = '\0';
	snprintf(
		knobs, sizeof(knobs),
		"{\"texts\": {\"instance/zone\": \"a b\\r\\nX: y\", \"instance/id\": \"1\\u00002\","
		"\"instance/name\": \"%s\", \"project/project-id\": \"\\u00e9\","
		"\"instance/machine-type\": \"a/b/\"}}",
		long_text);
	assert_int_equal(stand_in_set(&s, knobs), 0);
	assert_int_equal(google_place(g, &p), 0);
	assert_string_equal(p.zone, "");
	assert_string_equal(p.instance_id, "");
	assert_string_equal(p.instance_name, "");
	assert_string_equal(p.project, "");
	assert_string_equal(p.machine_type, "");
	p = untouched;
	set_fault("instance/id", "503");
	assert_int_equal(google_place(g, &p), -EAGAIN);
	set_fault("project-id", "no-flavor");
	assert_int_equal(google_place(g, &p), -ENOENT);
	setenv("METADATA_SERVER_DETECTION", "none", 1);
	assert_int_equal(google_place(g, &p), -ENOENT);
	assert_memory_equal(&p, &untouched, sizeof(p));
}

static void accelerators(void **state)
{
	static const char *const rows[][2] = {
		{"tpu7x-standard-4t", "TPU-7x"},  {"ct6e-standard-8t", "TPU-v6e"},
		{"ct5p-hightpu-4t", "TPU-v5p"},	  {"ct5lp-hightpu-4t", "TPU-v5e"},
		{"ct5l-hightpu-1t", "TPU-v5e"},	  {"ct4p-hightpu-4t", "TPU-v4p"},
		{"ct3p-hightpu-4t", "TPU-v3"},	  {"ct3-hightpu-4t", "TPU-v3"},
		{"a3-edgegpu-8g", "NVIDIA-H100"}, {"a3-highgpu-8g", "NVIDIA-H100"},
		{"a3-megagpu-8g", "NVIDIA-H100"}, {"a3-ultragpu-8g", "NVIDIA-H200"},
		{"a2-highgpu-8g", "NVIDIA-A100"}, {"a4-highgpu-8g", "GPU"},
		{"n1-standard-8", "UNKNOWN"},	  {"", "UNKNOWN"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(google_accelerator(rows[i][0]), rows[i][1]);
	assert_string_equal(google_accelerator(NULL), "UNKNOWN");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(of_an_account, setup, teardown),
		cmocka_unit_test_setup_teardown(of_a_user, setup, teardown),
		cmocka_unit_test_setup_teardown(of_the_machine, setup, teardown),
		cmocka_unit_test_setup_teardown(in_google_s_order, setup, teardown),
		cmocka_unit_test_setup_teardown(short_lives, setup, teardown),
		cmocka_unit_test_setup_teardown(old_while_good, setup, teardown),
		cmocka_unit_test_setup_teardown(faults_of_endpoints, setup, teardown),
		cmocka_unit_test_setup_teardown(faults_of_metadata, setup, teardown),
		cmocka_unit_test_setup_teardown(cancelled, setup, teardown),
		cmocka_unit_test_setup_teardown(clocks_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(nowhere, setup, teardown),
		cmocka_unit_test_setup_teardown(places, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile_places, setup, teardown),
		cmocka_unit_test(accelerators),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
