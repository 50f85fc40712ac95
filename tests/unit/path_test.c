/* SPDX-License-Identifier: Apache-2.0 */
/* Opening what was named by path: links that another user made, links of our own, FIFOs, files in
 * /tmp. The cases with another user need root. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/base/path.h"

#define OTHER 65534

static char dir[64];

static const char *at(const char *name)
{
	static char path[4][128];
	static int turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static void put(const char *name, const char *text)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void folder(const char *name, mode_t mode, uid_t owner)
{
	assert_int_equal(mkdir(at(name), 0755), 0);
	assert_int_equal(chmod(at(name), mode), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(at(name), owner, owner), 0);
}

static void link_of(const char *target, const char *name, uid_t owner)
{
	assert_int_equal(symlink(target, at(name)), 0);
	if (geteuid() == 0)
		assert_int_equal(lchown(at(name), owner, owner), 0);
}

static void needs_root(void)
{
	if (geteuid() != 0)
		skip();
}

static int write_to(const char *name)
{
	return path_open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0644);
}

static void is_victim(const char *name)
{
	struct stat st;

	assert_int_equal(stat(at(name), &st), 0);
	assert_int_equal(st.st_size, 8);
}

static int begin(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/gp-bpf-path-XXXXXX");
	if (!mkdtemp(dir) || chmod(dir, 0755))
		return -1;
	put("victim", "precious");
	return 0;
}

static int end(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

static void opens(int fd)
{
	assert_true(fd >= 0);
	close(fd);
}

static void ordinary_files_and_own_links(void **state)
{
	struct stat st;

	(void)state;
	opens(write_to("new"));
	folder("real", 0755, 0);
	link_of("real", "short", geteuid());
	link_of(at("real"), "long", geteuid());
	link_of("../short/../new", "real/up", geteuid());
	opens(write_to("short/x"));
	opens(write_to("long//y"));
	opens(write_to("short/up"));
	assert_int_equal(stat(at("real/x"), &st), 0);
	assert_int_equal(stat(at("real/y"), &st), 0);
	link_of("nowhere-yet", "dangling", geteuid());
	opens(write_to("dangling"));
	assert_int_equal(stat(at("nowhere-yet"), &st), 0);
	link_of("loop", "loop", geteuid());
	assert_int_equal(write_to("loop"), -ELOOP);
	assert_int_equal(write_to("none/x"), -ENOENT);
	assert_int_equal(write_to("new/x"), -ENOTDIR);
	assert_int_equal(write_to("real"), -EISDIR);
	assert_int_equal(path_open("", O_WRONLY, 0), -ENOENT);
	assert_int_equal(path_open(at("short"), O_RDWR | O_NOFOLLOW, 0), -ELOOP);
}

static void truncates_and_appends(void **state)
{
	struct stat st;
	int fd;

	(void)state;
	fd = path_open(at("victim"), O_WRONLY | O_APPEND | O_CREAT, 0644);
	assert_int_equal(write(fd, "!", 1), 1);
	close(fd);
	assert_int_equal(stat(at("victim"), &st), 0);
	assert_int_equal(st.st_size, 9);
	opens(write_to("victim"));
	assert_int_equal(stat(at("victim"), &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(path_open(at("victim"), O_WRONLY | O_CREAT | O_EXCL, 0644), -EEXIST);
}

/* Names that only this process can resolve. */
static void own_descriptors(void **state)
{
	char name[64];
	int pair[2], fd;

	(void)state;
	assert_int_equal(pipe(pair), 0);
	snprintf(name, sizeof(name), "/dev/fd/%d", pair[1]);
	fd = path_open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	opens(path_open("/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0644));
	close(pair[0]);
	close(pair[1]);
}

static void links_of_another_user(void **state)
{
	(void)state;
	needs_root();
	folder("theirs", 0755, OTHER);
	folder("target", 0755, 0);
	link_of(at("victim"), "theirs/x", OTHER);
	link_of(at("target"), "theirs/d", OTHER);
	link_of("../victim", "theirs/relative", OTHER);
	link_of("theirs/x", "ours", 0);
	assert_int_equal(write_to("theirs/x"), -ELOOP);
	assert_int_equal(write_to("theirs/relative"), -ELOOP);
	assert_int_equal(write_to("theirs/d/x"), -ELOOP);
	assert_int_equal(write_to("ours"), -ELOOP);
	assert_int_equal(path_folder(at("theirs/d"), 0, NULL), -ELOOP);
	assert_int_equal(path_folder(at("theirs/d/new"), 0755, NULL), -ELOOP);
	assert_int_equal(path_make(at("theirs/d"), 0755), -ELOOP);
	assert_int_equal(path_make(at("theirs/d/new"), 0755), -ELOOP);
	assert_int_equal(access(at("target/new"), F_OK), -1);
	opens(write_to("theirs/file"));
	opens(path_open(at("theirs/x"), O_RDONLY, 0));
	is_victim("victim");
}

static void hard_links(void **state)
{
	(void)state;
	needs_root();
	folder("theirs", 0755, OTHER);
	assert_int_equal(link(at("victim"), at("theirs/x")), 0);
	assert_int_equal(write_to("theirs/x"), -EMLINK);
	is_victim("victim");
	opens(write_to("victim")); /* in a folder of our own */
}

static void sticky_folder(void **state)
{
	(void)state;
	needs_root();
	folder("tmp", 01777, 0);
	put("tmp/mine", "x");
	put("tmp/planted", "x");
	assert_int_equal(chown(at("tmp/planted"), OTHER, OTHER), 0);
	opens(path_open(at("tmp/mine"), O_WRONLY, 0));
	assert_int_equal(path_open(at("tmp/planted"), O_WRONLY, 0), -ENOTUNIQ);
}

static void fifo_without_reader(void **state)
{
	int reader;

	(void)state;
	assert_int_equal(mkfifo(at("fifo"), 0600), 0);
	assert_int_equal(write_to("fifo"), -ENXIO);
	assert_int_equal(path_open_fifo(at("fifo"), O_WRONLY, 0, 50), -ENXIO);
	reader = path_open(at("fifo"), O_RDONLY, 0);
	assert_true(reader >= 0);
	opens(write_to("fifo"));
	close(reader);
}

static void folders(void **state)
{
	const char *name;
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(path_folder(at("a/b"), 0, NULL), -ENOENT);
	opens(path_folder(at("a/b//c/"), 0750, NULL));
	assert_int_equal(stat(at("a/b/c"), &st), 0);
	opens(path_folder(at("a/b"), 0, NULL));
	assert_int_equal(path_folder(at("victim"), 0, NULL), -ENOTDIR);
	assert_int_equal(path_make(at("a/b"), 0755), 0);
	assert_int_equal(path_make(at("a/d/"), 0755), 0);
	assert_int_equal(path_make(at("none/d"), 0755), -ENOENT);
	assert_int_equal(path_make(at("victim"), 0755), -ENOTDIR);
	fd = path_parent(at("a/b/file"), &name);
	assert_string_equal(name, "file");
	assert_int_equal(mkdirat(fd, "new", 0755), 0);
	assert_int_equal(stat(at("a/b/new"), &st), 0);
	close(fd);
	fd = path_parent("plain", &name);
	assert_string_equal(name, "plain");
	opens(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ordinary_files_and_own_links, begin, end),
		cmocka_unit_test_setup_teardown(truncates_and_appends, begin, end),
		cmocka_unit_test_setup_teardown(own_descriptors, begin, end),
		cmocka_unit_test_setup_teardown(links_of_another_user, begin, end),
		cmocka_unit_test_setup_teardown(hard_links, begin, end),
		cmocka_unit_test_setup_teardown(sticky_folder, begin, end),
		cmocka_unit_test_setup_teardown(fifo_without_reader, begin, end),
		cmocka_unit_test_setup_teardown(folders, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
