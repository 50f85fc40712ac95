/* SPDX-License-Identifier: Apache-2.0 */
/* carry: what goes with a job from node to node, as text and as a file: round trips, bounds, what
 * is none, who gives way to whom. What a model makes of it is in tests/cases/carry*.case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/model/job/carry.h"
#include "userspace/handover/carry_file.h"

#define NOW 1795262400000000000ll

static void put_text(char *out, size_t cap, char c)
{
	memset(out, c, cap - 1);
	out[cap - 1] = '\0';
}

/* Everything there is, as long as it gets. */
static struct carry largest(void)
{
	struct carry c = {
		.attempt = CARRY_TIMES_MAX,
		.state = JOB_RUNNING,
		.until_ns = NOW,
		.run_ns = NOW - 1,
		.last_step = CARRY_STEPS_MAX,
		.steps = CARRY_STEPS_MAX,
		.lost = CARRY_STEPS_MAX,
		.gross_ns = CARRY_NS_MAX,
		.wasted_ns = CARRY_NS_MAX,
		.disruptions = CARRY_TIMES_MAX,
		.disrupted = true,
		.disrupted_ns = NOW - 2,
		.disruption = {.why = {.cause = CAUSE_communicator_error,
				       .rank = CARRY_TIMES_MAX,
				       .exit_code = 255,
				       .signal = 127},
			       .d = {.step = CARRY_STEPS_MAX,
				     .wasted_ns = CARRY_NS_MAX,
				     .starts = CARRY_TIMES_MAX}},
		.secures = true,
		.excluded = CARRY_STEPS_MAX,
		.secured_step = CARRY_STEPS_MAX,
		.secured_ns = CARRY_NS_MAX,
		.saves = true,
		.saved = {.step = CARRY_STEPS_MAX,
			  .stepped = true,
			  .folder = true,
			  .filed = true,
			  .file = {UINT32_MAX, CARRY_NS_MAX, INT64_MAX}},
	};

	put_text(c.job, sizeof(c.job), 'j');
	put_text(c.uid, sizeof(c.uid), 'u');
	put_text(c.node, sizeof(c.node), 'n');
	put_text(c.saved.path, sizeof(c.saved.path), 'p');
	for (size_t i = 10; i + 1 < sizeof(c.saved.path); i += 10)
		c.saved.path[i] = '/';
	for (int b = 0; b < BUCKET_COUNT; b++) /* all that there can be */
		c.ns[b] = CARRY_NS_MAX / BUCKET_COUNT;

	return c;
}

static struct carry usual(void)
{
	struct carry c = {
		.job = "llama",
		.node = "host-a",
		.attempt = 2,
		.state = JOB_DOWN,
		.until_ns = NOW,
		.run_ns = NOW - 5000000000,
		.ns = {[BUCKET_GOODPUT] = 4000000000, [BUCKET_OTHER] = 1000000000},
		.last_step = 137,
		.steps = 137,
		.excluded = 30,
		.disruptions = 1,
		.disrupted = true,
		.disrupted_ns = NOW,
		.disruption =
			{.why = {.cause = CAUSE_killed, .rank = 0, .exit_code = -1, .signal = 9},
			 .d = {.step = DISRUPTION_NO_STEP}},
		.saves = true,
		.saved = {.step = 100,
			  .stepped = true,
			  .filed = true,
			  .file = {7, 1000, 5},
			  .path = "/out/ckpt.pt"},
	};

	return c;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* What is written again from what was read is the same text. */
static void test_round_trip(void **state)
{
	struct carry c = usual(), back;
	char text[CARRY_MAX + 1], again[CARRY_MAX + 1];
	size_t len = carry_text(text, &c);

	(void)state;
	assert_int_equal(carry_parse(&back, text, len), 0);
	assert_int_equal(carry_text(again, &back), len);
	assert_memory_equal(again, text, len);
	assert_string_equal(back.job, "llama");
	assert_int_equal(back.excluded, 30);
	assert_true(back.ns[BUCKET_GOODPUT] == 4000000000 &&
		    back.disruption.d.step == DISRUPTION_NO_STEP);
	assert_true(back.disruption.why.exit_code == -1 && back.disruption.why.signal == 9 &&
		    !back.unreported);
	assert_string_equal(back.saved.path, "/out/ckpt.pt");
	assert_true(back.saved.file.bytes == 1000 && back.saved.file.mtime_ns == 5);
}

static void read_cause(struct carry *ret, const char *cause)
{
	char text[CARRY_MAX + 1];

	snprintf(text, sizeof(text),
		 "gp-bpf carry 1\njob a\nattempt 1\nuntil 1000\nfalls 1\n"
		 "fall %s 1000 5 0 -1 9 0 0 0 0\nend\n",
		 cause);
	assert_int_equal(carry_parse(ret, text, strlen(text)), 0);
}

/* A newer node may know more causes than this one, and others may write anything. */
static void test_unknown_cause(void **state)
{
	char text[CARRY_MAX + 1];
	struct carry c;

	(void)state;
	read_cause(&c, "preempted");
	assert_int_equal(c.disruption.why.cause, CAUSE_preempted);
	read_cause(&c, "mysterious");
	assert_int_equal(c.disruption.why.cause, CAUSE_unseen);
	assert_int_equal(c.disruption.why.signal, 9);
	carry_text(text, &c);
	assert_non_null(strstr(text, "\nfall unseen 1000 5 0 -1 9 "));
}

static void test_largest(void **state)
{
	struct carry c = largest(), back;
	char text[CARRY_MAX + 1];
	size_t len = carry_text(text, &c);

	(void)state;

	assert_true(len <= CARRY_MAX);
	assert_int_equal(carry_parse(&back, text, len), 0);
	assert_true(carry_elapsed_ns(&back) == carry_elapsed_ns(&c));
	assert_true(back.secured_ns == c.secured_ns && back.saved.filed);
	print_message("the largest: %zu bytes, %zu of them of the path\n", len,
		      strlen(back.saved.path));
	/* Its end is what is left of the path. */
	assert_true(*back.saved.path && strlen(back.saved.path) < strlen(c.saved.path));
	assert_string_equal(back.saved.path,
			    c.saved.path + strlen(c.saved.path) - strlen(back.saved.path));
	for (int b = 0; b < BUCKET_COUNT; b++) /* no job has all of them */
		c.ns[b] = b % 2 ? c.ns[b] : 0;
	len = carry_text(text, &c);
	assert_int_equal(carry_parse(&back, text, len), 0);
	assert_string_equal(back.saved.path, c.saved.path);
}

/* A text that is cut anywhere is none; nor is one of which a byte is another control byte. */
static void test_cut(void **state)
{
	struct carry c = usual(), back;
	char text[CARRY_MAX + 1], other[CARRY_MAX + 1];
	size_t len = carry_text(text, &c);

	(void)state;
	for (size_t n = 0; n < len; n++)
		assert_int_equal(carry_parse(&back, text, n), -EBADMSG);
	for (size_t n = 0; n < len; n++) {
		memcpy(other, text, len);
		other[n] = '\0';
		assert_int_equal(carry_parse(&back, other, len), -EBADMSG);
	}
}

static int parse(const char *lines)
{
	struct carry c;
	char text[2 * CARRY_MAX];

	snprintf(text, sizeof(text), "%s", lines);
	return carry_parse(&c, text, strlen(text));
}

#define HEAD "gp-bpf carry 1\njob a\nattempt 1\nuntil 1000\n"

static void test_none(void **state)
{
	static const char *const none[] = {
		"",
		"\n",
		"gp-bpf carry 1\n",
		"gp-bpf carry 0\nend\n",
		"gp-bpf carry x\nend\n",
		"gp-bpf carry 1\njob a\nuntil 1000\nend\n",
		"gp-bpf carry 1\njob \nattempt 1\nuntil 1000\nend\n",
		HEAD,
		HEAD "attempt 0\nend\n",
		HEAD "attempt -1\nend\n",
		HEAD "attempt 10000000\nend\n",
		HEAD "until 99999999999999999999999\nend\n",
		HEAD "until -5\nend\n",
		HEAD "run 1001\nend\n",
		HEAD "goodput 1001\nend\n", /* longer than time itself */
		HEAD "goodput 18446744073709551616\nend\n",
		HEAD "goodput 600\nother 600\nend\n",
		HEAD "state sleeping\nend\n",
		HEAD "fall killed 1001 1 0 0 9 0 0 0 1\nend\n",
		HEAD "fall killed 1000 1 0 0 9 0 0 0 0\nend\n", /* told, and there was none */
		HEAD "fall killed 1000\nend\n",
		HEAD "file 1 2 3\nend\n",
		HEAD "saved 1 0\nend\n",
		HEAD "end\nmore\n",
		HEAD "end\nend\n",
	};

	(void)state;
	assert_int_equal(parse(HEAD "end\n"), 0);
	assert_int_equal(parse(HEAD "something 7 new\nend\n"), 0);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (parse(none[i]) != -EBADMSG)
			fail_msg("taken: %s", none[i]);
	assert_int_equal(parse("gp-bpf carry 2\nanything\n"), -EPROTO);
}

/* ---- files ----------------------------------------------------------------------------------- */

static char dir[] = "/tmp/carry_test.XXXXXX";
static char path[200];

static int make_dir(void **state)
{
	(void)state;
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	return !mkdtemp(dir);
}

static const char *in_dir(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int drop_dir(void **state)
{
	DIR *d = opendir(dir);

	(void)state;
	for (struct dirent *e; d && (e = readdir(d));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	return rmdir(dir);
}

static uint32_t files(void)
{
	DIR *d = opendir(dir);
	uint32_t n = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	return n;
}

static ssize_t take(const char *job, const char *uid, struct carry *ret)
{
	char name[CARRY_NAME_MAX], text[CARRY_MAX];
	ssize_t len;

	carry_name(name, job, uid, false);
	len = carry_file_read(dir, name, text);
	return len < 0 ? len : carry_parse(ret, text, (size_t)len);
}

static void put_file(const char *name, const char *text, size_t len)
{
	FILE *f = fopen(in_dir(name), "we");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	fclose(f);
}

static void test_file(void **state)
{
	struct carry c = usual(), other = usual(), back, had;

	(void)state;
	snprintf(other.job, sizeof(other.job), "gpt");
	assert_int_equal(take("llama", "", &back), -ENOENT);
	assert_int_equal(carry_file_write(dir, &c, &had), 0);
	assert_int_equal(carry_file_write(dir, &other, &had), 0);
	snprintf(other.uid, sizeof(other.uid), "4711");
	assert_int_equal(carry_file_write(dir, &other, &had), 0);
	assert_int_equal(files(), 3);
	assert_int_equal(take("llama", "", &back), 0);
	assert_int_equal(back.last_step, 137);
	assert_int_equal(take("gpt", "4711", &back), 0);
	assert_string_equal(back.uid, "4711");
	assert_int_equal(take("gpt", "4712", &back), -ENOENT);
}

/* Names that would leave the folder, hide, or fall together. */
static void test_names(void **state)
{
	static const char *const jobs[] = {"../../etc/passwd",
					   ".",
					   "..",
					   "/",
					   "a/b",
					   "a_b",
					   "a b",
					   "\xff\xfe",
					   "-rf",
					   "",
					   "a_very_long_name_of_a_job_that_ends_in_1",
					   "a_very_long_name_of_a_job_that_ends_in_1_or_2",
					   "a_very_long_name_of_a_job_that_ends_in_1_or_3"};
	char name[sizeof(jobs) / sizeof(jobs[0])][CARRY_NAME_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		carry_name(name[i], jobs[i], "", false);
		assert_null(strchr(name[i], '/'));
		assert_true(*name[i] != '.' && strlen(name[i]) > 20);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(name[i], name[j]);
	}
	/* The uid is not the end of the name. */
	carry_name(name[0], "ab", "c", false);
	carry_name(name[1], "a", "bc", false);
	assert_string_not_equal(name[0], name[1]);
}

static void test_hostile_files(void **state)
{
	char name[CARRY_NAME_MAX], big[CARRY_MAX + 1], text[CARRY_MAX];
	struct carry c = usual(), back, had;
	struct stat st;

	(void)state;
	carry_name(name, "llama", "", false);
	put_file("elsewhere", "secret", 6);
	snprintf(big, sizeof(big), "%s/elsewhere", dir);
	assert_int_equal(symlink(big, in_dir(name)), 0);
	assert_int_equal(carry_file_read(dir, name, text), -EBADMSG);
	assert_int_equal(carry_file_write(dir, &c, &had),
			 0); /* takes the link's place, not what it points to */
	assert_int_equal(lstat(in_dir(name), &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(stat(in_dir("elsewhere"), &st), 0);
	assert_int_equal(st.st_size, 6);

	assert_int_equal(unlink(in_dir(name)), 0);
	assert_int_equal(mkfifo(in_dir(name), 0600), 0);
	assert_int_equal(carry_file_read(dir, name, text),
			 -EBADMSG); /* and nobody waits for its writer */
	assert_int_equal(unlink(in_dir(name)), 0);

	memset(big, 'x', sizeof(big));
	put_file(name, big, sizeof(big));
	assert_int_equal(carry_file_read(dir, name, text), -EBADMSG);
	put_file(name, big, 100);
	assert_int_equal(take("llama", "", &back), -EBADMSG);
	assert_int_equal(carry_file_write(dir, &c, &had), 0);
	assert_int_equal(take("llama", "", &back), 0);

	put_file(name, "gp-bpf carry 9\n", 15); /* of a newer one: it stays */
	assert_int_equal(carry_file_write(dir, &c, &had), -EPROTO);
	assert_int_equal(take("llama", "", &back), -EPROTO);

	assert_int_equal(carry_file_read("/nowhere/at/all", name, text), -ENOTDIR);
	assert_int_equal(carry_file_write("/nowhere/at/all", &c, &had), -ENOTDIR);
}

static void test_of_another(void **state)
{
	char name[CARRY_NAME_MAX], text[CARRY_MAX + 1];
	struct carry c = usual(), other = usual(), had;

	(void)state;
	snprintf(other.job, sizeof(other.job), "gpt");
	carry_name(name, c.job, "", false);
	put_file(name, text, carry_text(text, &other));
	assert_int_equal(carry_file_write(dir, &c, &had), -EEXIST);
}

/* Two nodes that take themselves for the job's: the later run stays, of one attempt the one that
 * began later, whoever writes when and however often. */
static void test_two_nodes(void **state)
{
	struct carry a = usual(), b = usual(), back, had;

	(void)state;
	snprintf(b.node, sizeof(b.node), "host-b");
	b.attempt = 3;
	assert_int_equal(carry_file_write(dir, &a, &had), 0);
	assert_int_equal(carry_file_write(dir, &b, &had), 0);
	a.until_ns = NOW + 9;
	assert_int_equal(carry_file_write(dir, &a, &had), -ESTALE);
	assert_int_equal(had.attempt, 3);
	assert_string_equal(had.node, "host-b");
	a.attempt = 3;
	a.run_ns = b.run_ns + 1; /* began later */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(carry_file_write(dir, &a, &had), 0);
		assert_int_equal(carry_file_write(dir, &b, &had), -ESTALE);
	}
	b.run_ns = a.run_ns;
	assert_int_equal(carry_file_write(dir, &b, &had), -ESTALE);
	assert_int_equal(take("llama", "", &back), 0);
	assert_string_equal(back.node, "host-a");
	a.attempt = 2; /* this node has forgotten */
	assert_int_equal(carry_file_write(dir, &a, &had), -ESTALE);
	assert_int_equal(files(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_unknown_cause),
		cmocka_unit_test(test_largest),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_none),
		cmocka_unit_test_setup_teardown(test_file, make_dir, drop_dir),
		cmocka_unit_test(test_names),
		cmocka_unit_test_setup_teardown(test_hostile_files, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_of_another, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_two_nodes, make_dir, drop_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
