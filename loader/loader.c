/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "loader/preload.h"
#include "loader/attach/attach.h"
#include "loader/budget/cost.h"
#include "loader/budget/count.h"
#include "loader/kernel/feature.h"
#include "loader/kernel/kernel.h"
#include "loader/library/library.h"
#include "loader/reader/mapping.h"
#include "loader/unwatched.h"
#include "loader/examine.h"
#include "loader/loader.h"
#include "loader/open_call.h"
#include "loader/attach/pin.h"
#include "loader/predecessor.h"
#include "loader/budget/hit_cost.h"
#include "loader/budget/rate.h"
#include "loader/reader/reader.h"
#include "loader/probe/rows.h"
#include "loader/kernel/vmlinux.h"
#include "userspace/base/helper.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/proc_file.h"

#define SETTLE_WAIT_MS 100

struct loader {
	struct pins *pins; /* for links and maps that outlive this process; or NULL */
	struct kernel kernel;
	struct unwatched *unwatched; /* NULL: unwatched processes are not reported */
	struct hit_cost hit_cost;
	struct attach *attach;
	struct rows *rows;
	struct counts *counts;
	struct rates *rates;
	struct reader *reader;
	struct helper *helper;
	struct libraries *libraries;
	struct open_calls *open_calls; /* created at the first loader_open_calls() */
	struct cost *cost;
	struct examine *examine; /* created at the first loader_examine() */
	uint64_t overhead_ns;	 /* as in struct loader_config */
	struct library_deps deps;
	loader_attach_fn *on_attach;
	loader_count_fn *on_count;
	loader_loss_fn *on_loss;
	void *attach_ctx, *sample_ctx;
	struct loader_ring rings[2];
};

/* keep: everything stays attached for a successor. Otherwise ends the kernel side first, so that no
 * successor takes it over; then removes the pins, and then the links and maps. */
static void loader_end(struct loader *l, bool keep)
{
	if (!keep)
		kernel_retire(&l->kernel);
	if (l->pins && !keep)
		pins_clear(l->pins);
	examine_free(l->examine);
	libraries_free(l->libraries);
	reader_free(l->reader);
	helper_free(l->helper);
	open_calls_free(l->open_calls);
	attach_free(l->attach, keep);
	cost_free(l->cost);
	rates_free(l->rates);
	counts_free(l->counts);
	rows_free(l->rows);
	unwatched_close(l->unwatched);
	kernel_close(&l->kernel);
	pins_close(l->pins);
	free(l);
}

/* Passes the hit cost of an attached probe to the cost module, and the probe's state to the caller.
 */
static void loader_on_attached(void *ctx, uint32_t probe, const struct gp_attach *a)
{
	struct loader *l = ctx;

	if (a->state == GP_ATTACH_attached)
		cost_set_hit(l->cost, probe, a->hit_cost_ns);
	if (l->on_attach)
		l->on_attach(l->attach_ctx, probe, a);
}

static void loader_on_count(void *ctx, pid_t pid, uint32_t probe, const struct gp_counter *counted)
{
	struct loader *l = ctx;

	cost_count(l->cost, pid, probe, counted->count);
	l->on_count(l->sample_ctx, pid, probe, counted);
}

static void loader_on_loss(void *ctx, enum gp_loss_cause cause, uint64_t count, uint64_t total)
{
	struct loader *l = ctx;

	l->on_loss(l->sample_ctx, cause, count, total);
}

void loader_raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Starts the helper processes that read files and names. */
static int loader_helpers_new(struct loader *l, const struct loader_config *cfg)
{
	int err = reader_new(&l->reader, cfg->probes, cfg->cache_dir);

	if (!err)
		err = helper_new(&l->helper, MAPPING_HELPER_BYTES);
	if (err)
		log_error("helper processes that read libraries cannot be started: %s",
			  strerror(-err));
	return err;
}

int loader_open(struct loader **ret, const struct loader_config *cfg)
{
	struct loader *l = calloc(1, sizeof(*l));
	struct gp_meta own;
	bool adopt = false;
	int err;

	if (!l)
		return -ENOMEM;
	l->overhead_ns = cfg->overhead_ns;
	err = feature_check(cfg->features_off);
	if (!err)
		err = loader_helpers_new(l, cfg);
	if (!err)
		err = predecessor_open(&l->pins, cfg, &own, &adopt);
	if (!err)
		err = attach_new(&l->attach, feature_have(FEATURE_MULTI), l->pins);
	if (!err)
		err = kernel_begin(&l->kernel, l->pins, adopt, cfg->ring_call_bytes,
				   cfg->ring_life_bytes, preload_objects(cfg->preload));
	/* Measure the hit cost now, while the other programs are being loaded: attaching the first
	 * probe of a machine takes long. */
	if (!err && !preload_hit_cost(cfg->preload, &l->hit_cost))
		hit_cost_measure(&l->hit_cost, &l->kernel, l->attach);
	if (!err)
		err = kernel_open(&l->kernel, l->attach, l->pins);
	if (!err && cfg->unwatched)
		err = unwatched_open(&l->unwatched, &l->kernel, l->attach, l->pins, cfg->probes);
	vmlinux_forget();
	if (!err)
		err = rows_new(&l->rows, &l->kernel, cfg->probes);
	if (!err)
		err = counts_new(&l->counts, &l->kernel, l->rows);
	if (!err)
		err = rates_new(&l->rates, &l->kernel, l->rows);
	if (!err)
		err = cost_new(&l->cost, cfg->probes, cfg->overhead_ns, cfg->overhead_pause_ns);
	l->deps = (struct library_deps){
		.probes = cfg->probes,
		.kernel = &l->kernel,
		.hit_cost = &l->hit_cost,
		.rows = l->rows,
		.attach = l->attach,
		.reader = l->reader,
		.helper = l->helper,
		.cost = l->cost,
		.pins = l->pins,
		.on_attach = loader_on_attached,
		.ctx = l,
	};
	if (!err)
		err = libraries_new(&l->libraries, &l->deps);
	if (err) {
		loader_end(l, adopt);
		return err;
	}
	l->rings[0] = (struct loader_ring){l->kernel.ring_life_fd, l->kernel.ring_life_bytes,
					   "life", GP_LOSS_ring_life};
	l->rings[1] = (struct loader_ring){l->kernel.ring_call_fd, l->kernel.ring_call_bytes,
					   "call", GP_LOSS_ring_call};
	if (l->kernel.vmas)
		helper_keep(l->helper, bpf_program__fd(l->kernel.vmas));
	if (!adopt)
		l->kernel.meta->programs = l->kernel.programs;
	predecessor_become(l->kernel.meta, &own);
	*ret = l;
	return 0;
}

void loader_close(struct loader *l)
{
	if (l)
		loader_end(l, false);
}

void loader_hand_over(struct loader *l)
{
	if (l)
		loader_end(l, true);
}

struct helper *loader_helper(struct loader *l)
{
	return l->helper;
}

bool loader_reports_unwatched(const struct loader *l)
{
	return l->unwatched;
}

bool loader_adopted(const struct loader *l)
{
	return l->kernel.adopted;
}

void loader_taken_over(struct loader *l)
{
	if (l->pins)
		pins_drop_waiting_but(l->pins, PIN_FOLLOWED);
	rows_swapped(l->rows);
	if (!l->kernel.programs_changed)
		return;
	log_info("replacing the programs of an earlier version of gp-bpf");
	if (!loader_relink(l))
		l->kernel.meta->programs = l->kernel.programs;
	l->kernel.programs_changed = false;
}

int loader_relink(struct loader *l)
{
	int err;

	rows_swap_begin(l->rows);
	attach_age(l->attach);
	err = libraries_relink(l->libraries);
	if (!err)
		rows_swap(l->rows);
	attach_drop_aged(l->attach, !err);
	rows_swapped(l->rows);
	return err;
}

/* Forgets open calls and ranges: they may have ended while the BPF programs sent no records. */
static void loader_open_forget(const struct loader *l)
{
	struct gp_thread none = {0};
	uint64_t call;
	uint32_t tid;

	while (!bpf_map_get_next_key(l->kernel.open_calls_fd, NULL, &call) &&
	       !bpf_map_delete_elem(l->kernel.open_calls_fd, &call))
		;
	while (!bpf_map_get_next_key(l->kernel.threads_fd, NULL, &tid) &&
	       !bpf_map_delete_elem(l->kernel.threads_fd, &tid))
		;
	for (uint32_t i = 0; i < GP_FAST_MAX; i++)
		bpf_map_update_elem(l->kernel.threads_fast_fd, &i, &none, BPF_ANY);
}

void loader_heartbeat(struct loader *l, uint64_t *ret_from_ns)
{
	struct gp_meta *meta = l->kernel.meta;
	uint64_t now_ns = clock_mono_ns(), last_ns = meta->heartbeat_ns;
	bool silent = now_ns - last_ns > GP_SILENT_NS;

	*ret_from_ns = silent ? last_ns + GP_SILENT_NS : 0;
	if (silent)
		loader_open_forget(l);
	__atomic_store_n(&meta->heartbeat_ns, now_ns, __ATOMIC_RELEASE);
	__atomic_store_n(&meta->silent, 0, __ATOMIC_RELEASE);
}

int loader_rings(const struct loader *l, const struct loader_ring **ret)
{
	*ret = l->rings;
	return 2;
}

/* Returns false also for an exiting process: its exit may already have been reported, some time
 * before it becomes a zombie, so it must not be watched any more. */
static bool loader_process_alive(pid_t pid)
{
	struct proc_stat s;

	return !proc_stat("", pid, &s) && !s.exiting;
}

static void loader_fast_set(const struct loader *l, uint32_t pid, uint32_t slot)
{
	uint64_t none = 0;

	__atomic_compare_exchange_n(&l->kernel.watched_fast[pid % GP_FAST_MAX], &none,
				    GP_FAST(pid, slot), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void loader_fast_clear(const struct loader *l, uint32_t pid)
{
	uint64_t *at = &l->kernel.watched_fast[pid % GP_FAST_MAX];
	uint64_t entry = __atomic_load_n(at, __ATOMIC_RELAXED);

	if ((uint32_t)entry == pid)
		__atomic_compare_exchange_n(at, &entry, 0, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
}

/* Ends the watch of a process, unless its exit has already ended it. The BPF program may delete the
 * map entry at the same time: the slot is released only by the one that deletes the entry. */
static void loader_watch_end(struct loader *l, uint32_t key)
{
	struct gp_watch watch;

	if (bpf_map_lookup_elem(l->kernel.watched_fd, &key, &watch))
		return;
	loader_fast_clear(l, key);
	if (!bpf_map_delete_elem(l->kernel.watched_fd, &key))
		counts_release_slot(l->counts, watch.slot);
}

int loader_watch(struct loader *l, pid_t pid, uint64_t start_ns, uint32_t *ret_slot)
{
	struct gp_watch watch = {.start_ns = start_ns};
	uint32_t key = (uint32_t)pid;
	int err;

	if (!bpf_map_lookup_elem(l->kernel.watched_fd, &key, &watch)) {
		if (ret_slot)
			*ret_slot = watch.slot; /* a child that the kernel side already watches */
		return 0;
	}
	if (!loader_process_alive(pid))
		return -ESRCH;
	watch.slot = counts_take_slot(l->counts, pid);
	err = bpf_map_update_elem(l->kernel.watched_fd, &key, &watch, BPF_NOEXIST);
	if (err) {
		counts_release_slot(l->counts, watch.slot);
		return err == -E2BIG ? -ENOSPC : err;
	}
	loader_fast_set(l, key, watch.slot);
	/* The process may have ended just before it was watched. */
	if (!loader_process_alive(pid)) {
		loader_watch_end(l, key);
		return -ESRCH;
	}
	if (ret_slot)
		*ret_slot = watch.slot;
	return 0;
}

static void loader_process_forget(struct loader *l, pid_t pid)
{
	rates_forget(l->rates, pid);
	cost_forget(l->cost, pid);
	libraries_forget(l->libraries, pid);
}

void loader_unwatch(struct loader *l, pid_t pid)
{
	loader_watch_end(l, (uint32_t)pid);
	loader_process_forget(l, pid);
}

void loader_unwatch_dead(struct loader *l, pid_t pid)
{
	if (!loader_process_alive(pid))
		loader_unwatch(l, pid);
}

bool loader_watched(const struct loader *l, pid_t pid)
{
	struct gp_watch watch;
	uint32_t key = (uint32_t)pid;

	return !bpf_map_lookup_elem(l->kernel.watched_fd, &key, &watch);
}

pid_t loader_watched_next(const struct loader *l, pid_t pid)
{
	uint32_t key = (uint32_t)pid, next;

	return bpf_map_get_next_key(l->kernel.watched_fd, pid ? &key : NULL, &next) ? 0
										    : (pid_t)next;
}

void loader_gone(struct loader *l, pid_t pid, uint32_t slot)
{
	counts_release_slot(l->counts, slot);
	loader_process_forget(l, pid);
}

int loader_scan(struct loader *l, pid_t pid)
{
	return libraries_scan(l->libraries, pid);
}

bool loader_unfinished(const struct loader *l)
{
	return libraries_unfinished(l->libraries);
}

size_t loader_poll(struct loader *l)
{
	size_t n = libraries_poll(l->libraries);

	if (!n)
		feature_tests_end();
	return n;
}

int loader_settle(struct loader *l, uint64_t timeout_ns)
{
	uint64_t until_ns = clock_mono_ns() + timeout_ns;

	while (loader_poll(l)) {
		if (clock_mono_ns() >= until_ns)
			return -ETIMEDOUT;
		reader_wait(l->reader, SETTLE_WAIT_MS);
	}
	return 0;
}

void loader_forked(struct loader *l, pid_t parent, pid_t child)
{
	libraries_forked(l->libraries, parent, child);
}

void loader_on_attach(struct loader *l, loader_attach_fn *fn, void *ctx)
{
	l->on_attach = fn;
	l->attach_ctx = ctx;
}

static bool loader_cost_watched(void *ctx, pid_t pid)
{
	return loader_watched(ctx, pid);
}

static void loader_cost_changed(void *ctx)
{
	libraries_settle(((struct loader *)ctx)->libraries);
}

int loader_sample(struct loader *l, loader_count_fn *count, loader_loss_fn *loss, void *ctx)
{
	l->on_count = count;
	l->on_loss = loss;
	l->sample_ctx = ctx;
	/* loader_poll() calls this earlier, when all libraries were read. This call is for the case
	 * that a file cannot be read. */
	feature_tests_end();
	counts_sample(l->counts, loader_on_count, loader_on_loss, l);
	rates_sample(l->rates, loader_on_count, l);
	cost_second(l->cost, clock_mono_ns(), loader_cost_watched, loader_cost_changed, l);
	libraries_reap(l->libraries);
	return 0;
}

void loader_sample_process(struct loader *l, pid_t pid, uint32_t slot, loader_count_fn *count,
			   void *ctx)
{
	counts_sample_slot(l->counts, slot, count, ctx);
	rates_sample_process(l->rates, pid, count, ctx);
}

int loader_open_calls(struct loader *l, uint64_t now_ns, uint64_t age_ns, loader_open_call_fn *fn,
		      void *ctx)
{
	const struct open_call *calls;
	int n;

	if (!l->kernel.return_rows[0]) /* no row is probed at its return, so no call can be open */
		return 0;
	if (!l->open_calls)
		l->open_calls = open_calls_new();
	if (!l->open_calls)
		return -ENOMEM;
	n = open_calls_walk(l->open_calls, l->kernel.open_calls_fd, l->kernel.rows,
			    now_ns > age_ns ? now_ns - age_ns : 0, &calls);
	for (int i = 0; i < n; i++)
		fn(ctx, &calls[i]);
	return n;
}

int loader_examine(struct loader *l, const struct examine_request *r)
{
	int err = 0;

	if (!feature_have(FEATURE_TP_BTF))
		return -ENOTSUP;
	if (!l->examine)
		err = examine_new(&l->examine, l->overhead_ns);
	return err ? err : examine_begin(l->examine, r);
}

const struct examine_result *loader_examined(struct loader *l)
{
	return l->examine ? examine_take(l->examine) : NULL;
}

bool loader_examines(const struct loader *l)
{
	return l->examine && examine_busy(l->examine);
}

void loader_spent(struct loader *l, const void *records, size_t len)
{
	cost_records(l->cost, records, len);
	libraries_spent(l->libraries, records, len);
	libraries_used(l->libraries, records, len);
}

void loader_protect(struct loader *l, uint64_t roles, uint32_t chosen)
{
	/* One by one, it would take seconds to detach the probes of a measurement. */
	if (!feature_have(FEATURE_MULTI))
		roles &= ~(1ull << GP_ROLE_operation);
	if (cost_protect(l->cost, roles, chosen))
		libraries_settle(l->libraries);
}

uint32_t loader_hit_cost_ns(struct loader *l, enum gp_insn insn, bool returns)
{
	const uint32_t *hit_cost = returns ? l->hit_cost.return_ns : l->hit_cost.enter_ns;

	return (unsigned int)insn <= GP_INSN_stepped ? hit_cost[insn] : 0;
}

void loader_settled(struct loader *l)
{
	counts_settle(l->counts);
}

void loader_commit(struct loader *l)
{
	counts_commit(l->counts);
	rates_commit(l->rates);
}

void loader_resume(struct loader *l, pid_t pid, uint32_t probe, const struct gp_counter *last)
{
	if (last->slot == GP_SLOT_NONE)
		rates_resume(l->rates, pid, last);
	else
		counts_resume(l->counts, probe, last);
}

void loader_resume_loss(struct loader *l, const struct gp_loss *last)
{
	counts_resume_loss(l->counts, last);
}

void loader_sweep(struct loader *l)
{
	counts_sweep(l->counts);
}
