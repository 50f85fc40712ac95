/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loader/feature.h"
#include "loader/kernel_internal.h"
#include "loader/pin.h"
#include "loader/tracepoint.h"
#include "userspace/base/hash.h"

/* Of the kernel's hashes of the instructions. */
static uint64_t programs_hash(const struct bpf_object *obj, uint64_t h)
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

struct life { /* where the links go */
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

static int proc_load(struct kernel_objects *o, bool cast)
{
	int err;

	o->proc = proc_bpf__open();
	if (!o->proc)
		return -errno;
	err = kernel_maps_reuse(o->proc->obj, o->call->obj);
	if (!err)
		err = bpf_program__set_autoload(o->proc->progs.gp_signalled, !cast);
	if (!err)
		err = bpf_program__set_autoload(o->proc->progs.gp_signalled_cast, cast);
	if (!err)
		err = bpf_program__set_autoload(o->proc->progs.gp_mapping,
						feature_have(FEATURE_SYSCALL_TP));
	return err ? err : proc_bpf__load(o->proc);
}

static int file_load(struct kernel_objects *o)
{
	int err;

	o->file = file_bpf__open();
	if (!o->file)
		return -errno;
	err = kernel_maps_reuse(o->file->obj, o->call->obj);
	return err ? err : file_bpf__load(o->file);
}

static int proc_attach(const struct life *l, bool cast)
{
	const struct proc_bpf *proc = l->k->objects->proc;
	struct bpf_program *const life[] = {
		proc->progs.gp_exited, /* before fork: a child must not outlive its only witness */
		proc->progs.gp_forked,
		proc->progs.gp_execed,
		cast ? proc->progs.gp_signalled_cast : proc->progs.gp_signalled,
		proc->progs.gp_victim,
	};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(life) / sizeof(life[0]); i++)
		err = life_attach(l, life[i], NULL);
	if (!err && feature_have(FEATURE_SYSCALL_TP))
		err = life_attach(l, proc->progs.gp_mapping, "syscalls/sys_enter_mmap");
	return err;
}

/* By which glibc renames: the first of these that the architecture has. */
static int rename_attach(const struct life *l)
{
	const struct file_bpf *file = l->k->objects->file;
	int err = life_attach(l, file->progs.gp_rename_done, "syscalls/sys_exit_rename");

	if (err == -ENOENT)
		err = life_attach(l, file->progs.gp_renameat_done, "syscalls/sys_exit_renameat");
	if (err == -ENOENT)
		err = life_attach(l, file->progs.gp_renameat_done, "syscalls/sys_exit_renameat2");
	return err;
}

static int file_attach(const struct life *l)
{
	const struct file_bpf *file = l->k->objects->file;
	int err = life_attach(l, file->progs.gp_closing,
			      "syscalls/sys_enter_close"); /* ends first */

	if (!err)
		err = rename_attach(l);
	return err ? err : life_attach(l, file->progs.gp_opened, "syscalls/sys_exit_openat");
}

int kernel_life_load(struct kernel_objects *o)
{
	int err = o->proc ? 0 : proc_load(o, feature_kernel_function("bpf_rdonly_cast"));

	return err || o->file || !feature_have(FEATURE_FILE) ? err : file_load(o);
}

int kernel_life_open(struct kernel *k, struct attach *links, struct pins *pins)
{
	struct life l = {k, links, pins};
	struct kernel_objects *o = k->objects;
	int err = kernel_life_load(o);
	bool cast;

	if (err)
		return err;
	k->programs = programs_hash(o->proc->obj, programs_hash(o->call->obj, HASH_START));
	if (o->file)
		k->programs = programs_hash(o->file->obj, k->programs);
	k->programs_changed = k->adopted && k->meta->programs != k->programs;
	cast = bpf_program__autoload(o->proc->progs.gp_signalled_cast);
	err = proc_attach(&l, cast);
	return err || !o->file ? err : file_attach(&l);
}
