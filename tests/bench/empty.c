/* SPDX-License-Identifier: Apache-2.0 */
/* empty - attaches a program that does nothing, the way gp-bpf attaches its own: one multi link
 * where the kernel has them, perf links otherwise. Independent of loader/, so that the baseline is
 * no part of what is measured.
 *
 * empty OBJECT LIBRARY OFFSET[r]...     r: at the return as well; prints "ready" and waits for the
 * end of standard input. GP_BENCH_MULTI=off forces perf links. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OFFSETS_MAX  64
#define MULTI	     48 /* BPF_TRACE_UPROBE_MULTI, include/uapi/linux/bpf.h of 6.6 */
#define MULTI_RETURN 1	/* BPF_F_UPROBE_MULTI_RETURN */

/* union bpf_attr.link_create with uprobe_multi, newer than the headers this builds with */
struct multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, path_fd;
};

static int attach_multi(int prog, const char *path, const uint64_t *offsets, uint32_t count,
			bool returns)
{
	struct multi_attr attr = {
		.prog_fd = (uint32_t)prog,
		.attach_type = MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.count = count,
		.multi_flags = returns ? MULTI_RETURN : 0,
	};

	return syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

static int attach_perf(struct bpf_program *prog, const char *path, const uint64_t *offsets,
		       uint32_t count, bool returns)
{
	for (uint32_t i = 0; i < count; i++)
		if (!bpf_program__attach_uprobe(prog, returns, -1, path, offsets[i]))
			return -errno;
	return 0;
}

static int load(const char *object, bool multi, struct bpf_program **ret)
{
	struct bpf_object *obj = bpf_object__open_file(object, NULL);
	struct bpf_program *prog = obj ? bpf_object__find_program_by_name(obj, "empty") : NULL;

	if (!prog)
		return -ENOENT;
	bpf_program__set_expected_attach_type(prog, multi ? MULTI : 0);
	*ret = prog;
	return bpf_object__load(obj);
}

static int attach(const char *object, const char *path, bool multi, const uint64_t *enter,
		  uint32_t enters, const uint64_t *leave, uint32_t leaves)
{
	struct bpf_program *prog;
	int err = load(object, multi, &prog), fd;

	if (err)
		return err;
	fd = bpf_program__fd(prog);
	if (multi) {
		err = leaves ? attach_multi(fd, path, leave, leaves, true) : 0;
		return err ? err : attach_multi(fd, path, enter, enters, false);
	}
	err = attach_perf(prog, path, leave, leaves, true);
	return err ? err : attach_perf(prog, path, enter, enters, false);
}

int main(int argc, char **argv)
{
	uint64_t enter[OFFSETS_MAX], leave[OFFSETS_MAX];
	const char *choice = getenv("GP_BENCH_MULTI");
	uint32_t enters = 0, leaves = 0;
	char *end, byte;
	int err;

	if (argc < 4 || argc - 3 > OFFSETS_MAX) {
		fprintf(stderr, "usage: empty OBJECT LIBRARY OFFSET[r]...\n");
		return 2;
	}
	for (int i = 3; i < argc; i++) {
		enter[enters] = strtoull(argv[i], &end, 0);
		if (*end == 'r')
			leave[leaves++] = enter[enters];
		enters++;
	}
	err = -EINVAL;
	if (!choice || strcmp(choice, "off"))
		err = attach(argv[1], argv[2], true, enter, enters, leave, leaves);
	if (err)
		err = attach(argv[1], argv[2], false, enter, enters, leave, leaves);
	if (err) {
		fprintf(stderr, "empty: %s\n", strerror(-err));
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
