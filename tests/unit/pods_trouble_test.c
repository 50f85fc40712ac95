/* SPDX-License-Identifier: Apache-2.0 */
/* An API server that fails, lies, hangs, refuses, or is somebody else. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/pods_stand.h"

static void secrets(void)
{
	assert_false(is_logged("kube-secret"));
	assert_null(strstr(view.trouble, "kube-secret"));
	assert_false(is_logged("Bearer"));
}

/* Replies that fail, of the list and of the watch: what is known stays, and what changes is seen
 * later. */
static void faults(void **state)
{
	static const char *const lists[] = {"503*2",  "429/1*1", "half*1",
					    "html*1", "410*1",	 "401*1"};
	static const char *const watches[] = {"503*2",	"429/1*1", "half*1",
					      "html*1", "hang*1",  "410*1"};
	char uid[32], name[32];

	(void)state;
	intervals.list_s = intervals.watch_s = 2;
	put("d", "uid-d", NODE, "", "");
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		deed("{'fault':{'list':'%s'}}", lists[i]);
		open_it();
		WAIT(is_well, NULL);
		assert_true(is_known("uid-d"));
		pods_close(p);
	}
	open_it();
	WAIT(is_well, NULL);
	for (size_t i = 0; i < sizeof(watches) / sizeof(watches[0]); i++) {
		deed("{'fault':{'watch':'%s'},'end':true}", watches[i]);
		snprintf(uid, sizeof(uid), "uid-w%zu", i);
		snprintf(name, sizeof(name), "w%zu", i);
		put(name, uid, NODE, "", "");
		WAIT(is_known, uid);
		deed("{'delete':'Pod/ml/%s'}", name);
		WAIT(is_gone, uid);
	}
	WAIT(is_well, NULL);
}

static int watches;

static bool is_watched_again(const char *arg)
{
	return asked("watch=1", arg) > watches;
}

/* A stream that ends, breaks off, says what is no event, or nothing for too long, is taken up where
 * it was. */
static void resumes(void **state)
{
	uint64_t lists;

	(void)state;
	open_it();
	WAIT(is_well, NULL);
	lists = view.lists;
	deed("{'reset':true}");
	put("e", "uid-e", NODE, "", "");
	WAIT(is_known, "uid-e");
	deed("{'down':1}");
	put("f", "uid-f", NODE, "", "");
	WAIT(is_known, "uid-f");
	watches = asked("watch=1", "/api/v1/pods");
	deed("{'raw':'this is no JSON\\n'}");
	WAIT(is_watched_again, "/api/v1/pods"); /* else what comes next could be told before it, and
						   the rest to nobody */
	put("g", "uid-g", NODE, "", "");
	WAIT(is_known, "uid-g");
	deed("{'error':{'code':500,'message':'etcd \\u001b[2J is away'}}");
	put("h", "uid-h", NODE, "", "");
	WAIT(is_known, "uid-h");
	WAIT(is_well, NULL);
	assert_int_equal(view.lists, lists);
	assert_non_null(strstr(logged, "etcd ?[2J is away"));
	/* A bookmark moves on what is resumed at: what is before it may go. */
	deed("{'bookmark':true}");
	deed("{'compact':true,'bookmark':true}");
	deed("{'end':true}");
	put("i", "uid-i", NODE, "", "");
	WAIT(is_known, "uid-i");
	assert_int_equal(view.lists, lists);
}

static void token(void **state)
{
	char *file = (char *)cfg.token_file;

	(void)state;
	open_it();
	WAIT(is_well, NULL);
	deed("{'rotate':true}");
	deed("{'end':true}"); /* the next watch is refused, and the file read again */
	put("j", "uid-j", NODE, "", "");
	WAIT(is_known, "uid-j");
	assert_true(asked("\"status\": 401", "watch=1") > 0);
	assert_string_equal(logged, "");
	pods_close(p);
	cfg.token_file = "/nonexistent/token";
	open_it();
	WAIT(has_trouble, "/nonexistent/token: No such file");
	assert_false(view.current);
	assert_true(view.here);
	pods_close(p);
	cfg.token_file = stand_in_path(&s, "journal"); /* no token at all */
	open_it();
	WAIT(has_trouble, "it is not a token");
	pods_close(p);
	cfg.token_file = file;
	p = NULL;
	secrets();
}

static void refused(void **state)
{
	(void)state;
	deed("{'fault':{'list':'403'}}");
	open_it();
	WAIT(has_trouble, "pods: list, watch");
	assert_non_null(strstr(view.trouble, "forbidden"));
	WAIT(is_logged, "nodes: list, watch");
	deed("{'fault':{}}");
	WAIT(is_well, NULL);
	WAIT(is_logged, "requests succeed again");
	secrets();
}

/* What does not prove to be the cluster gets no token. */
static void certificates(void **state)
{
	char *ca = (char *)cfg.ca_file, path[160], command[600];
	int before = asked("\"authorized\": true", "/api");

	(void)state;
	snprintf(path, sizeof(path), "%s", stand_in_path(&s, "other"));
	snprintf(
		command, sizeof(command),
		"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -batch -days 2 "
		"-subj /CN=other -keyout %s.key -out %s >/dev/null 2>&1",
		path, path);
	assert_int_equal(system(command), 0); // NOLINT(cert-env33-c)
	cfg.ca_file = path;
	open_it();
	WAIT(has_trouble, "is this its CA?");
	pods_close(p);
	p = NULL;
	assert_int_equal(asked("\"authorized\": true", "/api"), before);
	cfg.ca_file = ca;
}

static void in_the_clear(void **state)
{
	int before = asked("\"authorized\": true", "/api");

	(void)state;
	cfg.server = s.base;
	open_it();
	WAIT(has_trouble, "the token is refused (401)"); /* none was sent */
	pods_close(p);
	p = NULL;
	assert_int_equal(asked("\"authorized\": true", "/api"), before);
}

/* While nothing answers. */
static void closes(void **state)
{
	(void)state;
	deed("{'fault':{'list':'hang'}}");
	intervals.list_s = 600;
	open_it();
	while (!asked("\"fault\": \"hang\"", "/api/v1/pods"))
		usleep(1000);
	pods_close(p);
	deed("{'fault':{'list':'503'}}");
	intervals.backoff.first_ns = intervals.backoff.most_ns = 600000000000;
	open_it();
	WAIT(has_trouble, "503");
	pods_close(p);
	p = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(faults, setup, teardown),
		cmocka_unit_test_setup_teardown(resumes, setup, teardown),
		cmocka_unit_test_setup_teardown(token, setup, teardown),
		cmocka_unit_test_setup_teardown(refused, setup, teardown),
		cmocka_unit_test_setup_teardown(certificates, setup, teardown),
		cmocka_unit_test_setup_teardown(in_the_clear, setup, teardown),
		cmocka_unit_test_setup_teardown(closes, setup, teardown),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
