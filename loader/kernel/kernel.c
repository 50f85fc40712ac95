/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.c - opens, takes over, pins and closes the maps and programs of the kernel side. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader/kernel/feature.h"
#include "loader/kernel/kernel_private.h"
#include "loader/attach/pin.h"
#include "userspace/base/clock.h"
#include "userspace/base/hash.h"
#include "userspace/base/log.h"

#define RING_CALL_BYTES (8u << 20)
#define RING_LIFE_BYTES (256u << 10)
#define RING_BYTES_MAX	(1u << 30)
/* Number of descriptors for which the table gets room at the start: enough until the first
 * libraries are attached */
#define DESCRIPTORS 255

/* Rounds the size of a ring up to a power of two of whole pages. */
static uint32_t kernel_ring_size(size_t wanted, uint32_t fallback)
{
	uint32_t size = (uint32_t)sysconf(_SC_PAGESIZE);

	if (!wanted)
		wanted = fallback;
	while (size < wanted && size < RING_BYTES_MAX)
		size *= 2;
	return size;
}

static size_t kernel_map_bytes(const struct bpf_map *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), value = (bpf_map__value_size(map) + 7) & ~7ul;

	return (value * bpf_map__max_entries(map) + page - 1) & ~(page - 1);
}

static int kernel_map_share(const struct bpf_map *map, void **ret)
{
	size_t len = kernel_map_bytes(map);
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (at == MAP_FAILED)
		return -errno;
	/* Reader processes must not inherit the map, as they may outlive this process */
	madvise(at, len, MADV_DONTFORK);
	*ret = at;
	return 0;
}

/* Returns false for maps that are not pinned: constants made by the compiler, which each program
 * brings with it. */
static bool kernel_map_pin_name(const struct bpf_map *map, char name[PIN_NAME_MAX])
{
	snprintf(name, PIN_NAME_MAX, "map-%s", bpf_map__name(map));
	return !strncmp(bpf_map__name(map), "gp_", 3);
}

static uint32_t kernel_map_id(int fd)
{
	struct bpf_map_info info = {0};
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

/* Returns true if the preloaded programs use the maps that are pinned now. */
static bool kernel_maps_same(const struct call_bpf *call, struct pins *pins)
{
	char name[PIN_NAME_MAX];
	struct bpf_map *map;
	bool same = true;
	int fd;

	bpf_object__for_each_map(map, call->obj)
	{
		if (!same || !kernel_map_pin_name(map, name))
			continue;
		fd = pins_claim(pins, name);
		same = fd >= 0 && kernel_map_id(fd) &&
		       kernel_map_id(fd) == kernel_map_id(bpf_map__fd(map));
		if (fd >= 0)
			close(fd);
	}
	return same;
}

static int kernel_maps_peek(const struct call_bpf *call, const char *state_dir)
{
	char name[PIN_NAME_MAX];
	struct bpf_map *map;
	int fd, err = 0;

	bpf_object__for_each_map(map, call->obj)
	{
		if (err || !kernel_map_pin_name(map, name))
			continue;
		fd = pins_peek(state_dir, name);
		err = fd < 0 ? fd : bpf_map__reuse_fd(map, fd);
		if (fd >= 0)
			close(fd);
	}
	return err;
}

static int kernel_maps_adopt(const struct call_bpf *call, struct pins *pins)
{
	char name[PIN_NAME_MAX];
	struct bpf_map *map;
	int fd, err = 0;

	bpf_object__for_each_map(map, call->obj)
	{
		if (!kernel_map_pin_name(map, name))
			continue;
		fd = pins_claim(pins, name);
		if (fd < 0) {
			log_error(
				"--durable: %s is no longer pinned, so nothing can be taken over; run gp-bpf detach to remove the other pins",
				name);
			return fd;
		}
		err = bpf_map__reuse_fd(map, fd); /* duplicates fd */
		close(fd);
		if (err)
			break;
	}
	return err;
}

/* Creates the maps of the BPF object of calls before this object is loaded. The BPF object of
 * process life also uses these maps, and so can be loaded in parallel. */
static int kernel_maps_make(const struct call_bpf *call)
{
	char name[PIN_NAME_MAX];
	struct bpf_map *map;
	int fd, err = 0;

	bpf_object__for_each_map(map, call->obj)
	{
		LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = bpf_map__map_flags(map));

		if (err || !kernel_map_pin_name(map, name))
			continue;
		fd = bpf_map_create(bpf_map__type(map), bpf_map__name(map), bpf_map__key_size(map),
				    bpf_map__value_size(map), bpf_map__max_entries(map), &opts);
		err = fd < 0 ? fd : bpf_map__reuse_fd(map, fd); /* duplicates fd */
		if (fd >= 0)
			close(fd);
	}
	return err;
}

static int kernel_maps_pin(const struct call_bpf *call, struct pins *pins)
{
	char name[PIN_NAME_MAX];
	struct bpf_map *map;
	int err = 0;

	bpf_object__for_each_map(map, call->obj)
	{
		if (!kernel_map_pin_name(map, name))
			continue;
		err = pins_put(pins, name, bpf_map__fd(map));
		if (err)
			break;
	}
	return err;
}

/* Loads the probe programs for the kind of link that will attach them: since Linux 6.12, a program
 * that was loaded for one kind of link cannot be attached by another kind. */
static int kernel_call_programs_load(struct call_bpf *call)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, call->obj) bpf_program__set_expected_attach_type(
		prog, feature_have(FEATURE_MULTI) ? ATTACH_UPROBE_MULTI : 0);
	return call_bpf__load(call);
}

/* Under kernel lockdown in confidentiality mode libbpf finds bpf_probe_read_kernel() refused,
 * treats the kernel as older than 5.5, and replaces bpf_probe_read_user() by bpf_probe_read(),
 * which is refused too. The probe programs only read user memory, so each such call is restored. */
static int kernel_user_reads_restore(struct bpf_program *prog, struct bpf_prog_load_opts *opts,
				     long cookie)
{
	size_t n = bpf_program__insn_cnt(prog);
	struct bpf_insn *insns = reallocarray(NULL, n, sizeof(*insns));
	bool changed = false;
	int err;

	(void)opts;
	(void)cookie;
	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(prog), n * sizeof(*insns));
	for (size_t i = 0; i < n; i++) {
		if (insns[i].code != (BPF_JMP | BPF_CALL) || insns[i].src_reg)
			continue;
		if (insns[i].imm != BPF_FUNC_probe_read && insns[i].imm != BPF_FUNC_probe_read_str)
			continue;
		insns[i].imm = insns[i].imm == BPF_FUNC_probe_read ? BPF_FUNC_probe_read_user
								   : BPF_FUNC_probe_read_user_str;
		changed = true;
	}
	err = changed ? bpf_program__set_insns(prog, insns, n) : 0;
	free(insns);
	return err;
}

/* Opens the BPF object of calls. Registers only one program handler with libbpf and never removes
 * it: libbpf keeps handlers in an array that moves when one is added, and programs point into that
 * array. */
static struct call_bpf *kernel_call_open(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts,
		    .prog_prepare_load_fn = kernel_user_reads_restore);
	static int handler = -1;

	if (handler < 0)
		handler = libbpf_register_prog_handler("uprobe", BPF_PROG_TYPE_KPROBE, 0, &opts);
	if (handler < 0) {
		errno = -handler;
		return NULL;
	}
	return call_bpf__open();
}

/* Makes the descriptor table grow before threads share it: growing a shared one waits for a grace
 * period of the kernel (expand_fdtable() in fs/file.c), 10 to 20 ms for each growth. */
static void kernel_descriptors_make_room(void)
{
	int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, DESCRIPTORS);

	if (fd >= 0)
		close(fd);
}

static void kernel_life_load(void *arg)
{
	struct kernel_objects *o = arg;

	o->life_error = life_bpf__load(o->life);
}

/* Loads the BPF object of calls, whose maps exist already, and starts a thread that loads the BPF
 * object of process life. */
static int kernel_objects_begin(struct kernel_objects *o, const char **ret_what)
{
	int err = kernel_life_prepare(o);

	*ret_what = "process-life programs";
	if (err)
		return err;
	kernel_descriptors_make_room();
	worker_init(&o->loading);
	o->life_loading = o->life && !worker_start(&o->loading, "load", kernel_life_load, o);
	*ret_what = "call programs";
	err = kernel_call_programs_load(o->call);
	if (o->life && !o->life_loading)
		kernel_life_load(o);
	return err;
}

static int kernel_objects_end(struct kernel_objects *o)
{
	if (o->life_loading)
		worker_free(&o->loading);
	o->life_loading = false;
	return o->life_error;
}

static int kernel_load(struct kernel *k, struct pins *pins, size_t ring_call_bytes,
		       size_t ring_life_bytes, const char **ret_what)
{
	struct call_bpf *call = kernel_call_open();
	int err;

	if (!call)
		return -errno;
	k->objects->call = call;
	if (k->adopted) {
		err = kernel_maps_adopt(call, pins);
	} else {
		bpf_map__set_max_entries(call->maps.gp_ring_call,
					 kernel_ring_size(ring_call_bytes, RING_CALL_BYTES));
		bpf_map__set_max_entries(call->maps.gp_ring_life,
					 kernel_ring_size(ring_life_bytes, RING_LIFE_BYTES));
		err = kernel_maps_make(call);
	}
	if (!err)
		err = kernel_objects_begin(k->objects, ret_what);
	return err || !pins || k->adopted ? err : kernel_maps_pin(call, pins);
}

static int kernel_call_share(struct kernel *k)
{
	const struct call_bpf *call = k->objects->call;
	int err = kernel_map_share(call->maps.gp_rows, (void **)&k->rows);

	k->ring_call_bytes = bpf_map__max_entries(call->maps.gp_ring_call);
	k->ring_life_bytes = bpf_map__max_entries(call->maps.gp_ring_life);
	if (!err)
		err = kernel_map_share(call->maps.gp_return_rows, (void **)&k->return_rows);
	if (!err)
		err = kernel_map_share(call->maps.gp_slot_owner, (void **)&k->slot_owner);
	if (!err)
		err = kernel_map_share(call->maps.gp_watched_fast, (void **)&k->watched_fast);
	if (!err)
		err = kernel_map_share(call->maps.gp_counters, (void **)&k->counters);
	if (!err)
		err = kernel_map_share(call->maps.gp_losses, (void **)&k->losses);
	if (!err)
		err = kernel_map_share(call->maps.gp_counts_saved, (void **)&k->counts_saved);
	if (!err)
		err = kernel_map_share(call->maps.gp_meta, (void **)&k->meta);
	k->program[KERNEL_RANGE_END] = call->progs.gp_range_end;
	k->program[KERNEL_COUNT] = call->progs.gp_count;
	k->program[KERNEL_HIT] = call->progs.gp_hit;
	k->program[KERNEL_NAMED] = call->progs.gp_named;
	k->program[KERNEL_MONITOR] = call->progs.gp_monitor;
	k->program[KERNEL_OPERATION] = call->progs.gp_operation;
	k->program[KERNEL_RETURN] = call->progs.gp_return;
	k->program[KERNEL_ENTER] = call->progs.gp_enter;
	k->program[KERNEL_RANGE_BEGIN] = call->progs.gp_range_begin;
	k->program[KERNEL_EMPTY] = call->progs.gp_empty;
	k->watched_fd = bpf_map__fd(call->maps.gp_watched);
	k->free_slots_fd = bpf_map__fd(call->maps.gp_free_slots);
	k->open_calls_fd = bpf_map__fd(call->maps.gp_open_calls);
	k->rates_fd = bpf_map__fd(call->maps.gp_rates);
	k->unsent_saved_fd = bpf_map__fd(call->maps.gp_unsent_saved);
	k->names_fd = bpf_map__fd(call->maps.gp_names);
	k->threads_fd = bpf_map__fd(call->maps.gp_threads);
	k->threads_fast_fd = bpf_map__fd(call->maps.gp_threads_fast);
	k->ring_call_fd = bpf_map__fd(call->maps.gp_ring_call);
	k->ring_life_fd = bpf_map__fd(call->maps.gp_ring_life);
	return err;
}

/* Fills the queue of free slots. Slot 0 is shared by all processes for which no slot is free. */
static int kernel_slots_fill(const struct kernel *k)
{
	int err = 0;

	for (uint32_t slot = 1; !err && slot < GP_SLOTS; slot++)
		err = bpf_map_update_elem(k->free_slots_fd, NULL, &slot, BPF_ANY);
	return err;
}

/* Increase this number when pinned programs or maps are renamed: a successor finds them by name. */
#define KERNEL_NAMES 2

uint64_t kernel_abi_hash(void)
{
#define X(id, name, payload) id, sizeof(struct gp_rec) + sizeof(payload),
	static const uint32_t agreed[] = {
		GP_KINDS(X) GP_ABI_VERSION,
		KERNEL_NAMES,
		sizeof(struct gp_row),
		sizeof(struct gp_watch),
		sizeof(struct gp_open_call),
		sizeof(struct gp_thread),
		sizeof(struct gp_rate_key),
		sizeof(struct gp_rate),
		sizeof(struct gp_name_key),
		sizeof(struct gp_name),
		sizeof(struct gp_swap_key),
		sizeof(struct gp_meta),
		sizeof(struct gp_file_open),
		sizeof(struct gp_file_key),
		GP_ROWS_MAX,
		GP_HOT_ROWS,
		GP_SLOTS,
		GP_WATCH_MAX,
		GP_THREADS_MAX,
		GP_OPEN_MAX,
		GP_RATES_MAX,
		GP_NAMES_MAX,
		GP_SWAPS_MAX,
		GP_FAST_MAX,
		GP_RETURN_ROWS_MAX,
		GP_FILES_MAX,
		GP_KNOWN_MAX,
		GP_LANES,
		GP_LOSS_CAUSE_COUNT,
	};
#undef X
	uint64_t h = HASH_START;

	for (size_t i = 0; i < sizeof(agreed) / sizeof(agreed[0]); i++)
		h = hash_word(h, agreed[i]);
	return h;
}

/* Returns true if the pinned maps are of this version of gp-bpf and this boot of the machine;
 * others cannot be used. */
static bool kernel_preload_fits(const char *state_dir)
{
	struct bpf_map_info info = {0};
	struct gp_meta meta = {0};
	uint32_t only = 0, len = sizeof(info);
	char boot_id[40];
	int fd = pins_peek(state_dir, "map-gp_meta");
	bool fits;

	if (fd < 0)
		return false;
	clock_boot_id(boot_id);
	fits = !bpf_obj_get_info_by_fd(fd, &info, &len) && info.value_size == sizeof(meta) &&
	       !bpf_map_lookup_elem(fd, &only, &meta) && meta.complete &&
	       meta.abi == kernel_abi_hash() &&
	       !strncmp(meta.boot_id, boot_id, sizeof(meta.boot_id));
	close(fd);
	return fits;
}

struct kernel_objects *kernel_preload(const char *state_dir)
{
	struct kernel_objects *o = kernel_preload_fits(state_dir) ? calloc(1, sizeof(*o)) : NULL;
	const char *what;
	int err;

	if (!o)
		return NULL;
	o->call = kernel_call_open();
	err = o->call ? kernel_maps_peek(o->call, state_dir) : -errno;
	if (!err)
		err = kernel_objects_begin(o, &what);
	if (!err)
		err = kernel_objects_end(o);
	if (!err)
		return o;
	log_debug("--takeover: cannot load the programs before the predecessor ends: %s",
		  strerror(-err));
	kernel_objects_free(o);
	return NULL;
}

const struct bpf_program *kernel_preload_empty(const struct kernel_objects *o)
{
	return o->call->progs.gp_empty;
}

void kernel_objects_free(struct kernel_objects *o)
{
	if (!o)
		return;
	kernel_objects_end(o);
	life_bpf__destroy(o->life);
	call_bpf__destroy(o->call);
	free(o);
}

static int kernel_fail(struct kernel *k, const char *what, int err)
{
	log_error("loading the %s failed: %s (--log-level debug shows the kernel's reason)", what,
		  strerror(-err));
	kernel_close(k);
	return err;
}

int kernel_begin(struct kernel *ret, struct pins *pins, bool adopt, size_t ring_call_bytes,
		 size_t ring_life_bytes, struct kernel_objects *preload)
{
	bool loaded = preload && adopt && kernel_maps_same(preload->call, pins);
	struct kernel k = {.adopted = adopt,
			   .objects = loaded ? preload : calloc(1, sizeof(*k.objects))};
	const char *what = "call programs";
	int err;

	if (loaded)
		log_debug("using the programs that were loaded before the predecessor ended");
	else
		kernel_objects_free(preload);
	if (!k.objects)
		return -ENOMEM;
	err = loaded ? 0 : kernel_load(&k, pins, ring_call_bytes, ring_life_bytes, &what);
	if (!err)
		err = kernel_call_share(&k);
	if (!err)
		k.meta->heartbeat_ns = adopt ? k.meta->heartbeat_ns : clock_mono_ns();
	if (!err && !adopt)
		err = kernel_slots_fill(&k);
	if (err)
		return kernel_fail(&k, what, err);
	*ret = k;
	return 0;
}

int kernel_open(struct kernel *k, struct attach *links, struct pins *pins)
{
	int err = kernel_objects_end(k->objects);

	if (!err && feature_have(FEATURE_TP_BTF))
		err = kernel_life_open(k, links, pins);
	if (err)
		return kernel_fail(k, "process-life programs", err);
	if (feature_have(FEATURE_TASK_VMA))
		k->vmas = k->objects->life->progs.gp_vmas;
	return 0;
}

static void kernel_map_unshare(const struct bpf_map *map, const void *at)
{
	if (at)
		munmap((void *)(uintptr_t)at, kernel_map_bytes(map));
}

void kernel_retire(struct kernel *k)
{
	if (!k->meta)
		return;
	k->meta->complete = 0;
	__atomic_store_n(&k->meta->silent, 1, __ATOMIC_RELEASE);
}

void kernel_close(struct kernel *k)
{
	struct kernel_objects *o = k->objects;

	if (!o)
		return;
	if (o->call) {
		kernel_map_unshare(o->call->maps.gp_rows, k->rows);
		kernel_map_unshare(o->call->maps.gp_return_rows, k->return_rows);
		kernel_map_unshare(o->call->maps.gp_slot_owner, k->slot_owner);
		kernel_map_unshare(o->call->maps.gp_watched_fast, k->watched_fast);
		kernel_map_unshare(o->call->maps.gp_counters, k->counters);
		kernel_map_unshare(o->call->maps.gp_losses, k->losses);
		kernel_map_unshare(o->call->maps.gp_counts_saved, k->counts_saved);
		kernel_map_unshare(o->call->maps.gp_meta, k->meta);
	}
	kernel_objects_free(o);
	*k = (struct kernel){0};
}
