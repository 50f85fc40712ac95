/* SPDX-License-Identifier: Apache-2.0 */
/* blocked_call_syscall.c - the system calls in which a thread can be blocked for a long time, with
 * their kinds. */
#include <stddef.h>
#include <sys/syscall.h>

#include "userspace/identity/blocked_call.h"

/* System calls by number. arm64 has only the newest call of each family. */
static const struct {
	long number;
	const char *name;
	enum syscall_kind kind;
} calls[] = {
#define CALL(name, kind)                                                                           \
	{                                                                                          \
		__NR_##name, #name, SYSCALL_##kind                                                 \
	}
	CALL(read, READ),
	CALL(readv, READ),
	CALL(pread64, READ),
	CALL(preadv, READ),
	CALL(preadv2, READ),
	CALL(getdents64, READ),
	CALL(splice, READ),
	CALL(write, WRITE),
	CALL(writev, WRITE),
	CALL(pwrite64, WRITE),
	CALL(pwritev, WRITE),
	CALL(pwritev2, WRITE),
	CALL(fsync, WRITE),
	CALL(fdatasync, WRITE),
	CALL(ftruncate, WRITE),
	CALL(fallocate, WRITE),
	CALL(close, WRITE),
	CALL(recvfrom, SOCKET),
	CALL(recvmsg, SOCKET),
	CALL(recvmmsg, SOCKET),
	CALL(sendto, SOCKET),
	CALL(sendmsg, SOCKET),
	CALL(sendmmsg, SOCKET),
	CALL(connect, SOCKET),
	CALL(ioctl, IOCTL),
	CALL(flock, FLOCK),
	CALL(fcntl, FLOCK),
	CALL(openat, OPEN),
	CALL(openat2, OPEN),
	CALL(newfstatat, FILE),
	CALL(statx, FILE),
	CALL(faccessat, FILE),
	CALL(faccessat2, FILE),
	CALL(renameat2, FILE),
	CALL(unlinkat, FILE),
	CALL(mkdirat, FILE),
	CALL(execve, FILE),
	CALL(sync, FILE),
	CALL(futex, FUTEX),
#ifdef __NR_futex_waitv
	CALL(futex_waitv, FUTEX),
#endif
	CALL(ppoll, POLL),
	CALL(epoll_pwait, EVENTS),
#ifdef __NR_epoll_pwait2
	CALL(epoll_pwait2, EVENTS),
#endif
	CALL(pselect6, EVENTS),
	/* The job waits for clients: it may serve requests after training. */
	CALL(accept, EVENTS),
	CALL(accept4, EVENTS),
	CALL(rt_sigsuspend, EVENTS),
	CALL(rt_sigtimedwait, EVENTS),
	CALL(io_uring_enter, EVENTS),
	CALL(wait4, CHILD),
	CALL(waitid, CHILD),
	CALL(nanosleep, SLEEP),
	CALL(clock_nanosleep, SLEEP),
	CALL(restart_syscall, RESTART),
#ifdef __x86_64__
	CALL(open, OPEN),
	CALL(stat, FILE),
	CALL(lstat, FILE),
	CALL(access, FILE),
	CALL(rename, FILE),
	CALL(unlink, FILE),
	CALL(mkdir, FILE),
	CALL(poll, POLL),
	CALL(epoll_wait, EVENTS),
	CALL(select, EVENTS),
	CALL(pause, EVENTS),
#endif
#undef CALL
};

enum syscall_kind syscall_kind(long number, const char **ret_name)
{
	*ret_name = NULL;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i].number != number)
			continue;
		*ret_name = calls[i].name;
		return calls[i].kind;
	}
	return SYSCALL_OTHER;
}
