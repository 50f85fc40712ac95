/* SPDX-License-Identifier: Apache-2.0 */
/* What goes with a job as a ConfigMap: its name, who gives way to whom, and an API server that
 * refuses, is slow or talks nonsense. Against a stand-in that is as strict as a real one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/pods_stand.h"
#include "userspace/handover/carry_map.h"

static struct carry_map_config to;
static struct carry_map *m;
static struct carry_map_job llama;
static char name[CARRY_NAME_MAX];
static const struct carry *had;

static int arrange(void **state)
{
	setup(state);
	to = (struct carry_map_config){.server = server,
				       .token_file = cfg.token_file,
				       .ca_file = cfg.ca_file,
				       .namespace = "ml",
				       .question_s = WAIT_S,
				       .token_s = WAIT_S};
	llama = (struct carry_map_job){
		.job = "llama", .uid = "uid-1", .namespace = "ml", .owner = "Job"};
	carry_name(name, llama.job, llama.uid, true);
	deed("{'verbs':['get','create','patch'],'spaces':null,'meanwhile':null}");
	return carry_map_new(&m, &to);
}

static int clear(void **state)
{
	carry_map_free(m);
	m = NULL;
	deed("{'fault':{}}");
	deed("{'put':{'kind':'ConfigMap','metadata':{'name':'%s','namespace':'ml'}}}", name);
	deed("{'delete':'ConfigMap/ml/%s'}", name);
	return teardown(state);
}

static struct carry at(const char *node, uint32_t attempt, int64_t run_s)
{
	struct carry c = {.job = "llama",
			  .uid = "uid-1",
			  .attempt = attempt,
			  .run_ns = 1800000000000000000 + run_s * 1000000000,
			  .until_ns = 1800000100000000000};

	snprintf(c.node, sizeof(c.node), "%s", node);
	return c;
}

static ssize_t answer(const void **ret)
{
	ssize_t n = carry_map_answer(m, WAIT_S * 1000, ret);

	assert_int_not_equal(n, -EAGAIN);
	assert_null(strstr(carry_map_why(m), "kube-secret"));
	return n;
}

static ssize_t reads(void)
{
	const void *text;

	assert_int_equal(carry_map_read(m, &llama), 0);
	return answer(&text);
}

static ssize_t writes(const char *node, uint32_t attempt, int64_t run_s)
{
	struct carry c = at(node, attempt, run_s);
	const void *there;
	ssize_t n;

	assert_int_equal(carry_map_write(m, &llama, &c), 0);
	n = answer(&there);
	had = there;
	return n;
}

/* 0: nothing is there. */
static uint32_t there(struct carry *ret)
{
	const void *text;
	ssize_t n;

	assert_int_equal(carry_map_read(m, &llama), 0);
	n = answer(&text);
	return n > 0 && !carry_parse(ret, text, (size_t)n) ? ret->attempt : 0;
}

/* The object as the server has it. */
static const char *object(void)
{
	static char text[8192];
	struct access a;
	struct web_reply r = {0};
	char path[200];

	snprintf(path, sizeof(path), "/api/v1/namespaces/ml/configmaps/%s", name);
	assert_int_equal(access_open(&a, "", server, cfg.token_file, cfg.ca_file, 0), 0);
	assert_int_equal(
		access_send(&a, &(struct access_request){.path = path, .timeout_s = WAIT_S}, &r),
		0);
	snprintf(text, sizeof(text), "%s", r.status == 200 ? r.body.data : "");
	web_reply_free(&r);
	access_free(&a);
	return text;
}

static void put_map(const char *labels, const char *more, const char *text)
{
	deed("{'put':{'kind':'ConfigMap','metadata':{'name':'%s','namespace':'ml','labels':{%s}}%s,'data':{'carry':'%s'}}}",
	     name, labels, more, text);
}
#define OURS "'app.kubernetes.io/managed-by':'gp-bpf'"

/* As another node left it. */
static void leave(const char *deed_name, const char *node, uint32_t attempt, int64_t run_s)
{
	struct carry c = at(node, attempt, run_s);
	char text[CARRY_MAX + 1], line[2 * CARRY_MAX] = "";
	size_t n = 0;

	carry_text(text, &c);
	for (const char *t = text; *t; t++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, *t == '\n' ? "\\n" : "%c", *t);
	deed("{'%s':{'kind':'ConfigMap','metadata':{'name':'%s','namespace':'ml','labels':{" OURS
	     "}},'data':{'carry':'%s'}}}",
	     deed_name, name, line);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static bool fits(const char *n)
{
	size_t len = strlen(n);

	return len && len < 64 + 16 && strspn(n, "abcdefghijklmnopqrstuvwxyz0123456789-") == len &&
	       *n != '-' && n[len - 1] != '-' && !strstr(n, "--");
}

static void names(void **state)
{
	static const char *const jobs[][2] = {
		{"llama", ""},
		{"llama", "uid-1"},
		{"llamau", "id-1"},
		{"Llama", ""},
		{"llama_7b", ""},
		{"llama-7b", ""},
		{"llama.7b", ""},
		{"", ""},
		{"---", ""},
		{"../../secrets/x?y=%2f", ""},
		{"h\xc3\xa9", ""},
		{"hundred-and-more-letters-hundred-and-more-letters-hundred-and-a", ""},
		{"hundred-and-more-letters-hundred-and-more-letters-hundred-and-b", ""},
	};
	enum { N = sizeof(jobs) / sizeof(jobs[0]) };
	char made[N][CARRY_NAME_MAX];

	(void)state;
	for (int i = 0; i < N; i++) {
		carry_name(made[i], jobs[i][0], jobs[i][1], true);
		assert_true(fits(made[i]));
		for (int j = 0; j < i; j++)
			assert_string_not_equal(made[i], made[j]);
	}
	assert_memory_equal(made[4], "gp-bpf-carry-llama-7b-", 22);
	assert_memory_equal(made[9], "gp-bpf-carry-secrets-x-y-2f-", 28);
	assert_int_equal(carry_map_check("ml-2"), 0);
	assert_int_equal(carry_map_check(""), -EINVAL);
	assert_int_equal(carry_map_check("-a"), -EINVAL);
	assert_int_equal(carry_map_check("a/b"), -EINVAL);
	assert_int_equal(carry_map_check("A"), -EINVAL);
	assert_int_equal(
		carry_map_check("hundred-and-more-letters-hundred-and-more-letters-hundred-and-mo"),
		-EINVAL);
}

static void there_and_back(void **state)
{
	struct carry c;

	(void)state;
	assert_int_equal(reads(), -ENOENT);
	assert_int_equal(writes("a", 1, 0), 0);
	assert_int_equal(there(&c), 1);
	assert_string_equal(c.node, "a");
	assert_non_null(strstr(object(), "\"app.kubernetes.io/managed-by\": \"gp-bpf\""));
	assert_non_null(strstr(object(), "\"gp-bpf/job-uid\": \"uid-1\""));
	assert_non_null(strstr(object(), "\"gp-bpf/known-until\": \"2027-01-15T08:01:40."));
	assert_int_equal(writes("a", 2, 10), 0);
	assert_int_equal(there(&c), 2);
	/* What others have added to it stays. */
	leave("put", "a", 2, 10);
	put_map(OURS ",'team':'x'", ",'binaryData':{'more':'eA=='}", "nonsense");
	assert_int_equal(there(&c), 0);
	assert_int_equal(writes("a", 3, 20), 0);
	assert_int_equal(there(&c), 3);
	assert_non_null(strstr(object(), "\"team\": \"x\""));
	assert_non_null(strstr(object(), "\"more\": \"eA==\""));
	assert_int_equal(asked("\"method\": \"DELETE\"", "configmaps"), 0);
	assert_int_equal(asked("\"authorized\": false", "configmaps"), 0);
}

/* It goes with the Job where that is in the same namespace, and known for sure. */
static void owner(void **state)
{
	(void)state;
	deed("{'put':{'kind':'Job','metadata':{'name':'llama','namespace':'ml','uid':'uid-1'}}}");
	assert_int_equal(writes("a", 1, 0), 0);
	assert_non_null(strstr(
		object(), "{\"apiVersion\": \"batch/v1\", \"kind\": \"Job\", \"name\": \"llama\", "
			  "\"uid\": \"uid-1\"}"));
	assert_int_equal(writes("a", 2, 0), 0);
	assert_non_null(strstr(object(), "ownerReferences"));
	deed("{'delete':'Job/ml/llama'}");
	assert_int_equal(reads(), -ENOENT);
	snprintf(llama.namespace, sizeof(llama.namespace), "other");
	assert_int_equal(writes("a", 1, 0), 0);
	assert_null(strstr(object(), "ownerReferences"));
	deed("{'delete':'ConfigMap/ml/%s'}", name);
	snprintf(llama.namespace, sizeof(llama.namespace), "ml");
	snprintf(llama.owner, sizeof(llama.owner), "PyTorchJob");
	assert_int_equal(writes("a", 1, 0), 0);
	assert_null(strstr(object(), "ownerReferences"));
	deed("{'delete':'ConfigMap/ml/%s'}", name);
	snprintf(llama.owner, sizeof(llama.owner), "JobSet");
	assert_int_equal(writes("a", 1, 0), 0);
	assert_non_null(strstr(object(), "\"apiVersion\": \"jobset.x-k8s.io/v1alpha2\""));
	/* A uid that is none, as a label neither. */
	deed("{'delete':'ConfigMap/ml/%s'}", name);
	snprintf(llama.uid, sizeof(llama.uid), "no uid!");
	carry_name(name, llama.job, llama.uid, true);
	assert_int_equal(writes("a", 1, 0), 0);
	assert_null(strstr(object(), "no uid!\","));
	assert_null(strstr(object(), "ownerReferences"));
}

static void gives_way(void **state)
{
	struct carry c;

	(void)state;
	leave("put", "b", 5, 0);
	assert_int_equal(writes("a", 4, 100), -ESTALE);
	assert_int_equal(had->attempt, 5);
	assert_string_equal(had->node, "b");
	assert_int_equal(writes("a", 5, -1), -ESTALE);
	assert_int_equal(writes("b", 5, -1), 0); /* its own */
	assert_int_equal(writes("a", 5, 1), 0);
	assert_int_equal(there(&c), 5);
	assert_string_equal(c.node, "a");
	assert_int_equal(writes("a", 6, 1), 0);
	snprintf(llama.job, sizeof(llama.job),
		 "other"); /* one hash: it cannot be made on purpose here */
	put_map(OURS, "", "gp-bpf carry 1\\njob x\\nattempt 1\\nuntil 1\\nend\\n");
	snprintf(llama.job, sizeof(llama.job), "llama");
	assert_int_equal(writes("a", 7, 1), -EEXIST);
	put_map(OURS, "", "gp-bpf carry 2\\nend\\n");
	assert_int_equal(writes("a", 7, 1), -EPROTO);
	put_map("'app.kubernetes.io/managed-by':'Helm'", "", "theirs");
	assert_int_equal(writes("a", 7, 1), -ENOTUNIQ);
	assert_int_equal(reads(), -ENOTUNIQ);
	assert_non_null(strstr(object(), "theirs"));
	put_map(OURS, ",'immutable':true", "nonsense");
	assert_int_equal(writes("a", 7, 1), -EINVAL);
	assert_non_null(strstr(carry_map_why(m), "422"));
}

/* Between what was read and what is written another node has written. */
static void conflict(void **state)
{
	struct carry c;

	(void)state;
	leave("meanwhile", "b", 1, 0); /* made by both */
	assert_int_equal(writes("a", 2, 10), 0);
	assert_int_equal(there(&c), 2);
	assert_true(asked("\"method\": \"POST\"", "\"status\": 409") == 1);
	leave("meanwhile", "b", 1, 0);
	assert_int_equal(writes("a", 2, 10), 0);
	assert_int_equal(there(&c), 2);
	assert_string_equal(c.node, "a");
	assert_true(asked("\"method\": \"PATCH\"", "\"status\": 409") == 1);
	leave("meanwhile", "b", 3, 0); /* it knows more */
	assert_int_equal(writes("a", 2, 20), -ESTALE);
	assert_int_equal(had->attempt, 3);
	assert_int_equal(there(&c), 3);
	assert_string_equal(c.node, "b");
}

static void refused(void **state)
{
	static const struct {
		const char *fault;
		int err;
		const char *why;
	} rows[] = {
		{"401", -EACCES, "is refused (401)"},
		{"403", -EPERM,
		 "refused (403): its service account needs a Role in namespace ml with configmaps: get, create, patch"},
		{"409", -EIO, "reply 409"},
		{"410", -EIO, "reply 410"},
		{"429/7", -EBUSY, "reply 429"},
		{"500", -EIO, "reply 500"},
		{"503", -EBUSY, "reply 503"},
		{"half", -EHOSTUNREACH, "configmaps of https://"},
		{"html", -EIO, "the reply is not a ConfigMap"},
		{"other", -EIO, "the reply is not a ConfigMap"},
		{"big", -EFBIG, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		deed("{'fault':{'map':'%s'}}", rows[i].fault);
		assert_int_equal(reads(), rows[i].err);
		assert_non_null(strstr(carry_map_why(m), rows[i].why));
		assert_int_equal(writes("a", 1, 0), rows[i].err);
		assert_non_null(strstr(carry_map_why(m), rows[i].why));
		if (strchr(rows[i].fault, '/'))
			assert_in_range(carry_map_pause_ns(m, &(struct backoff){0}), 7000000000,
					9000000000);
		else
			assert_in_range(carry_map_pause_ns(m, &(struct backoff){99}), 100000000,
					60000000000);
	}
	deed("{'fault':{}}");
	assert_int_equal(reads(), -ENOENT);
	deed("{'verbs':['get']}");
	assert_int_equal(writes("a", 1, 0), -EPERM);
	assert_non_null(strstr(carry_map_why(m), "cannot create"));
	deed("{'verbs':['get','create','patch'],'spaces':['default']}");
	assert_int_equal(writes("a", 1, 0), -ENOTDIR);
	deed("{'spaces':['ml']}");
	assert_int_equal(writes("a", 1, 0), 0);
	deed("{'rotate':true}");
	assert_int_equal(writes("a", 2, 0), 0);
	deed("{'fault':{'map':'503*1'}}");
	assert_int_equal(writes("a", 3, 0), -EBUSY);
	assert_int_equal(writes("a", 3, 0), 0);
	/* Too long for what it may be. */
	put_map(OURS, "", "0123456789012345678901234567890123456789");
	assert_int_equal(reads(), 40);
	put_map(OURS, "", logged[0] ? "" : "");
	assert_int_equal(reads(), 0);
	assert_string_equal(logged, "");
}

static void too_long(void **state)
{
	static char text[3000];
	struct carry c;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	put_map(OURS, "", text);
	assert_int_equal(reads(), -EBADMSG);
	assert_int_equal(writes("a", 1, 0), 0); /* what is none gives way */
	assert_int_equal(there(&c), 1);
}

static void slow(void **state)
{
	uint64_t from_ns = clock_mono_ns();
	const void *text;

	(void)state;
	carry_map_free(m);
	to.question_s = 0.3;
	assert_int_equal(carry_map_new(&m, &to), 0);
	deed("{'fault':{'map':'hang'}}");
	assert_int_equal(carry_map_read(m, &llama), 0);
	assert_int_equal(carry_map_answer(m, 0, &text), -EAGAIN);
	assert_int_equal(answer(&text), -EHOSTUNREACH);
	assert_true(clock_mono_ns() - from_ns < 30000000000ull);
	carry_map_free(m);
	to.question_s = WAIT_S;
	assert_int_equal(carry_map_new(&m, &to), 0);
	assert_int_equal(carry_map_read(m, &llama), 0);
	assert_int_equal(carry_map_answer(m, 50, &text), -EAGAIN);
	carry_map_drop(m);
	assert_int_equal(carry_map_answer(m, 0, &text), -EAGAIN);
	assert_int_equal(carry_map_read(m, &llama), -EBUSY);
	from_ns = clock_mono_ns();
	carry_map_free(m); /* does not wait for it */
	m = NULL;
	assert_true(clock_mono_ns() - from_ns < 20000000000ull);
}

static void nowhere(void **state)
{
	(void)state;
	carry_map_free(m);
	to.server = NULL;
	assert_int_equal(carry_map_new(&m, &to), 0);
	assert_null(m);
	assert_string_equal(logged, "");
	to.namespace = "Not/One";
	assert_int_equal(carry_map_new(&m, &to), -EINVAL);
	to.server = server;
	assert_int_equal(carry_map_new(&m, &to), -EINVAL);
	assert_true(is_logged("'Not/One': expected the name of a Kubernetes namespace"));
	to.namespace = NULL;
	setenv("POD_NAMESPACE", "gp-bpf", 1);
	assert_int_equal(carry_map_new(&m, &to), 0);
	assert_string_equal(carry_map_namespace(m), "gp-bpf");
	carry_map_free(m);
	unsetenv("POD_NAMESPACE");
	assert_int_equal(carry_map_new(&m, &to), 0);
	assert_string_equal(carry_map_namespace(m), "");
	assert_int_equal(writes("a", 1, 0), 0); /* the job's */
	llama.namespace[0] = '\0';
	assert_int_equal(carry_map_read(m, &llama), -ENXIO);
	carry_map_free(m);
	to.server = "http://10.0.0.1";
	assert_int_equal(carry_map_new(&m, &to), -EDESTADDRREQ);
	to.server = "https://127.0.0.1:1";
	to.namespace = "ml";
	assert_int_equal(carry_map_new(&m, &to), 0);
	assert_int_equal(reads(), -EHOSTUNREACH);
	carry_map_free(m);
	to.server = server;
	to.token_file = "/nonexistent/token";
	assert_int_equal(carry_map_new(&m, &to), 0);
	assert_int_equal(reads(), -EACCES);
	assert_non_null(strstr(carry_map_why(m), "/nonexistent/token"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names, arrange, clear),
		cmocka_unit_test_setup_teardown(there_and_back, arrange, clear),
		cmocka_unit_test_setup_teardown(owner, arrange, clear),
		cmocka_unit_test_setup_teardown(gives_way, arrange, clear),
		cmocka_unit_test_setup_teardown(conflict, arrange, clear),
		cmocka_unit_test_setup_teardown(refused, arrange, clear),
		cmocka_unit_test_setup_teardown(too_long, arrange, clear),
		cmocka_unit_test_setup_teardown(slow, arrange, clear),
		cmocka_unit_test_setup_teardown(nowhere, arrange, clear),
	};

	return cmocka_run_group_tests_name("carry_map", tests, start, stop);
}
