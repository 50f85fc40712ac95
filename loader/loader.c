/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/attach.h"
#include "loader/count.h"
#include "loader/feature.h"
#include "loader/kernel.h"
#include "loader/library.h"
#include "loader/loader.h"
#include "loader/price.h"
#include "loader/rate.h"
#include "loader/reader.h"
#include "loader/rows.h"
#include "userspace/base/clock.h"

#define SETTLE_WAIT_MS 100

struct loader {
	struct kernel kernel;
	struct price price;
	struct attach *attach;
	struct rows *rows;
	struct counts *counts;
	struct rates *rates;
	struct reader *reader;
	struct libraries *libraries;
	struct library_deps deps;
	struct loader_ring rings[2];
};

int loader_open(struct loader **ret, const struct loader_config *cfg)
{
	struct loader *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	err = feature_check(cfg->features_off);
	if (!err)
		err = reader_new(&l->reader, cfg->probes, cfg->cache_dir);
	if (!err)
		err = attach_new(&l->attach, feature_have(FEATURE_MULTI));
	if (!err)
		err = kernel_open(&l->kernel, l->attach, cfg->ring_call_bytes, cfg->ring_life_bytes);
	if (!err)
		err = rows_new(&l->rows, &l->kernel, cfg->probes);
	if (!err)
		err = counts_new(&l->counts, &l->kernel, l->rows);
	if (!err)
		err = rates_new(&l->rates, &l->kernel, l->rows);
	l->deps = (struct library_deps){
		.probes = cfg->probes,
		.kernel = &l->kernel,
		.price = &l->price,
		.rows = l->rows,
		.attach = l->attach,
		.reader = l->reader,
	};
	if (!err)
		err = libraries_new(&l->libraries, &l->deps);
	if (err) {
		loader_close(l);
		return err;
	}
	l->rings[0] = (struct loader_ring){l->kernel.ring_life_fd, l->kernel.ring_life_bytes, "life",
					   GP_LOSS_ring_life};
	l->rings[1] = (struct loader_ring){l->kernel.ring_call_fd, l->kernel.ring_call_bytes, "call",
					   GP_LOSS_ring_call};
	price_measure(&l->price, &l->kernel, l->attach);
	*ret = l;
	return 0;
}

void loader_close(struct loader *l)
{
	if (!l)
		return;
	libraries_free(l->libraries);
	reader_free(l->reader);
	attach_free(l->attach);
	rates_free(l->rates);
	counts_free(l->counts);
	rows_free(l->rows);
	kernel_close(&l->kernel);
	free(l);
}

int loader_rings(const struct loader *l, const struct loader_ring **ret)
{
	*ret = l->rings;
	return 2;
}

/* A zombie's exit has been told already, so it must not be watched any more. */
static bool process_alive(pid_t pid)
{
	char path[32], text[512];
	const char *state;
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	len = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[len] = 0;
	state = strrchr(text, ')'); /* the name before it may hold anything */
	return state && state[1] == ' ' && state[2] != 'Z' && state[2] != 'X';
}

static void fast_set(const struct loader *l, uint32_t pid, uint32_t slot)
{
	uint64_t none = 0;

	__atomic_compare_exchange_n(&l->kernel.watched_fast[pid % GP_FAST_MAX], &none, GP_FAST(pid, slot),
				    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void fast_clear(const struct loader *l, uint32_t pid)
{
	uint64_t *place = &l->kernel.watched_fast[pid % GP_FAST_MAX];
	uint64_t entry = __atomic_load_n(place, __ATOMIC_RELAXED);

	if ((uint32_t)entry == pid)
		__atomic_compare_exchange_n(place, &entry, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Ends the watch unless the process's exit did; whoever deletes the entry owns its slot. */
static void watch_end(struct loader *l, uint32_t key)
{
	struct gp_watch watch;

	if (bpf_map_lookup_elem(l->kernel.watched_fd, &key, &watch))
		return;
	fast_clear(l, key);
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
			*ret_slot = watch.slot; /* a child that followed by itself */
		return 0;
	}
	if (!process_alive(pid))
		return -ESRCH;
	watch.slot = counts_take_slot(l->counts, pid);
	err = bpf_map_update_elem(l->kernel.watched_fd, &key, &watch, BPF_NOEXIST);
	if (err) {
		counts_release_slot(l->counts, watch.slot);
		return err == -E2BIG ? -ENOSPC : err;
	}
	fast_set(l, key, watch.slot);
	/* It may have ended just before the kernel side began to look. */
	if (!process_alive(pid)) {
		watch_end(l, key);
		return -ESRCH;
	}
	if (ret_slot)
		*ret_slot = watch.slot;
	return 0;
}

void loader_unwatch(struct loader *l, pid_t pid)
{
	watch_end(l, (uint32_t)pid);
	rates_forget(l->rates, pid);
	libraries_forget(l->libraries, pid);
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

	return bpf_map_get_next_key(l->kernel.watched_fd, pid ? &key : NULL, &next) ? 0 : (pid_t)next;
}

void loader_release_slot(struct loader *l, uint32_t slot)
{
	counts_release_slot(l->counts, slot);
}

void loader_gone(struct loader *l, pid_t pid, uint32_t slot)
{
	counts_release_slot(l->counts, slot);
	rates_forget(l->rates, pid);
	libraries_forget(l->libraries, pid);
}

int loader_scan(struct loader *l, pid_t pid)
{
	return libraries_scan(l->libraries, pid);
}

size_t loader_poll(struct loader *l)
{
	return libraries_poll(l->libraries);
}

int loader_settle(struct loader *l, uint64_t timeout_ns)
{
	uint64_t until_ns = clock_mono_ns() + timeout_ns;

	while (libraries_poll(l->libraries)) {
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
	l->deps.on_attach = fn;
	l->deps.ctx = ctx;
}

int loader_sample(struct loader *l, loader_count_fn *count, loader_loss_fn *loss, void *ctx)
{
	counts_sample(l->counts, count, loss, ctx);
	rates_sample(l->rates, count, ctx);
	libraries_reap(l->libraries);
	return 0;
}

void loader_sample_process(struct loader *l, pid_t pid, uint32_t slot, loader_count_fn *count, void *ctx)
{
	counts_sample_slot(l->counts, slot, count, ctx);
	rates_sample_process(l->rates, pid, count, ctx);
}

uint32_t loader_price_ns(const struct loader *l, enum gp_insn insn, bool returns)
{
	const uint32_t *price = returns ? l->price.return_ns : l->price.enter_ns;

	return (unsigned int)insn <= GP_INSN_stepped ? price[insn] : 0;
}
