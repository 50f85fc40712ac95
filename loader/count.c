/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "loader/count.h"

struct counts {
	const struct kernel *kernel;
	const struct rows *rows;
	/* Counters only grow, so a slot needs no zeroing: its next owner starts from where it stands. */
	uint64_t told[GP_SLOTS][GP_HOT_ROWS];
	uint64_t losses_told[GP_LOSS_CAUSE_COUNT];
	bool released[GP_SLOTS];
};

int counts_new(struct counts **ret, const struct kernel *k, const struct rows *rows)
{
	struct counts *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->kernel = k;
	c->rows = rows;
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

	if (bpf_map_lookup_and_delete_elem(c->kernel->free_slots_fd, NULL, &slot) || slot >= GP_SLOTS)
		return 0;
	__atomic_store_n(&c->kernel->slot_owner[slot], (uint64_t)pid, __ATOMIC_RELAXED);
	return slot;
}

void counts_release_slot(struct counts *c, uint32_t slot)
{
	if (slot && slot < GP_SLOTS)
		c->released[slot] = true;
}

static uint64_t counter_sum(const struct counts *c, size_t slot, size_t hot)
{
	uint64_t sum = 0;

	for (size_t lane = 0; lane < GP_LANES; lane++)
		sum += __atomic_load_n(
			&c->kernel->counters[lane * GP_LANE_COUNTERS + slot * GP_HOT_ROWS + hot],
			__ATOMIC_RELAXED);
	return sum;
}

static void slot_sample(struct counts *c, size_t slot, loader_count_fn *count, void *ctx)
{
	pid_t owner = (pid_t)__atomic_load_n(&c->kernel->slot_owner[slot], __ATOMIC_RELAXED);
	uint32_t probe;
	uint64_t sum;

	for (size_t hot = 0; (probe = rows_hot_probe(c->rows, hot)); hot++) {
		sum = counter_sum(c, slot, hot);
		if (sum != c->told[slot][hot])
			count(ctx, owner, probe, sum - c->told[slot][hot]);
		c->told[slot][hot] = sum;
	}
}

void counts_sample_slot(struct counts *c, uint32_t slot, loader_count_fn *count, void *ctx)
{
	if (slot && slot < GP_SLOTS)
		slot_sample(c, slot, count, ctx);
}

static void slot_free(struct counts *c, uint32_t slot)
{
	c->released[slot] = false;
	__atomic_store_n(&c->kernel->slot_owner[slot], 0, __ATOMIC_RELAXED);
	bpf_map_update_elem(c->kernel->free_slots_fd, NULL, &slot, BPF_ANY);
}

void counts_sample(struct counts *c, loader_count_fn *count, loader_loss_fn *loss, void *ctx)
{
	for (uint32_t slot = 0; slot < GP_SLOTS; slot++) {
		if (slot && !__atomic_load_n(&c->kernel->slot_owner[slot], __ATOMIC_RELAXED))
			continue;
		slot_sample(c, slot, count, ctx);
		if (c->released[slot])
			slot_free(c, slot);
	}
	for (int cause = 0; cause < GP_LOSS_CAUSE_COUNT; cause++) {
		uint64_t now = __atomic_load_n(&c->kernel->losses[cause], __ATOMIC_RELAXED);

		if (now != c->losses_told[cause])
			loss(ctx, (enum gp_loss_cause)cause, now - c->losses_told[cause]);
		c->losses_told[cause] = now;
	}
}
