/* SPDX-License-Identifier: Apache-2.0 */
/* Points on disk: what was put there comes back in order, whatever moment its writer was killed at,
 * and whatever became of its files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/export/gcm/disk_queue_file.h"

#define NS_PER_S 1000000000ll

static char dir[64], folder[80];

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/gcm_disk_queue_test_XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(folder, sizeof(folder), "%s/queue", dir);
	return 0;
}

static int teardown(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static struct disk_queue *opened(uint64_t bytes)
{
	struct disk_queue *s = NULL;

	assert_int_equal(disk_queue_open(&s, folder, bytes), 0);
	return s;
}

/* A record of two points, whose text is pad bytes long, at least. */
static int add(struct disk_queue *s, int64_t number, size_t pad)
{
	static const uint32_t items[] = {0, 1};
	struct batch_point point = {.end_ns = (number + 1) * NS_PER_S, .cumulative = true};
	struct batch p = {0};
	struct buffer text = {0};
	int err;

	for (int i = 0; i < 2; i++) {
		buffer_clear(&text);
		buffer_printf(&text, "{\"n\":%lld,\"i\":%d,\"x\":\"", (long long)number, i);
		for (size_t k = 0; k < pad; k++) /* what does not pack */
			buffer_printf(&text, "%c", 'a' + rand() % 26);
		buffer_printf(&text, "\"}");
		point.key = (uint64_t)number * 2 + (uint64_t)i;
		assert_int_equal(batch_add(&p, &point, text.data, text.len), 0);
	}
	err = disk_queue_add(s, &p, items, 2);
	buffer_free(&text);
	batch_free(&p);
	return err;
}

/* Number of the oldest record, -1: there is none. Takes it. */
static int64_t take(struct disk_queue *s)
{
	struct batch p = {0};
	long long number = -1;
	int err = disk_queue_peek(s, 0, &p);

	assert_true(!err || err == -ENOENT);
	if (!err) {
		assert_int_equal(p.count, 2);
		assert_int_equal(sscanf(p.text.data, "{\"n\":%lld", &number), 1);
		assert_int_equal(p.item[1].key, number * 2 + 1);
		assert_int_equal(p.item[1].end_ns, (number + 1) * NS_PER_S);
		assert_true(p.item[0].cumulative);
		disk_queue_pop(s);
	}
	batch_free(&p);
	return number;
}

static unsigned files(char ret_path[160])
{
	DIR *d = opendir(folder);
	unsigned n = 0;
	struct dirent *e;

	while ((e = readdir(d))) {
		if (!strstr(e->d_name, ".points"))
			continue;
		n++;
		if (ret_path)
			snprintf(ret_path, 160, "%s/%.60s", folder, e->d_name);
	}
	closedir(d);
	return n;
}

static struct disk_queue_lost lost(const struct disk_queue *s)
{
	struct disk_queue_lost l;

	disk_queue_lost(s, &l);
	return l;
}

static void what_goes_in_comes_out_in_order(void **state)
{
	struct disk_queue *s = opened(0);
	struct stat st;

	(void)state;
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(take(s), -1);
	for (int64_t i = 0; i < 50; i++)
		assert_int_equal(add(s, i, 10), 0);
	assert_int_equal(disk_queue_points(s), 100);
	for (int64_t i = 0; i < 20; i++)
		assert_int_equal(take(s), i);
	assert_int_equal(add(s, 50, 10), 0);
	for (int64_t i = 20; i <= 50; i++)
		assert_int_equal(take(s), i);
	assert_int_equal(take(s), -1);
	assert_int_equal(disk_queue_points(s), 0);
	assert_int_equal(disk_queue_bytes(s), 0);
	assert_int_equal(files(NULL), 0);
	disk_queue_close(s);
}

static void another_process_goes_on_where_one_stopped(void **state)
{
	struct disk_queue *s = opened(0);

	(void)state;
	for (int64_t i = 0; i < 10; i++)
		add(s, i, 10);
	assert_int_equal(take(s), 0);
	assert_int_equal(take(s), 1);
	disk_queue_close(s);
	s = opened(0);
	assert_int_equal(disk_queue_points(s), 16);
	add(s, 10, 10);
	for (int64_t i = 2; i <= 10; i++)
		assert_int_equal(take(s), i);
	disk_queue_close(s);
	s = opened(0);
	assert_int_equal(take(s), -1);
	assert_int_equal(lost(s).damaged, 0);
	disk_queue_close(s);
}

static void what_was_only_looked_at_stays(void **state)
{
	struct disk_queue *s = opened(0);
	struct batch p = {0};

	(void)state;
	add(s, 0, 10);
	assert_int_equal(disk_queue_peek(s, 0, &p), 0);
	batch_free(&p);
	disk_queue_close(s);
	s = opened(0);
	assert_int_equal(take(s), 0);
	disk_queue_close(s);
}

static void the_oldest_give_way(void **state)
{
	struct disk_queue *s = opened(DISK_QUEUE_LEAST);
	int64_t n, last = -1;
	uint64_t left = 0;

	(void)state;
	for (int64_t i = 0; i < 2000; i++) {
		assert_int_equal(add(s, i, 500), 0);
		assert_true(disk_queue_bytes(s) <= DISK_QUEUE_LEAST);
	}
	while ((n = take(s)) >= 0) {
		assert_true(last < 0 || n == last + 1);
		last = n;
		left += 2;
	}
	assert_int_equal(last, 1999);
	assert_in_range(left, 200, 1000);
	assert_int_equal(lost(s).room + left, 4000);
	disk_queue_close(s);
}

/* The record that is being sent is in a file that gives way: neither lost, nor taken twice. */
static void what_is_being_sent_may_give_way(void **state)
{
	struct disk_queue *s = opened(DISK_QUEUE_LEAST);
	struct batch p = {0};
	uint64_t points = 0;

	(void)state;
	add(s, 0, 500);
	assert_int_equal(disk_queue_peek(s, 0, &p), 0);
	batch_free(&p);
	for (int64_t i = 1; i < 1000; i++)
		add(s, i, 500);
	disk_queue_pop(s);
	while (take(s) >= 0)
		points += 2;
	assert_int_equal(lost(s).room + points + 2, 2000);
	disk_queue_close(s);
}

static void the_old_is_dropped(void **state)
{
	struct disk_queue *s = opened(0);
	struct batch p = {0};

	(void)state;
	for (int64_t i = 0; i < 10; i++)
		add(s, i, 10);
	assert_int_equal(disk_queue_peek(s, 8 * NS_PER_S, &p), 0);
	assert_int_equal(p.item[0].end_ns, 8 * NS_PER_S);
	batch_free(&p);
	assert_int_equal(lost(s).aged, 14);
	assert_int_equal(disk_queue_peek(s, 100 * NS_PER_S, &p), -ENOENT);
	assert_int_equal(lost(s).aged, 20);
	disk_queue_close(s);
}

static void a_torn_tail_is_skipped(void **state)
{
	struct disk_queue *s = opened(0);
	char path[160];
	struct stat st;

	(void)state;
	for (int64_t i = 0; i < 3; i++)
		add(s, i, 100);
	disk_queue_close(s);
	assert_int_equal(files(path), 1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size - 7), 0);
	s = opened(0);
	assert_int_equal(lost(s).damaged, 1);
	add(s, 3, 10);
	assert_int_equal(take(s), 0);
	assert_int_equal(take(s), 1);
	assert_int_equal(take(s), 3);
	disk_queue_close(s);
}

/* Each byte of a file once, to something else: what comes out is something that went in. */
static void damage_is_never_believed(void **state)
{
	char path[160], byte;
	struct disk_queue *s = opened(0);
	struct stat st;
	int64_t n, last;
	int fd;

	(void)state;
	for (int64_t i = 0; i < 3; i++)
		add(s, i, 20);
	disk_queue_close(s);
	assert_int_equal(files(path), 1);
	assert_int_equal(stat(path, &st), 0);
	for (off_t at = 0; at < st.st_size; at++) {
		char copy[1024], command[512];

		assert_true(st.st_size < (off_t)sizeof(copy));
		fd = open(path, O_RDWR | O_CREAT, 0600);
		if (!at)
			assert_int_equal(pread(fd, copy, sizeof(copy), 0), st.st_size);
		snprintf(command, sizeof(command), "cp %s %s/kept", path, dir);
		if (!at)
			assert_int_equal(system(command), 0);
		close(fd);
		snprintf(command, sizeof(command), "rm -f %s/*; cp %s/kept %s", folder, dir, path);
		assert_int_equal(system(command), 0);
		fd = open(path, O_RDWR);
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x41;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
		s = opened(0);
		for (last = -1; (n = take(s)) >= 0; last = n)
			assert_true(n > last && n < 3);
		assert_true(lost(s).damaged > 0);
		disk_queue_close(s);
	}
}

static void what_is_none_of_ours_is_left_alone(void **state)
{
	struct disk_queue *s = opened(0);
	char path[160];

	(void)state;
	add(s, 0, 10);
	disk_queue_close(s);
	snprintf(path, sizeof(path), "%s/%016x.points", folder, 9);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	snprintf(path, sizeof(path), "%s/%016x.points", folder, 8);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/%016x.points", folder, 7);
	assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0666)), 0);
	assert_int_equal(chmod(path, 0666), 0);
	snprintf(path, sizeof(path), "%s/README", folder);
	assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
	s = opened(0);
	assert_int_equal(lost(s).damaged, 3);
	add(s, 1, 10);
	assert_int_equal(take(s), 0);
	assert_int_equal(take(s), 1);
	assert_int_equal(take(s), -1);
	assert_int_equal(files(NULL), 3);
	assert_int_equal(access(path, F_OK), 0);
	disk_queue_close(s);
}

/* No file may grow further: a full disk takes as little. */
static void a_full_disk_costs_only_what_did_not_fit(void **state)
{
	struct rlimit full = {.rlim_max = RLIM_INFINITY}, was;
	struct disk_queue *s = opened(0);
	int64_t fit = 0;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	full.rlim_cur = 5000;
	full.rlim_max = was.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	while (fit < 1000 && !add(s, fit, 300))
		fit++;
	assert_true(fit > 0 && fit < 1000);
	for (int i = 0; i < 100; i++)
		assert_int_not_equal(add(s, fit, 300), 0);
	assert_int_equal(lost(s).room, 2 * 101);
	assert_int_equal(disk_queue_points(s), 2 * (uint64_t)fit);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(add(s, fit, 300), 0); /* there is room again */
	disk_queue_close(s);
	s = opened(0);
	assert_int_equal(lost(s).damaged, 0);
	for (int64_t i = 0; i <= fit; i++)
		assert_int_equal(take(s), i);
	assert_int_equal(take(s), -1);
	disk_queue_close(s);
}

/* Whoever may write to the folder above could have us write anywhere. */
static void a_link_is_no_folder(void **state)
{
	struct disk_queue *s = opened(0);
	char link[96];

	(void)state;
	disk_queue_close(s);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(symlink(folder, link), 0);
	assert_int_not_equal(disk_queue_open(&s, link, 0), 0);
}

static void one_process_has_a_folder(void **state)
{
	struct disk_queue *s = opened(0), *other = NULL;

	(void)state;
	assert_int_equal(disk_queue_open(&other, folder, 0), -EBUSY);
	disk_queue_close(s);
	s = opened(0);
	disk_queue_close(s);
	assert_int_equal(chmod(folder, 0777), 0);
	assert_int_equal(disk_queue_open(&other, folder, 0), -EACCES);
	assert_int_equal(chmod(folder, 0700), 0);
	snprintf(folder, sizeof(folder), "%s/no/queue", dir);
	assert_int_equal(disk_queue_open(&other, folder, 0), -ENOENT);
}

/* A child writes and takes until it is killed, and says how far it came. */
static void child(int to)
{
	struct disk_queue *s = opened(DISK_QUEUE_LEAST);
	int64_t said[2] = {0, -1};

	for (int64_t i = (int64_t)disk_queue_points(s) ? 1000000 : 0;; i++) {
		add(s, i, 200);
		said[0] = i;
		if (i % 3 == 0)
			said[1] = take(s);
		if (write(to, said, sizeof(said)) != sizeof(said))
			_exit(1);
	}
}

static void a_killed_process_loses_at_most_what_it_wrote_just_then(void **state)
{
	int64_t said[2], got[2] = {0, -1}, n;
	struct disk_queue *s;
	int fd[2];
	pid_t pid;

	(void)state;
	for (int round = 0; round < 20; round++) {
		char command[128];

		snprintf(command, sizeof(command), "rm -rf %s", folder);
		assert_int_equal(system(command), 0);
		assert_int_equal(pipe(fd), 0);
		pid = fork();
		if (!pid)
			child(fd[1]);
		close(fd[1]);
		for (int i = 0; i < 5 + round * 7; i++) {
			assert_int_equal(read(fd[0], said, sizeof(said)), sizeof(said));
			memcpy(got, said, sizeof(got));
		}
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		while (read(fd[0], said, sizeof(said)) == sizeof(said))
			memcpy(got, said, sizeof(got));
		close(fd[0]);
		s = opened(DISK_QUEUE_LEAST);
		n = take(s);
		/* The one that was taken while it was killed may be there, or not. */
		assert_true(n > got[1] && n <= got[1] + 2);
		for (int64_t next; (next = take(s)) >= 0; n = next)
			assert_int_equal(next, n + 1);
		assert_true(n >= got[0]);
		disk_queue_close(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_goes_in_comes_out_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(another_process_goes_on_where_one_stopped, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_was_only_looked_at_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(the_oldest_give_way, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_being_sent_may_give_way, setup, teardown),
		cmocka_unit_test_setup_teardown(the_old_is_dropped, setup, teardown),
		cmocka_unit_test_setup_teardown(a_torn_tail_is_skipped, setup, teardown),
		cmocka_unit_test_setup_teardown(damage_is_never_believed, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_none_of_ours_is_left_alone, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_full_disk_costs_only_what_did_not_fit, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_link_is_no_folder, setup, teardown),
		cmocka_unit_test_setup_teardown(one_process_has_a_folder, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_killed_process_loses_at_most_what_it_wrote_just_then, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
