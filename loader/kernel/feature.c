/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "loader/attach/attach.h"
#include "loader/kernel/feature.h"
#include "loader/loader.h"
#include "loader/kernel/tracepoint.h"
#include "loader/kernel/vmlinux.h"
#include "userspace/base/log.h"

/* This text is also in README.md, gp-bpf.8 and deploy/README.md (checked by
 * tests/e2e/features.bats). */
#define KERNEL_NEEDS                                                                                       \
	"gp-bpf needs the kernel features bpf and cookie; it was run on Debian's kernels 6.1, 6.12, 6.18 " \
	"and 7.3, and 5.10 lacks cookie; distribution kernels carry backports (RHEL 9's 5.14 has "         \
	"uprobe_multi), so gp-bpf check is the answer"

/* Inode of the initial pid namespace, PROC_PID_INIT_INO in include/linux/proc_ns.h. */
#define PID_NS_INIT_INO 0xEFFFFFFCu

#define BPF_OP_MOV64_IMM 0xb7 /* BPF_ALU64 | BPF_MOV | BPF_K */
#define BPF_OP_MOV64_REG 0xbf /* BPF_ALU64 | BPF_MOV | BPF_X */
#define BPF_OP_ADD64_IMM 0x07 /* BPF_ALU64 | BPF_ADD | BPF_K */
#define BPF_OP_CALL	 0x85 /* BPF_JMP | BPF_CALL */
#define BPF_OP_EXIT	 0x95 /* BPF_JMP | BPF_EXIT */

/* Loads a program that does nothing. Returns a descriptor or -errno. */
static int feature_program_load(enum bpf_prog_type type, enum bpf_attach_type attach_type,
				int btf_id)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach_type,
		    .attach_btf_id = (uint32_t)btf_id);
	const struct bpf_insn insns[] = {
		{.code = BPF_OP_MOV64_IMM},
		{.code = BPF_OP_EXIT},
	};

	return bpf_prog_load(type, NULL, "GPL", insns, 2, &opts);
}

static int feature_test_bpf(void)
{
	int fd = feature_program_load(BPF_PROG_TYPE_KPROBE, 0, 0);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int feature_test_cookie(void)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_OP_CALL, .imm = BPF_FUNC_get_attach_cookie},
		{.code = BPF_OP_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", insns, 2, NULL);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* Tests a kind of link by making one, as loading its program succeeds on every kernel. "/" cannot
 * be probed: a kernel that knows this kind of link returns EBADF, others return EINVAL. */
static int feature_test_link(uint32_t attach_type)
{
	const uint64_t zero = 0;
	int fd, prog = feature_program_load(BPF_PROG_TYPE_KPROBE, attach_type, 0);

	if (prog < 0)
		return prog;
	fd = attach_multi_link(prog, attach_type, "/", false, &zero, &zero, 1);
	close(prog);
	if (fd >= 0)
		close(fd);
	return fd >= 0 || fd == -EBADF ? 0 : fd;
}

static int feature_test_multi(void)
{
	return feature_test_link(ATTACH_UPROBE_MULTI);
}

static int feature_test_session(void)
{
	return feature_test_link(ATTACH_UPROBE_SESSION);
}

static int feature_test_tracefs(void)
{
	long id = tracepoint_id("sched/sched_process_fork");

	return id < 0 ? (int)id : 0;
}

/* Tests bpf_probe_read_kernel(), which kernel lockdown in confidentiality mode refuses. */
static int feature_test_kernel_read(void)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_OP_MOV64_REG, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_10},
		{.code = BPF_OP_ADD64_IMM, .dst_reg = BPF_REG_1, .imm = -8},
		{.code = BPF_OP_MOV64_IMM, .dst_reg = BPF_REG_2, .imm = 8},
		{.code = BPF_OP_MOV64_IMM, .dst_reg = BPF_REG_3},
		{.code = BPF_OP_CALL, .imm = BPF_FUNC_probe_read_kernel},
		{.code = BPF_OP_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_TRACEPOINT, NULL, "GPL", insns,
			       sizeof(insns) / sizeof(insns[0]), NULL);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* Checks that a BPF file system is mounted; otherwise tries to mount one that only this process
 * sees. */
static int feature_test_bpffs(void)
{
	struct statfs st;
	int fs, err = 0;

	if (!statfs("/sys/fs/bpf", &st) && st.f_type == BPF_FS_MAGIC)
		return access("/sys/fs/bpf", W_OK) ? -errno : 0;
	fs = (int)syscall(SYS_fsopen, "bpf", FSOPEN_CLOEXEC);
	if (fs < 0)
		return -errno;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		err = -errno;
	close(fs);
	return err;
}

static int feature_test_btf(void)
{
	return access("/sys/kernel/btf/vmlinux", R_OK) ? -errno : 0;
}

/* Descriptors of the links that the tests made to tracepoints. They stay open until the loader has
 * attached its own programs: detaching takes a grace period of the kernel, 20 to 70 ms, during
 * which no event of a tracepoint can be opened (event_mutex in kernel/trace/trace_event_perf.c). */
static int held[6];
static size_t held_count;

static void feature_probe_hold(int event, int prog)
{
	if (event >= 0)
		held[held_count++] = event;
	held[held_count++] = prog;
}

static void *feature_held_close(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < held_count; i++)
		close(held[i]);
	return NULL;
}

static int feature_test_tp_btf(void)
{
	int fd, prog, id = vmlinux_type("btf_trace_sched_process_fork", BTF_KIND_TYPEDEF);

	if (id < 0)
		return id;
	prog = feature_program_load(BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, id);
	if (prog < 0)
		return prog;
	fd = bpf_raw_tracepoint_open(NULL, prog);
	feature_probe_hold(fd, prog);
	return fd < 0 ? fd : 0;
}

static int feature_test_task_vma(void)
{
	union bpf_iter_link_info info = {.task.pid = (uint32_t)getpid()};
	LIBBPF_OPTS(bpf_link_create_opts, opts, .iter_info = &info, .iter_info_len = sizeof(info));
	int fd, prog, id = vmlinux_type("bpf_iter_task_vma", BTF_KIND_FUNC);

	if (id < 0)
		return id;
	prog = feature_program_load(BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, id);
	if (prog < 0)
		return prog;
	fd = bpf_link_create(prog, 0, BPF_TRACE_ITER, &opts);
	close(prog);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int feature_test_tracepoint(const char *name)
{
	int err = 0, event, prog = feature_program_load(BPF_PROG_TYPE_TRACEPOINT, 0, 0);

	if (prog < 0)
		return prog;
	event = tracepoint_open(name);
	if (event < 0)
		err = event;
	else if (ioctl(event, PERF_EVENT_IOC_SET_BPF, prog))
		err = -errno;
	feature_probe_hold(event, prog);
	return err;
}

static int feature_test_syscall_tp(void)
{
	return feature_test_tracepoint("syscalls/sys_enter_mmap");
}

static int feature_test_file(void)
{
	return feature_test_tracepoint("syscalls/sys_exit_openat");
}

static struct feature features[FEATURE_COUNT] = {
	[FEATURE_BPF] = {.name = "bpf",
			 .purpose = "programs and probes on user functions",
			 .how = "a program is loaded",
			 .without = "nothing works",
			 .required = true},
	[FEATURE_COOKIE] = {.name = "cookie",
			    .purpose = "one program serves every probe",
			    .how = "a program that asks for its cookie is loaded",
			    .without = "nothing works",
			    .required = true},
	[FEATURE_BTF] = {.name = "btf",
			 .purpose = "types of the running kernel",
			 .how = "/sys/kernel/btf/vmlinux is readable",
			 .without = "as without tp_btf, task_vma and syscall_tp"},
	[FEATURE_TP_BTF] =
		{.name = "tp_btf",
		 .purpose = "fork, exec, exit and fatal signals of watched processes",
		 .how = "a program is attached to the tracepoint of fork",
		 .without =
			 "children are not followed; exits are noticed late, without their cause"},
	[FEATURE_TASK_VMA] =
		{.name = "task_vma",
		 .purpose = "the kernel's own identity of a mapped library",
		 .how = "an iterator over our own mappings is made",
		 .without = "on overlay file systems one library may be treated as two"},
	[FEATURE_MULTI] =
		{.name = "multi",
		 .purpose = "many probes in one link",
		 .how = "a link to \"/\" is refused for its file, not for its kind",
		 .without =
			 "attaching takes longer, detaching seconds, and both need CAP_SYS_ADMIN"},
	[FEATURE_SESSION] = {.name = "session",
			     .purpose = "entry and return in one link",
			     .how = "as multi",
			     .without = "nothing: this version does not use it"},
	[FEATURE_TRACEFS] =
		{.name = "tracefs",
		 .purpose = "numbers of tracepoints; need not be mounted",
		 .how = "a tracepoint's number is read, from a private mount if necessary",
		 .without = "as without syscall_tp"},
	[FEATURE_SYSCALL_TP] =
		{.name = "syscall_tp",
		 .purpose = "libraries are found the moment they are mapped",
		 .how = "a program is attached to the tracepoint of mmap",
		 .without = "libraries loaded later are found by the next periodic scan"},
	[FEATURE_KERNEL_READ] =
		{.name = "kernel_read",
		 .purpose = "reading kernel memory by address: names of files",
		 .how = "a program that calls bpf_probe_read_kernel is loaded",
		 .without =
			 "as without file; a node finds jobs by scanning every process, every 5 s"},
	[FEATURE_FILE] =
		{.name = "file",
		 .purpose = "checkpoints by their files, and which one a restart reads",
		 .how = "a program is attached to the tracepoint of openat's return",
		 .without =
			 "only checkpoints that a probe reports are seen; the step from which a restart resumes is estimated"},
	[FEATURE_BPFFS] = {.name = "bpffs",
			   .purpose = "probes and data that --durable keeps over a restart",
			   .how = "/sys/fs/bpf is a BPF file system, or one can be mounted",
			   .without = "--durable is refused"},
};

#define NEED(name) (1u << FEATURE_##name)

static const struct {
	int (*test)(void);
	unsigned int needs; /* features that this one requires, as NEED() bits */
} tests[FEATURE_COUNT] = {
	[FEATURE_BPF] = {feature_test_bpf, 0},
	[FEATURE_COOKIE] = {feature_test_cookie, NEED(BPF)},
	[FEATURE_BTF] = {feature_test_btf, 0},
	[FEATURE_TP_BTF] = {feature_test_tp_btf, NEED(BPF) | NEED(BTF)},
	[FEATURE_TASK_VMA] = {feature_test_task_vma, NEED(BPF) | NEED(BTF)},
	[FEATURE_MULTI] = {feature_test_multi, NEED(BPF)},
	[FEATURE_SESSION] = {feature_test_session, NEED(BPF)},
	[FEATURE_TRACEFS] = {feature_test_tracefs, 0},
	/* syscall_tp needs tp_btf, because programs of both features are in one BPF object. */
	[FEATURE_SYSCALL_TP] = {feature_test_syscall_tp, NEED(TP_BTF) | NEED(TRACEFS)},
	[FEATURE_KERNEL_READ] = {feature_test_kernel_read, NEED(BPF)},
	[FEATURE_FILE] = {feature_test_file, NEED(TP_BTF) | NEED(TRACEFS) | NEED(KERNEL_READ)},
	[FEATURE_BPFFS] = {feature_test_bpffs, NEED(BPF)},
};

/* Signs that the kernel has a feature which cannot be tested without a privilege: a type in its
 * BTF, or a file system that it knows. */
static const struct {
	const char *type;
	unsigned int kind;
	const char *file_system;
} signs[FEATURE_COUNT] = {
	[FEATURE_BPF] = {"bpf_prog_load", BTF_KIND_FUNC, NULL},
	[FEATURE_COOKIE] = {"bpf_get_attach_cookie_trace", BTF_KIND_FUNC, NULL},
	[FEATURE_TP_BTF] = {"btf_trace_sched_process_fork", BTF_KIND_TYPEDEF, NULL},
	[FEATURE_TASK_VMA] = {"bpf_iter_task_vma", BTF_KIND_FUNC, NULL},
	[FEATURE_MULTI] = {"bpf_uprobe_multi_link", BTF_KIND_STRUCT, NULL},
	[FEATURE_TRACEFS] = {.file_system = "tracefs"},
	[FEATURE_SYSCALL_TP] = {"perf_syscall_enter", BTF_KIND_FUNC, NULL},
	[FEATURE_KERNEL_READ] = {"bpf_probe_read_kernel", BTF_KIND_FUNC, NULL},
	[FEATURE_BPFFS] = {.file_system = "bpf"},
};

static bool feature_file_system_known(const char *name)
{
	char line[128], known[64];
	FILE *f = fopen("/proc/filesystems", "re");
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "nodev %63s", known) == 1 && !strcmp(known, name);
	if (f)
		fclose(f);
	return found;
}

static bool kernel_has(enum feature_id id)
{
	if (signs[id].file_system)
		return feature_file_system_known(signs[id].file_system);
	return signs[id].type && vmlinux_type(signs[id].type, signs[id].kind) > 0;
}

/* Returns 0, or the reason why a feature that this one needs is missing: the error of that feature,
 * or -ENODEV when it is switched off. */
static int feature_needs_missing(enum feature_id id)
{
	for (int i = 0; i < FEATURE_COUNT; i++)
		if (tests[id].needs >> i & 1 && !features[i].have)
			return features[i].error ? features[i].error : -ENODEV;
	return 0;
}

static bool feature_list_has(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; at && *at; at += strcspn(at, ",")) {
		at += strspn(at, ",");
		if (strcspn(at, ",") == len && !strncmp(at, name, len))
			return true;
	}
	return false;
}

/* Logs a message of libbpf, each line separately: the verifier's log is one message of many lines,
 * and its last lines have the reason. */
static int feature_libbpf_log(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char *text, *line, *rest;

	if (level == LIBBPF_DEBUG || vasprintf(&text, fmt, args) < 0)
		return 0;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		log_debug("%s", line);
	free(text);
	return 0;
}

int loader_features(const char *features_off, const struct feature **ret)
{
	static bool tested;

	libbpf_set_print(feature_libbpf_log);
	for (int i = 0; i < FEATURE_COUNT; i++) {
		struct feature *f = &features[i];
		int missing = feature_needs_missing((enum feature_id)i);

		if (!tested)
			f->error = missing && missing != -ENODEV ? missing : tests[i].test();
		if (!tested && (f->error == -EPERM || f->error == -EACCES))
			f->kernel_has = kernel_has((enum feature_id)i);
		f->off = feature_list_has(features_off, f->name);
		f->have = !f->error && !f->off && !missing;
	}
	tested = true;
	*ret = features;
	return FEATURE_COUNT;
}

const char *loader_feature_name(size_t i)
{
	return i < FEATURE_COUNT ? features[i].name : NULL;
}

bool feature_have(enum feature_id id)
{
	return features[id].have;
}

bool feature_kernel_function(const char *name)
{
	return vmlinux_type(name, BTF_KIND_FUNC) > 0;
}

/* Checks that each name in the list is a feature: otherwise a misspelt one would seem to be
 * switched off. */
static int features_off_check(const char *list)
{
	char name[32];

	for (const char *at = list; at && *at; at += strcspn(at, ",")) {
		int i = 0;

		at += strspn(at, ",");
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, ","), at);
		while (i < FEATURE_COUNT && strcmp(name, features[i].name) != 0)
			i++;
		if (*name && i == FEATURE_COUNT) {
			log_error(
				"--feature: unknown feature '%s'; `gp-bpf check` lists the features",
				name);
			return -EINVAL;
		}
	}
	return 0;
}

static uint64_t feature_capabilities_effective(void)
{
	uint64_t caps = 0;
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %lx", &caps) == 1)
			break;
	if (f)
		fclose(f);
	return caps;
}

static bool feature_capability_have(int bit)
{
	return feature_capabilities_effective() >> bit & 1;
}

static void feature_privileges_explain(void)
{
	static const struct {
		int bit;
		const char *name;
	} wanted[] = {{CAP_BPF, "CAP_BPF"}, {CAP_PERFMON, "CAP_PERFMON"}};
	char missing[64] = "";

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (!feature_capability_have(wanted[i].bit) &&
		    !feature_capability_have(CAP_SYS_ADMIN))
			snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing),
				 "%s%s", *missing ? " and " : "", wanted[i].name);
	if (*missing)
		log_error(
			"no permission to load BPF programs: %s missing; run as root (sudo gp-bpf ...)",
			missing);
	else
		log_error(
			"no permission to load BPF programs although the capabilities are there: a container profile forbids bpf(2); run privileged");
}

/* Logs why a required feature is missing. Returns -EPERM or -ENOSYS, as other errors of a test may
 * mean something else to the caller. */
static int feature_refuse(const struct feature *f)
{
	if (f->off) {
		log_error("feature %s is switched off, but gp-bpf cannot work without it", f->name);
		return -ENOSYS;
	}
	if (f->error == -EPERM || f->error == -EACCES) {
		feature_privileges_explain();
		return -EPERM;
	}
	log_error("this kernel lacks %s (%s): %s; " KERNEL_NEEDS, f->name, f->purpose,
		  strerror(-f->error));
	return -ENOSYS;
}

void feature_tests_end(void)
{
	static bool ended; /* the tests run once per process */
	pthread_t thread;

	if (ended)
		return;
	ended = true;
	if (pthread_create(&thread, NULL, feature_held_close, NULL))
		feature_held_close(NULL);
	else
		pthread_detach(thread);
}

int feature_able(const char *features_off)
{
	const struct feature *list;
	struct stat st;
	int err = features_off_check(features_off), n = loader_features(features_off, &list);

	if (err)
		return err;
	if (stat("/proc/self/ns/pid", &st) || st.st_ino != PID_NS_INIT_INO) {
		log_error(
			"gp-bpf is not in the initial pid namespace and would watch wrong processes; run it with hostPID: true (docker: --pid=host)");
		return -EPERM;
	}
	for (int i = 0; i < n; i++)
		if (list[i].required && !list[i].have)
			return feature_refuse(&list[i]);
	/* perf_uprobe_event_init() in kernel/events/core.c requires this capability; multi links do
	 * not. */
	if (!feature_have(FEATURE_MULTI) && !feature_capability_have(CAP_SYS_ADMIN)) {
		log_error(
			"CAP_SYS_ADMIN missing: this kernel lacks feature multi, so each probe is a perf event, which needs that capability; run as root (sudo gp-bpf ...)");
		return -EPERM;
	}
	return 0;
}

int feature_check(const char *features_off)
{
	const struct feature *list;
	int err = feature_able(features_off), n = loader_features(features_off, &list);

	if (err)
		return err;
	for (int i = 0; i < n; i++)
		if (!list[i].have && i != FEATURE_SESSION && i != FEATURE_BPFFS)
			log_info("without %s%s: %s", list[i].name,
				 list[i].off ? " (switched off)" : "", list[i].without);
	return 0;
}
