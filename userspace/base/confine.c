/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/confine.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* No capability has this number or a higher one. The kernel refuses the first number that does not
 * exist, which ends the loop below. */
#define CAPS 64

/* ---- capabilities ---------------------------------------------------------------------------- */

int confine_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct own[_LINUX_CAPABILITY_U32S_3];

	/* Without CAP_SETPCAP the bounding set cannot be reduced. That is harmless after
	 * confine_privileges(). */
	for (unsigned long cap = 0; cap < CAPS; cap++)
		if (!(keep >> cap & 1) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			break;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capget, &head, own))
		return -errno;
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		own[i].permitted &= (uint32_t)(keep >> (32 * i));
		own[i].effective =
			/* must be set again, because a change of the user ID cleared it */
			own[i].permitted;
		own[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, own) ? -errno : 0;
}

bool confine_has(uint64_t caps)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct own[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, own))
		return false;
	return !(caps & ~(own[0].effective | (uint64_t)own[1].effective << 32));
}

int confine_privileges(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

/* ---- system calls ---------------------------------------------------------------------------- */

/* System calls that are denied. All others are allowed, because C libraries and the commands of
 * hooks, which inherit the filter, use calls that cannot be foreseen, and must not break with an
 * update. Calls are given by name; a name that libseccomp or the machine does not know is
 * skipped. */
static const char *const machine[] = {
/* other processes */
#if !defined(__SANITIZE_ADDRESS__) /* LeakSanitizer needs ptrace() for its own process */
	"ptrace",
#endif
	"process_vm_writev",
	"process_madvise",
	"process_mrelease",
	"pidfd_getfd",
	"kcmp",
	"migrate_pages",
	"move_pages",
	/* the kernel */
	"kexec_load",
	"kexec_file_load",
	"init_module",
	"finit_module",
	"delete_module",
	"create_module",
	"reboot",
	"syslog",
	"lookup_dcookie",
	"userfaultfd",
	"io_uring_setup",
	"io_uring_enter",
	"io_uring_register",
	"vm86",
	"vm86old",
	"modify_ldt",
	"iopl",
	"ioperm",
	"personality",
	/* mounts and mount namespaces */
	"mount",
	"mount_setattr",
	"move_mount",
	"open_tree",
	"fsopen",
	"fsconfig",
	"fsmount",
	"fspick",
	"umount",
	"umount2",
	"pivot_root",
	"chroot",
	"unshare",
	/* the machine */
	"settimeofday",
	"stime",
	"clock_settime",
	"clock_settime64",
	"clock_adjtime",
	"clock_adjtime64",
	"adjtimex",
	"sethostname",
	"setdomainname",
	"swapon",
	"swapoff",
	"acct",
	"quotactl",
	"quotactl_fd",
	"vhangup",
	"nfsservctl",
	"_sysctl",
	"uselib",
	"ustat",
	/* keys, and opening files without passing through their folders */
	"add_key",
	"request_key",
	"keyctl",
	"open_by_handle_at",
	"fanotify_init",
	NULL,
};

static const char *const reader[] = {
	"execve",
	"execveat",
	"socket",
	"socketpair",
	"connect",
	"bind",
	"listen",
	"accept",
	"accept4",
	"fork",
	"vfork",
	"tkill",
	"tgkill",
	"clone",
	"clone3",
	"rt_sigqueueinfo",
	"rt_tgsigqueueinfo",
	"pidfd_send_signal",
	NULL,
};

static int confine_deny(scmp_filter_ctx f, const char *const *names)
{
	int err = 0, call;

	for (; !err && *names; names++) {
		call = seccomp_syscall_resolve_name(*names);
		if (call == __NR_SCMP_ERROR)
			continue;
		err = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), call, 0);
		if (err == -EEXIST ||
		    /* -EEXIST: denied already; -EDOM: this machine has no such call */
		    err == -EDOM)
			err = 0;
	}
	return err;
}

/* Denies new namespaces: in a new user namespace a process has every capability. setns() is
 * allowed, because the reader process must join the user namespace of a job, as its owner, to read
 * some of the job's mounts (loader/reader/reader_serve.c). */
static int confine_deny_namespaces(scmp_filter_ctx f)
{
	static const scmp_datum_t kinds[] = {CLONE_NEWUSER,  CLONE_NEWNS,  CLONE_NEWPID,
					     CLONE_NEWNET,   CLONE_NEWIPC, CLONE_NEWUTS,
					     CLONE_NEWCGROUP};
	int err = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setns), 1,
				   SCMP_A1(SCMP_CMP_NE, CLONE_NEWUSER, 0));

	for (size_t i = 0; !err && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		err = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
				       SCMP_A0(SCMP_CMP_MASKED_EQ, kinds[i], kinds[i]));
	return err;
}

/* Denies the ioctls that put text into a terminal's input queue, because the user's shell would run
 * that text. */
static int confine_deny_typing(scmp_filter_ctx f)
{
	static const scmp_datum_t typing[] = {TIOCSTI, 0x541c /* TIOCLINUX */};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(typing) / sizeof(typing[0]); i++)
		err = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
				       SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, typing[i]));
	return err;
}

/* Applies the same rules to system calls of 32-bit programs on this machine. Calls of other
 * architectures get ENOSYS. */
static int confine_other_kinds(scmp_filter_ctx f)
{
	uint32_t native = seccomp_arch_native(), other = 0;
	int err = seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));

	if (native == SCMP_ARCH_X86_64)
		other = SCMP_ARCH_X86;
	else if (native == SCMP_ARCH_AARCH64)
		other = SCMP_ARCH_ARM;
	return err || !other ? err : seccomp_arch_add(f, other);
}

static int confine_deny_machine(scmp_filter_ctx f)
{
	int err = confine_deny(f, machine);

	if (!err)
		err = confine_deny_namespaces(f);
	return err ? err : confine_deny_typing(f);
}

static int confine_deny_reader(scmp_filter_ctx f)
{
	int err = confine_deny(f, reader);

	/* Signal 0 stays allowed: it only checks that a process exists. */
	return err ? err
		   : seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(kill), 1,
				      SCMP_A1(SCMP_CMP_NE, 0, 0));
}

/* Denies clone3() with ENOSYS. Then C libraries use clone(), as they do on older kernels; a filter
 * can check the arguments of clone(). */
static int confine_deny_clone3(scmp_filter_ctx f)
{
	return seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

static int confine_load(int (*rules)(scmp_filter_ctx), bool logged)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	int err = f ? confine_other_kinds(f) : -ENOMEM;

	if (!err)
		err = rules(f);
	if (!err) {
		seccomp_attr_set(f, SCMP_FLTATR_CTL_LOG, logged); /* since Linux 4.14 */
		seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
		seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1);
		err = seccomp_load(f);
	}
	if (f)
		seccomp_release(f);
	return err;
}

int confine_calls(enum confine_calls what)
{
	int err;

	if (what == CONFINE_READER)
		return confine_load(confine_deny_reader, true);
	/* clone3() has a separate filter without the audit log, because otherwise each new thread
	 * would be logged. */
	err = confine_load(confine_deny_clone3, false);
	return err ? err : confine_load(confine_deny_machine, true);
}
