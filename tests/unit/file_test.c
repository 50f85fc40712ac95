/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are replaced as a whole. */
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
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/base/file.h"

static char dir[32];
static int folder;

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/gp-bpf-file-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return folder < 0;
}

static int teardown(void **state)
{
	(void)state;
	unlinkat(folder, "name", 0);
	unlinkat(folder, "other", 0);
	close(folder);
	return rmdir(dir); /* fails if anything is left */
}

static void holds(const char *name, const char *want)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	char text[64];
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, text, sizeof(text));
	assert_int_equal(n, strlen(want));
	assert_memory_equal(text, want, strlen(want));
	close(fd);
}

static void a_file_is_replaced(void **state)
{
	struct stat st;
	mode_t mask;

	(void)state;
	assert_int_equal(file_replace(folder, "name", "fresh", 0640, "first", 5, true), 0);
	holds("name", "first");
	assert_int_equal(fstatat(folder, "name", &st, 0), 0);
	mask = umask(0);
	umask(mask);
	assert_int_equal(st.st_mode & 0777, 0640 & ~mask);
	assert_int_equal(file_replace(folder, "name", "fresh", 0600, "2", 1, false), 0);
	holds("name", "2");
}

/* What a killed process left, or another user put there. */
static void a_link_is_not_followed(void **state)
{
	(void)state;
	assert_int_equal(file_replace(folder, "other", "fresh", 0600, "other", 5, false), 0);
	assert_int_equal(symlinkat("other", folder, "fresh"), 0);
	assert_int_equal(file_replace(folder, "name", "fresh", 0600, "mine", 4, false), 0);
	holds("other", "other");
	holds("name", "mine");
}

static void a_full_disk_leaves_the_old_one(void **state)
{
	const struct rlimit full = {3, RLIM_INFINITY};
	struct rlimit had;
	int err;

	(void)state;
	assert_int_equal(file_replace(folder, "name", "fresh", 0600, "old", 3, false), 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &had), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	err = file_replace(folder, "name", "fresh", 0600, "newer", 5, false);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &had), 0);
	assert_int_equal(err, -EFBIG);
	holds("name", "old");
	assert_int_equal(faccessat(folder, "fresh", F_OK, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_is_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(a_link_is_not_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(a_full_disk_leaves_the_old_one, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
