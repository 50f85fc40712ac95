/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loader/budget/count.h"

/* State of reading the counters; arrays are indexed by counter, cause of loss or slot */
struct counts {
	const struct kernel *kernel;
	const struct rows *rows;
	/* Last reported values. Counters only grow: the next process that owns a slot starts from
	 * the present value instead of 0. counts_commit() copies reported values to the kernel's
	 * maps for a successor, once they are stored on the tape. */
	uint64_t reported[GP_LANE_COUNTERS];
	uint64_t losses_reported[GP_LOSS_CAUSE_COUNT];
	bool released[GP_SLOTS];
	bool sampled[GP_SLOTS];	  /* by slot: counters were reported after the process ended */
	bool ownerless[GP_SLOTS]; /* by slot: at the last sweep its process was not watched any more
				   */
};

int counts_new(struct counts **ret, const struct kernel *k, const struct rows *rows)
{
	struct counts *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->kernel = k;
	c->rows = rows;
	memcpy(c->reported, k->counts_saved, sizeof(c->reported));
	memcpy(c->losses_reported, k->meta->losses_saved, sizeof(c->losses_reported));
	*ret = c;
	return 0;
}

void counts_free(struct counts *c)
{
	free(c);
}

uint32_t counts_take_slot(struct counts *c, pid_t pid)
{
	uint32_t slot = 0;

	if (bpf_map_lookup_and_delete_elem(c->kernel->free_slots_fd, NULL, &slot) ||
	    slot >= GP_SLOTS)
		return 0;
	__atomic_store_n(&c->kernel->slot_owner[slot], (uint64_t)pid, __ATOMIC_RELAXED);
	return slot;
}

void counts_release_slot(struct counts *c, uint32_t slot)
{
	if (slot && slot < GP_SLOTS)
		c->released[slot] = true;
}

static uint64_t counts_counter_sum(const struct counts *c, size_t slot, size_t hot)
{
	uint64_t sum = 0;

	for (size_t lane = 0; lane < GP_LANES; lane++)
		sum += __atomic_load_n(
			&c->kernel->counters[lane * GP_LANE_COUNTERS + slot * GP_HOT_ROWS + hot],
			__ATOMIC_RELAXED);
	return sum;
}

static void counts_slot_sample(struct counts *c, size_t slot, loader_count_fn *count, void *ctx)
{
	pid_t owner = (pid_t)__atomic_load_n(&c->kernel->slot_owner[slot], __ATOMIC_RELAXED);
	struct gp_counter now = {.slot = (uint32_t)slot};
	uint32_t probe;
	uint64_t *reported;

	for (size_t hot = 0; (probe = rows_hot_probe(c->rows, hot)); hot++) {
		reported = &c->reported[slot * GP_HOT_ROWS + hot];
		now.total = counts_counter_sum(c, slot, hot);
		now.count = now.total - *reported;
		if (now.count)
			count(ctx, owner, probe, &now);
		*reported = now.total;
	}
}

void counts_commit(struct counts *c)
{
	memcpy(c->kernel->counts_saved, c->reported, sizeof(c->reported));
	memcpy(c->kernel->meta->losses_saved, c->losses_reported, sizeof(c->losses_reported));
}

void counts_resume(struct counts *c, uint32_t probe, const struct gp_counter *last)
{
	uint64_t *reported;

	for (size_t hot = 0; last->slot < GP_SLOTS && hot < GP_HOT_ROWS; hot++) {
		reported = &c->reported[last->slot * GP_HOT_ROWS + hot];
		if (rows_hot_probe(c->rows, hot) == probe && *reported < last->total)
			*reported = last->total;
	}
}

void counts_resume_loss(struct counts *c, const struct gp_loss *last)
{
	if (last->cause < GP_LOSS_CAUSE_COUNT && c->losses_reported[last->cause] < last->total)
		c->losses_reported[last->cause] = last->total;
}

void counts_sample_slot(struct counts *c, uint32_t slot, loader_count_fn *count, void *ctx)
{
	if (!slot || slot >= GP_SLOTS)
		return;
	counts_slot_sample(c, slot, count, ctx);
	c->sampled[slot] = true;
}

static void counts_slot_free(struct counts *c, uint32_t slot)
{
	c->released[slot] = c->sampled[slot] = false;
	__atomic_store_n(&c->kernel->slot_owner[slot], 0, __ATOMIC_RELAXED);
	bpf_map_update_elem(c->kernel->free_slots_fd, NULL, &slot, BPF_ANY);
}

void counts_sample(struct counts *c, loader_count_fn *count, loader_loss_fn *loss, void *ctx)
{
	for (uint32_t slot = 0; slot < GP_SLOTS; slot++) {
		if (slot && !__atomic_load_n(&c->kernel->slot_owner[slot], __ATOMIC_RELAXED))
			continue;
		counts_slot_sample(c, slot, count, ctx);
		if (c->released[slot])
			counts_slot_free(c, slot);
	}
	for (int cause = 0; cause < GP_LOSS_CAUSE_COUNT; cause++) {
		uint64_t now = __atomic_load_n(&c->kernel->losses[cause], __ATOMIC_RELAXED);

		if (now != c->losses_reported[cause])
			loss(ctx, (enum gp_loss_cause)cause, now - c->losses_reported[cause], now);
		c->losses_reported[cause] = now;
	}
}

void counts_settle(struct counts *c)
{
	for (uint32_t slot = 1; slot < GP_SLOTS; slot++)
		if (c->released[slot] && c->sampled[slot])
			counts_slot_free(c, slot);
}

void counts_sweep(struct counts *c)
{
	for (uint32_t slot = 1; slot < GP_SLOTS; slot++) {
		uint64_t owner = __atomic_load_n(&c->kernel->slot_owner[slot], __ATOMIC_RELAXED);
		uint32_t pid = (uint32_t)owner;
		struct gp_watch watch;
		bool gone = owner && (bpf_map_lookup_elem(c->kernel->watched_fd, &pid, &watch) ||
				      watch.slot != slot);

		/* Release a slot only if two sweeps in a row found no owner: at a fork, the kernel
		 * side takes a slot a moment before it watches the child. */
		if (gone && c->ownerless[slot])
			c->released[slot] = true;
		c->ownerless[slot] = gone;
	}
}
