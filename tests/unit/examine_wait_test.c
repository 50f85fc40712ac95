/* SPDX-License-Identifier: Apache-2.0 */
/* What a sleep was for, and the name of its target, from a system call and a descriptor's file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <arpa/inet.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "userspace/watch/examine_wait.h"

static void calls(void **state)
{
	uint8_t call[EXAMINE_CALLS];

	(void)state;
	examine_wait_calls(call);
	assert_int_equal(call[SYS_read], EXAMINE_CALL_FD);
	assert_int_equal(call[SYS_recvfrom], EXAMINE_CALL_FD);
	assert_int_equal(call[SYS_ioctl], EXAMINE_CALL_FD);
	assert_int_equal(call[SYS_ppoll], EXAMINE_CALL_POLL);
	assert_int_equal(call[SYS_futex], EXAMINE_CALL_OTHER);
	assert_int_equal(call[SYS_openat], EXAMINE_CALL_OTHER); /* that of a folder */
}

static void kinds(void **state)
{
	static const struct {
		struct examine_wait w;
		const char *link;
		enum gp_wait kind;
	} cases[] = {
		{{.syscall = -1, .fd = -1}, "", GP_WAIT_page},
		{{.syscall = SYS_futex, .fd = -1}, "", GP_WAIT_lock},
		{{.syscall = SYS_clock_nanosleep, .fd = -1}, "", GP_WAIT_sleep},
		{{.syscall = SYS_wait4, .fd = -1}, "", GP_WAIT_child},
		{{.syscall = EXAMINE_STOPPED, .fd = -1}, "", GP_WAIT_stopped},
		{{.syscall = SYS_ppoll, .fd = -1}, "", GP_WAIT_events},
		{{.syscall = SYS_epoll_pwait, .fd = -1}, "", GP_WAIT_events},
		{{.syscall = SYS_openat, .fd = -1}, "", GP_WAIT_file},
		{{.syscall = 511, .fd = -1}, "", GP_WAIT_other},
		{{.syscall = EXAMINE_BEFORE, .fd = -1}, "", GP_WAIT_other},
		{{.syscall = SYS_ioctl, .fd = 3}, "/dev/nvidia0", GP_WAIT_device},
		/* as the kernel knew the file, whatever the descriptor is now */
		{{.syscall = SYS_read, .fd = 3, .known = true, .type = S_IFREG},
		 "pipe:[1]",
		 GP_WAIT_file},
		{{.syscall = SYS_read, .fd = 3, .known = true, .type = S_IFIFO},
		 "/x",
		 GP_WAIT_pipe},
		{{.syscall = SYS_read, .fd = 3, .known = true, .type = S_IFCHR},
		 "",
		 GP_WAIT_device},
		{{.syscall = SYS_read, .fd = 3, .known = true}, "", GP_WAIT_events},
		{{.syscall = SYS_recvfrom, .fd = 3, .known = true, .type = S_IFSOCK},
		 "",
		 GP_WAIT_socket},
		{{.syscall = SYS_ppoll, .fd = 3, .known = true, .type = S_IFSOCK, .inet = true},
		 "",
		 GP_WAIT_network},
		/* the kernel's files cannot be read: by the descriptor's name, never the network */
		{{.syscall = SYS_recvfrom, .fd = 3}, "socket:[7]", GP_WAIT_socket},
		{{.syscall = SYS_recvfrom, .fd = 3}, "", GP_WAIT_socket},
		{{.syscall = SYS_read, .fd = 3}, "pipe:[1]", GP_WAIT_pipe},
		{{.syscall = SYS_read, .fd = 3}, "anon_inode:[eventfd]", GP_WAIT_events},
		{{.syscall = SYS_read, .fd = 3}, "/dev/shm/x", GP_WAIT_file},
		{{.syscall = SYS_read, .fd = 3}, "/dev/nvidia0", GP_WAIT_device},
		{{.syscall = SYS_read, .fd = 3}, "", GP_WAIT_other},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (examine_wait_kind(&cases[i].w, cases[i].link) != cases[i].kind)
			fail_msg("case %zu: %d", i,
				 (int)examine_wait_kind(&cases[i].w, cases[i].link));
	}
}

static void names(void **state)
{
	struct examine_wait file = {.fd = 3, .known = true, .type = S_IFREG, .name = "shard-7"};
	struct examine_wait peer = {.fd = 3, .inet = true, .port = 443};
	char name[24];

	(void)state;
	examine_wait_name(name, sizeof(name), &file, GP_WAIT_file, "/data/shard-7");
	assert_string_equal(name, "/data/shard-7");
	examine_wait_name(name, sizeof(name), &file, GP_WAIT_file, "/data/shard-70");
	assert_string_equal(name, "shard-7"); /* the descriptor is another file by now */
	examine_wait_name(name, sizeof(name), &file, GP_WAIT_file, "");
	assert_string_equal(name, "shard-7");
	examine_wait_name(name, sizeof(name), &file, GP_WAIT_file,
			  "/a/long/path/to/the/data/shard-7");
	assert_string_equal(name, ".../to/the/data/shard-7");
	memset(file.name, 'x', sizeof(file.name)); /* without an end */
	examine_wait_name(name, sizeof(name), &file, GP_WAIT_file, "");
	assert_int_equal(strlen(name), sizeof(name) - 1);
	examine_wait_name(name, sizeof(name), &file, GP_WAIT_pipe, "pipe:[12]");
	assert_string_equal(name, "pipe:[12]");
	examine_wait_name(name, sizeof(name), &peer, GP_WAIT_network, "socket:[5]");
	assert_string_equal(name, "port 443");
	peer.address = htonl(0x0a000001);
	examine_wait_name(name, sizeof(name), &peer, GP_WAIT_network, "socket:[5]");
	assert_string_equal(name, "10.0.0.1:443");
	file.fd = -1;
	examine_wait_name(name, sizeof(name), &file, GP_WAIT_other, "");
	assert_string_equal(name, "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls),
		cmocka_unit_test(kinds),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
