/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/hang.h"
#include "userspace/base/number.h"

#define SECOND_NS 1000000000ull

/* How long (ns) a process may be silent, see hang.h. The values follow other tools: NVRx multiplies
 * a step by 5 (nvidia-resiliency-ext, fault_tolerance); DLRover and the default timeout of
 * collectives wait 600 s; Megatron-LM's fault tolerance waits 420 s for a checkpoint. */
#define STEP_FACTOR	  5
#define STEP_MIN_NS	  (30 * SECOND_NS)
#define STEP_MAX_NS	  (600 * SECOND_NS)
#define SAVE_FACTOR	  5
#define SAVE_LONG_FACTOR  2
#define SAVE_MIN_NS	  (60 * SECOND_NS)
#define SAVE_LONG_NS	  (420 * SECOND_NS)
#define SURVIVED_FACTOR	  2
#define PATIENCE_MAX_NS	  (1800 * SECOND_NS)
#define CHECK_STEP_FACTOR 3
#define CHECK_MIN_NS	  (3 * SECOND_NS)

const char *const hang_why_name[GP_WHY_COUNT] = {
#define X(id, name) [id] = #name,
	GP_WHYS(X)
#undef X
};

const char *const hang_why_text[GP_WHY_COUNT] = {
	[GP_WHY_unknown] = "stands still",
	[GP_WHY_stopped] = "is stopped",
	[GP_WHY_collective] = "waits in a collective",
	[GP_WHY_input] = "waits for input",
	[GP_WHY_device] = "waits for the device",
	[GP_WHY_io] = "waits for I/O",
	[GP_WHY_lock] = "waits for a lock",
	[GP_WHY_network] = "waits for the network",
	[GP_WHY_child] = "waits for a child process",
	[GP_WHY_sleep] = "sleeps",
	[GP_WHY_idle] = "waits for events",
	[GP_WHY_busy] = "runs, but no step ends",
};

static uint64_t hang_scaled_ns(uint64_t ns, uint64_t factor)
{
	return ns > UINT64_MAX / factor ? UINT64_MAX : ns * factor;
}

static uint64_t hang_save_limit(const struct hang_case *c)
{
	uint64_t ns = smaller_of(hang_scaled_ns(c->save_ns, SAVE_FACTOR), SAVE_LONG_NS);

	if (!c->save_ns)
		return SAVE_LONG_NS;
	return larger_of(larger_of(ns, hang_scaled_ns(c->save_ns, SAVE_LONG_FACTOR)), SAVE_MIN_NS);
}

static uint64_t hang_usual_limit(const struct hang_case *c)
{
	uint64_t ns = smaller_of(larger_of(hang_scaled_ns(c->p99_ns, STEP_FACTOR), STEP_MIN_NS),
				 STEP_MAX_NS);

	if (!c->stepping)
		return PATIENCE_MAX_NS;
	if (c->user_ns)
		ns = c->user_ns;
	else
		ns = larger_of(ns, smaller_of(hang_scaled_ns(c->longest_ns, SURVIVED_FACTOR),
					      PATIENCE_MAX_NS));
	if (c->saving)
		ns = larger_of(ns, hang_save_limit(c));
	return c->compiling ? larger_of(ns, PATIENCE_MAX_NS) : ns;
}

uint64_t hang_check_ns(const struct hang_case *c)
{
	uint64_t ns = larger_of(hang_scaled_ns(c->p99_ns, CHECK_STEP_FACTOR), CHECK_MIN_NS),
		 limit_ns = hang_usual_limit(c);

	return c->stepping ? smaller_of(ns, limit_ns / 2) : limit_ns / 2;
}

uint64_t hang_limit_ns(const struct hang_case *c, enum gp_why why)
{
	switch (why) {
	case GP_WHY_idle:
		return HANG_NEVER;
	case GP_WHY_stopped:
		return hang_check_ns(c);
	case GP_WHY_busy:
	case GP_WHY_child:
		return larger_of(hang_usual_limit(c), STEP_MAX_NS);
	default:
		return hang_usual_limit(c);
	}
}

/* Returns the reason of the silence for a thread that waits for a batch. Data loaders wait for
 * their workers in many ways, all of which are waits for input. */
static enum gp_why hang_why_fetching(enum gp_why why)
{
	switch (why) {
	case GP_WHY_lock:
	case GP_WHY_network:
	case GP_WHY_child:
	case GP_WHY_idle:
		return GP_WHY_input;
	default:
		return why;
	}
}

static enum gp_why hang_why_called(const struct hang_place *p, unsigned role)
{
	switch (role) {
	case GP_ROLE_collective:
	case GP_ROLE_comm_init:
	case GP_ROLE_comm_end:
	case GP_ROLE_comm_abort:
		return GP_WHY_collective;
	case GP_ROLE_sync:
	/* Collectives run on the device: a process that waits for the device waits for its
	 * collectives, if it has any. */
	case GP_ROLE_copy:
	case GP_ROLE_copy_in:
	case GP_ROLE_copy_out:
		return p->collectives ? GP_WHY_collective : GP_WHY_device;
	/* such a call submits a group of collectives, or waits for the device */
	case GP_ROLE_error:
		return p->between || p->collectives ? GP_WHY_collective : GP_WHY_device;
	default:
		return GP_WHY_device;
	}
}

enum gp_why hang_conclude(const struct hang_place *p, enum gp_why why, unsigned role)
{
	if (why == GP_WHY_stopped)
		return why;
	if (role != GP_ROLE_none)
		return hang_why_called(p, role);
	if (p->fetching)
		return hang_why_fetching(why);
	if (p->distributed && (why == GP_WHY_lock || why == GP_WHY_network || why == GP_WHY_idle))
		return GP_WHY_collective;
	return why;
}
