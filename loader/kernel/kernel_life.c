/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_life.c - programs that follow the life of processes and their files, without probes. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loader/kernel/feature.h"
#include "loader/kernel/kernel_private.h"
#include "loader/attach/pin.h"
#include "loader/kernel/tracepoint.h"
#include "userspace/base/hash.h"

/* Returns a hash of all programs, computed from the kernel's hash (tag) of each program. */
static uint64_t kernel_life_programs_hash(const struct bpf_object *obj, uint64_t h)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, obj)
	{
		struct bpf_prog_info info = {0};
		uint32_t len = sizeof(info);

		if (bpf_program__fd(prog) < 0 ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
			continue;
		h = hash_bytes(h, info.tag, sizeof(info.tag));
	}
	return h;
}

struct life { /* arguments of life_attach() that are the same for all programs */
	const struct kernel *k;
	struct attach *links;
	struct pins *pins;
};

int kernel_life_attach(const struct kernel *k, struct attach *links, struct pins *pins,
		       struct bpf_program *prog, const char *name, const char *tracepoint)
{
	struct bpf_link *link;
	int fd, err = 0;

	fd = pins && !k->programs_changed ? pins_claim(pins, name) : -ENOENT;
	if (fd >= 0)
		return attach_adopt_fd(links, fd, tracepoint);
	if (tracepoint) {
		fd = tracepoint_open(tracepoint);
		if (fd < 0)
			return fd;
		link = bpf_program__attach_perf_event(prog, fd);
		if (!link)
			close(fd);
	} else {
		link = bpf_program__attach(prog);
	}
	if (!link)
		return -errno;
	if (pins)
		err = pins_put(pins, name, bpf_link__fd(link));
	if (err) {
		bpf_link__destroy(link);
		return err;
	}
	return attach_adopt(links, link, tracepoint);
}

static int life_attach(const struct life *l, struct bpf_program *prog, const char *tracepoint)
{
	const char *call = tracepoint ? tracepoint + strcspn(tracepoint, "/") + 1 : "";
	char name[PIN_NAME_MAX];

	snprintf(name, sizeof(name), "life-%s%s%s", bpf_program__name(prog), *call ? "-" : "",
		 call);
	return kernel_life_attach(l->k, l->links, l->pins, prog, name, tracepoint);
}

int kernel_maps_reuse(const struct bpf_object *obj, const struct bpf_object *call)
{
	struct bpf_map *map, *from;
	int err = 0;

	bpf_object__for_each_map(map, obj)
	{
		from = bpf_object__find_map_by_name(call, bpf_map__name(map));
		if (from && !err)
			err = bpf_map__reuse_fd(map, bpf_map__fd(from));
	}
	return err;
}

static int kernel_life_programs_choose(const struct life_bpf *life)
{
	bool follow = feature_have(FEATURE_TP_BTF), file = follow && feature_have(FEATURE_FILE);
	bool cast = follow && feature_kernel_function("bpf_rdonly_cast");
	const struct {
		struct bpf_program *prog;
		bool wanted;
	} programs[] = {
		{life->progs.gp_exited, follow},
		{life->progs.gp_forked, follow},
		{life->progs.gp_execed, follow},
		{life->progs.gp_signalled, follow && !cast},
		{life->progs.gp_signalled_cast, cast},
		{life->progs.gp_victim, follow},
		{life->progs.gp_mapping, follow && feature_have(FEATURE_SYSCALL_TP)},
		{life->progs.gp_closed, file},
		{life->progs.gp_closing, file},
		{life->progs.gp_rename_done, file},
		{life->progs.gp_renameat_done, file},
		{life->progs.gp_opened, file},
		{life->progs.gp_opening, file},
		{life->progs.gp_vmas, feature_have(FEATURE_TASK_VMA)},
	};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(programs) / sizeof(programs[0]); i++)
		err = bpf_program__set_autoload(programs[i].prog, programs[i].wanted);
	return err;
}

int kernel_life_prepare(struct kernel_objects *o)
{
	int err;

	if (o->life || (!feature_have(FEATURE_TP_BTF) && !feature_have(FEATURE_TASK_VMA)))
		return 0;
	o->life = life_bpf__open();
	if (!o->life)
		return -errno;
	o->life->rodata->gp_kernel_read = feature_have(FEATURE_KERNEL_READ);
	err = kernel_maps_reuse(o->life->obj, o->call->obj);
	if (!err)
		err = kernel_life_programs_choose(o->life);
	return err;
}

static int kernel_life_proc_attach(const struct life *l, bool cast)
{
	const struct life_bpf *life = l->k->objects->life;
	struct bpf_program *const programs[] = {
		/* Attached before fork, so that the exit of each reported child is seen */
		life->progs.gp_exited,
		life->progs.gp_forked,
		life->progs.gp_execed,
		cast ? life->progs.gp_signalled_cast : life->progs.gp_signalled,
		life->progs.gp_victim,
	};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(programs) / sizeof(programs[0]); i++)
		err = life_attach(l, programs[i], NULL);
	if (!err && feature_have(FEATURE_SYSCALL_TP))
		err = life_attach(l, life->progs.gp_mapping, "syscalls/sys_enter_mmap");
	return err;
}

/* Attaches to the system call by which glibc renames files: the first of rename, renameat and
 * renameat2 that the architecture has. */
static int kernel_life_rename_attach(const struct life *l)
{
	const struct life_bpf *life = l->k->objects->life;
	int err = life_attach(l, life->progs.gp_rename_done, "syscalls/sys_exit_rename");

	if (err == -ENOENT)
		err = life_attach(l, life->progs.gp_renameat_done, "syscalls/sys_exit_renameat");
	if (err == -ENOENT)
		err = life_attach(l, life->progs.gp_renameat_done, "syscalls/sys_exit_renameat2");
	return err;
}

static int life_file_attach(const struct life *l)
{
	const struct life_bpf *life = l->k->objects->life;
	int err = life_attach(l, life->progs.gp_closed,
			      "syscalls/sys_exit_close"); /* ends before begins */

	if (!err)
		err = life_attach(l, life->progs.gp_closing, "syscalls/sys_enter_close");
	if (!err)
		err = kernel_life_rename_attach(l);
	if (!err)
		err = life_attach(l, life->progs.gp_opened, "syscalls/sys_exit_openat");
	return err ? err : life_attach(l, life->progs.gp_opening, "syscalls/sys_enter_openat");
}

int kernel_life_open(struct kernel *k, struct attach *links, struct pins *pins)
{
	struct life l = {k, links, pins};
	struct kernel_objects *o = k->objects;
	int err;

	k->programs = kernel_life_programs_hash(
		o->life->obj, kernel_life_programs_hash(o->call->obj, HASH_START));
	k->programs_changed = k->adopted && k->meta->programs != k->programs;
	err = kernel_life_proc_attach(&l, bpf_program__autoload(o->life->progs.gp_signalled_cast));
	return err || !feature_have(FEATURE_FILE) ? err : life_file_attach(&l);
}
