/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/base/clock.h"
#include "userspace/export/hook/hook.h"
#include "userspace/export/hook/hook_command.h"
#include "userspace/export/hook/hook_file.h"
#include "userspace/export/hook/hook_queue.h"

#define S 1000000000ull

/* ---- the option ------------------------------------------------------------------------------ */

static void test_a_command_is_split_at_blanks_and_quotes_keep_them(void **state)
{
	static const char *const want[] = {"/bin/page", "a b",	 "",	"c'd",
					   "e f",	"$HOME", "x\\", NULL};
	struct hook h = {0};
	int i;

	(void)state;
	assert_int_equal(
		hook_parse(&h, "hang,disruption=/bin/page  \"a b\" '' \"c'd\" e' 'f\t$HOME x\\ "),
		0);
	assert_int_equal(h.events, 1u << HOOK_HANG | 1u << HOOK_DISRUPTION);
	for (i = 0; want[i]; i++)
		assert_string_equal(h.words[i], want[i]);
	assert_null(h.words[i]);
	assert_string_equal(h.label, "/bin/page");
	hook_free(&h);
}

static void test_what_is_wrong_is_refused(void **state)
{
	static const char *const wrong[] = {
		"hang",
		"hang=",
		"=/bin/true",
		"hung=/bin/true",
		"hang,=/bin/true",
		"hang=true",
		"hang=./true",
		"hang=/bin/true \"a",
		"hang=/bin/true 'a",
		"hang=ftp://host/",
		"hang=https:///path",
		"hang=https://user:secret@host/path",
		"hang=https://host/a b",
		"hang=https://host/\x7f",
		"hang=/b 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33",
		"hang=@/nowhere/at/all",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct hook h = {0};

		if (!hook_parse(&h, wrong[i]))
			fail_msg("taken: %s", wrong[i]);
		hook_free(&h);
	}
}

static void test_what_follows_a_host_is_not_shown(void **state)
{
	struct hook h = {0};

	(void)state;
	assert_int_equal(
		hook_parse(&h, "recovered=https://pager.example:8443/hook/SECRET?token=SECRET"), 0);
	assert_string_equal(h.label, "https://pager.example:8443");
	assert_string_equal(h.url, "https://pager.example:8443/hook/SECRET?token=SECRET");
	assert_string_equal(h.headers[0], "Content-Type: application/json");
	assert_null(h.headers[1]);
	hook_free(&h);
}

static void file_write(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static void test_a_file_holds_url_and_headers(void **state)
{
	char folder[] = "/tmp/gp-hook-XXXXXX", path[64], spec[80];
	struct hook h = {0};

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/pager", folder);
	snprintf(spec, sizeof(spec), "hang=@%s", path);
	file_write(
		path,
		"# pager\n\n https://pager.example/SECRET \r\nAuthorization: Bearer X\nX-Team:\t1",
		0600);
	assert_int_equal(hook_parse(&h, spec), 0);
	assert_string_equal(h.url, "https://pager.example/SECRET");
	assert_string_equal(h.label, "https://pager.example");
	assert_string_equal(h.headers[1], "Authorization: Bearer X");
	assert_string_equal(h.headers[2], "X-Team:\t1");
	assert_null(h.headers[3]);
	hook_free(&h);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(hook_parse(&h, spec), -EPERM);
	hook_free(&h);
	file_write(path, "Authorization: Bearer X\n", 0600);
	assert_int_equal(hook_parse(&h, spec), -EINVAL);
	hook_free(&h);
	file_write(path, "https://pager.example/\nno header\n", 0600);
	assert_int_equal(hook_parse(&h, spec), -EINVAL);
	hook_free(&h);
	unlink(path);
	rmdir(folder);
}

static void test_facts_that_are_events(void **state)
{
	struct job_disruption disruption = {0};
	struct fact_health health = {.kind = "hang"};
	struct fact f = {.type = FACT_DISRUPTION, .disruption = &disruption};

	(void)state;
	assert_int_equal(hook_event_of(&f), HOOK_DISRUPTION);
	disruption.over = true;
	assert_int_equal(hook_event_of(&f), HOOK_RECOVERED);
	f = (struct fact){.type = FACT_HEALTH, .health = &health};
	assert_int_equal(hook_event_of(&f), HOOK_HANG);
	health.kind = "recovered";
	assert_int_equal(hook_event_of(&f), HOOK_RECOVERED);
	health.kind = "fail_slow";
	assert_int_equal(hook_event_of(&f), HOOK_FAIL_SLOW);
	health.kind = "straggler";
	assert_int_equal(hook_event_of(&f), HOOK_STRAGGLER);
	health.kind = "device_fault";
	assert_int_equal(hook_event_of(&f), HOOK_EVENTS);
	health.name = "CUDA_ERROR_ILLEGAL_ADDRESS";
	assert_int_equal(hook_event_of(&f), HOOK_DEVICE_ERROR);
	f.type = FACT_STEP;
	assert_int_equal(hook_event_of(&f), HOOK_EVENTS);
}

/* ---- the queue ------------------------------------------------------------------------------- */

static int put_over(struct hook_queue *q, uint64_t at_ns, int event, const char *job,
		    const char *line, bool over)
{
	struct hook_item item = {.event = event, .line = (char *)line, .len = strlen(line)};

	snprintf(item.job, sizeof(item.job), "%s", job);
	return hook_queue_put(q, at_ns, &item, over);
}

static int put(struct hook_queue *q, uint64_t at_ns, int event, const char *job, const char *line)
{
	return put_over(q, at_ns, event, job, line, false);
}

static void taken(struct hook_queue *q, uint64_t at_ns, const char *line, uint64_t suppressed)
{
	struct hook_item item;

	assert_true(hook_queue_take(q, at_ns, false, &item));
	assert_string_equal(item.line, line);
	assert_int_equal(item.suppressed, suppressed);
	free(item.line);
}

static void test_one_a_minute_and_the_last_word_is_told(void **state)
{
	struct hook_queue q = {0};
	struct hook_item item;

	(void)state;
	assert_true(hook_queue_due(&q) == UINT64_MAX);
	put(&q, 100 * S, 1, "a", "first");
	assert_true(hook_queue_due(&q) == 100 * S);
	taken(&q, 100 * S, "first", 0);
	for (int i = 0; i < 5; i++)
		put(&q, (101 + (uint64_t)i) * S, 1, "a", i < 4 ? "others" : "last");
	assert_int_equal(q.waiting, 1);
	assert_false(hook_queue_take(&q, 159 * S, false, &item));
	assert_true(hook_queue_due(&q) == 160 * S);
	taken(&q, 160 * S, "last", 4);
	assert_int_equal(q.superseded, 4);
	/* Another event, another job, the end of it: each for itself. */
	put(&q, 161 * S, 2, "a", "event");
	put(&q, 161 * S, 1, "b", "job");
	put_over(&q, 161 * S, 1, "a", "over", true);
	taken(&q, 161 * S, "event", 0);
	taken(&q, 161 * S, "job", 0);
	taken(&q, 161 * S, "over", 0);
	put(&q, 300 * S, 1, "a", "later");
	taken(&q, 300 * S, "later", 0);
	hook_queue_free(&q);
}

static void test_it_is_bounded(void **state)
{
	struct hook_queue q = {0};
	struct hook_item item;
	char job[16];
	int n = 0;

	(void)state;
	for (int i = 0; i < HOOK_QUEUE; i++) {
		snprintf(job, sizeof(job), "job %d", i);
		assert_int_equal(put(&q, S, 1, job, job), 0);
	}
	assert_int_equal(put(&q, S, 1, "one more", "x"), -ENOSPC);
	assert_int_equal(q.full, 1);
	assert_int_equal(put(&q, S, 1, "job 3", "newer"), 0);
	while (hook_queue_take(&q, S, false, &item)) {
		n++;
		free(item.line);
	}
	assert_int_equal(n, HOOK_QUEUE);
	/* Within the minute each place is still somebody's. */
	assert_int_equal(put(&q, 60 * S, 1, "one more", "x"), -ENOSPC);
	assert_int_equal(put(&q, 61 * S, 1, "one more", "x"), 0);
	put(&q, 62 * S, 1, "job 5", "y");
	/* At the end nobody waits for the minute. */
	assert_true(hook_queue_take(&q, 62 * S, true, &item));
	assert_string_equal(item.line, "x");
	free(item.line);
	hook_queue_free(&q);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void test_a_program_that_others_can_change_is_refused(void **state)
{
	char folder[] = "/tmp/gp-hook-XXXXXX", path[64], link[64], real[PATH_MAX], why[200];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/hook", folder);
	snprintf(link, sizeof(link), "%s/link", folder);
	file_write(path, "#!/bin/sh\n", 0755);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(hook_file_program(path, geteuid(), real, why, sizeof(why)), 0);
	assert_int_equal(hook_file_program(link, geteuid(), real, why, sizeof(why)), 0);
	assert_string_equal(real, path);
	chmod(path, 0757);
	assert_int_equal(hook_file_program(path, geteuid(), real, why, sizeof(why)), -EPERM);
	assert_int_equal(hook_file_program(link, geteuid(), real, why, sizeof(why)), -EPERM);
	chmod(path, 0755);
	chmod(folder, 0777);
	assert_int_equal(hook_file_program(path, geteuid(), real, why, sizeof(why)), -EPERM);
	assert_non_null(strstr(why, folder));
	chmod(folder, 0755);
	chmod(path, 0644);
	assert_int_equal(hook_file_program(path, geteuid(), real, why, sizeof(why)), -EACCES);
	assert_int_equal(hook_file_program(folder, geteuid(), real, why, sizeof(why)), -EACCES);
	unlink(path);
	assert_int_equal(hook_file_program(path, geteuid(), real, why, sizeof(why)), -ENOENT);
	if (!geteuid()) {
		file_write(path, "#!/bin/sh\n", 0755);
		assert_int_equal(chown(path, 4711, 4711), 0);
		assert_int_equal(hook_file_program(path, 65534, real, why, sizeof(why)), -EPERM);
		assert_int_equal(hook_file_program(path, 4711, real, why, sizeof(why)), 0);
		unlink(path);
	}
	unlink(link);
	rmdir(folder);
}

/* ---- commands -------------------------------------------------------------------------------- */

static uint64_t limit_ns = HOOK_LIMIT_NS;
static const char *why_set = "", *at_set = ""; /* of the event */

static enum hook_end shell(const char *script, _Atomic uint64_t *closed_ns, int wake_fd, char *why)
{
	char *words[] = {"sh", "-c", (char *)script, NULL};
	static const char body[] = "{\"type\":\"health\"}\n";
	const struct hook_user user = {.change = false};
	const struct hook_command c = {
		.path = "/bin/sh",
		.words = words,
		.event = "hang",
		.job = "a\njob",
		.why = why_set,
		.at = at_set,
		.body = body,
		.len = sizeof(body) - 1,
		.user = &user,
		.limit_ns = limit_ns,
		.closed_ns = closed_ns,
		.wake_fd = wake_fd,
	};

	return hook_command_run(&c, why);
}

static void test_a_command_gets_little(void **state)
{
	static const unsigned long ignored[8] = {
		1}; /* the kernel's SIG_IGN; of a signal that the C library keeps */
	_Atomic uint64_t open = 0;
	char why[HOOK_WHY_MAX];

	(void)state;
	assert_int_equal(shell("cat", &open, -1, why), HOOK_DONE);
	assert_string_equal(why, "{\"type\":\"health\"}");
	assert_int_equal(
		shell("echo $GP_BPF_EVENT $GP_BPF_JOB $(pwd) $(env | wc -l) $HOME", &open, -1, why),
		HOOK_DONE);
	assert_string_equal(why, "hang a?job / 5"); /* and PWD, which is the shell's own */
	why_set = "input";
	at_set = "fetch (a\nb.py:31)";
	assert_int_equal(shell("echo $(env | wc -l) $GP_BPF_WHY: $GP_BPF_LINE", &open, -1, why),
			 HOOK_DONE);
	assert_string_equal(why, "7 input: fetch (a?b.py:31)");
	at_set = "";
	assert_int_equal(shell("echo $(env | wc -l) $GP_BPF_WHY", &open, -1, why), HOOK_DONE);
	assert_string_equal(why, "6 input");
	why_set = "";
	assert_int_equal(shell("echo $(ls /proc/self/fd)", &open, -1, why), HOOK_DONE);
	assert_string_equal(why, "0 1 2 3"); /* the last is the folder's that is listed */
	syscall(SYS_rt_sigaction, 32, ignored, NULL, _NSIG / 8);
	assert_int_equal(
		shell("grep -h -e ^CapEff -e ^CapBnd -e ^NoNewPrivs -e ^SigBlk -e ^SigIgn /proc/self/status | tr -d '\\n\\t'",
		      &open, -1, why),
		HOOK_DONE);
	assert_non_null(strstr(why, "CapEff:0000000000000000"));
	assert_non_null(strstr(why, "NoNewPrivs:1"));
	assert_non_null(strstr(why, "SigBlk:0000000000000000SigIgn:0000000000000000"));
}

static void test_how_a_command_ends(void **state)
{
	_Atomic uint64_t open = 0;
	char why[HOOK_WHY_MAX];

	(void)state;
	assert_int_equal(shell("echo 'no\033 way'; echo more; exit 3", &open, -1, why),
			 HOOK_FAILED);
	assert_string_equal(why, "exit status 3: no? way");
	assert_int_equal(shell("kill -9 $$", &open, -1, why), HOOK_FAILED);
	assert_string_equal(why, "ended by signal 9");
	assert_int_equal(shell("exec cat /dev/zero", &open, -1, why), HOOK_FAILED);
	assert_non_null(strstr(why, "1 MiB"));
}

/* Runs it with ever more time, until it had enough to begin: a machine may be busy, or an
 * emulator. */
static enum hook_end shell_longer(const char *script, const char *want, char *why)
{
	_Atomic uint64_t open = 0;
	enum hook_end end;

	for (limit_ns = S / 5;; limit_ns *= 4) {
		end = shell(script, &open, -1, why);
		if (strstr(why, want) || limit_ns > 10 * S)
			break;
	}
	return end;
}

static void test_who_takes_too_long_is_told_to_end_and_then_killed(void **state)
{
	char why[HOOK_WHY_MAX], limit[16], want[64];

	(void)state;
	assert_int_equal(
		shell_longer("trap 'echo bye; exit' TERM; echo hi; sleep 1000 & wait", ": hi", why),
		HOOK_TIMEOUT);
	snprintf(want, sizeof(want), "terminated, because it had not ended after %s: hi",
		 clock_duration(limit, sizeof(limit), limit_ns));
	assert_string_equal(why, want);
	assert_int_equal(
		shell_longer("trap '' TERM; echo deaf; sleep 1000; sleep 1000", "deaf", why),
		HOOK_TIMEOUT);
	limit_ns = HOOK_LIMIT_NS;
}

static void test_who_ends_in_time_after_the_end_is_done(void **state)
{
	_Atomic uint64_t closed = clock_mono_ns() + 60 * S;
	int wake = eventfd(1, EFD_CLOEXEC);
	char why[HOOK_WHY_MAX];

	(void)state;
	assert_int_equal(shell("sleep 0.2; echo fine", &closed, wake, why), HOOK_DONE);
	assert_string_equal(why, "fine");
	close(wake);
}

static long number_in(const char *path)
{
	FILE *f = fopen(path, "r");
	long n = 0;

	assert_non_null(f);
	if (fscanf(f, "%ld", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

static void test_who_hangs_at_the_end_is_killed_with_all_it_started(void **state)
{
	char why[HOOK_WHY_MAX], file[] = "/tmp/gp-hook-XXXXXX", script[128];
	int fd = mkstemp(file), wake = eventfd(1, EFD_CLOEXEC);
	long pid = 0;

	(void)state;
	close(fd);
	snprintf(script, sizeof(script),
		 "trap '' TERM; sleep 1000 & echo $! > %s; wait; wait; sleep 1000", file);
	for (uint64_t left_ns = S / 5; !pid && left_ns < 60 * S;
	     left_ns *= 4) { /* as much as it needs to begin */
		_Atomic uint64_t closed = clock_mono_ns() + left_ns;

		assert_int_equal(shell(script, &closed, wake, why), HOOK_CLOSED);
		pid = number_in(file);
	}
	assert_int_not_equal(pid, 0);
	/* Nobody's zombie may still be there. */
	snprintf(script, sizeof(script), "/proc/%ld/fd/0", pid);
	for (int i = 0; i < 1000 && !access(script, F_OK); i++)
		usleep(10000);
	assert_int_not_equal(access(script, F_OK), 0);
	close(wake);
	unlink(file);
}

static void test_who_calls_is_another_user(void **state)
{
	struct hook_user u;

	(void)state;
	if (geteuid()) {
		assert_int_equal(hook_user_find(&u, NULL), 0);
		assert_false(u.change);
		assert_int_not_equal(hook_user_find(&u, "root"), 0);
		return;
	}
	unsetenv("SUDO_UID");
	assert_int_equal(hook_user_find(&u, NULL), 0);
	assert_true(u.change && u.uid == 65534);
	setenv("SUDO_UID", "1", 1); /* daemon */
	assert_int_equal(hook_user_find(&u, NULL), 0);
	assert_true(u.change && u.uid == 1);
	unsetenv("SUDO_UID");
	assert_int_equal(hook_user_find(&u, "no such user"), -EINVAL);
	assert_int_equal(hook_user_find(&u, "root"), 0);
	assert_true(u.change && u.uid == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_command_is_split_at_blanks_and_quotes_keep_them),
		cmocka_unit_test(test_what_is_wrong_is_refused),
		cmocka_unit_test(test_what_follows_a_host_is_not_shown),
		cmocka_unit_test(test_a_file_holds_url_and_headers),
		cmocka_unit_test(test_facts_that_are_events),
		cmocka_unit_test(test_one_a_minute_and_the_last_word_is_told),
		cmocka_unit_test(test_it_is_bounded),
		cmocka_unit_test(test_a_program_that_others_can_change_is_refused),
		cmocka_unit_test(test_a_command_gets_little),
		cmocka_unit_test(test_how_a_command_ends),
		cmocka_unit_test(test_who_takes_too_long_is_told_to_end_and_then_killed),
		cmocka_unit_test(test_who_ends_in_time_after_the_end_is_done),
		cmocka_unit_test(test_who_hangs_at_the_end_is_killed_with_all_it_started),
		cmocka_unit_test(test_who_calls_is_another_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
