/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/watch_device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/backoff.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/table.h"
#include "userspace/identity/accelerator.h"
#include "userspace/watch/device_read.h"

/* Limit of the time of a request to the helper process; after it, the request is given up. */
#define LATE_NS 4000000000ull
/* Ticks between two reads of the list of devices that a process has open: HELD_TICKS for the first
 * HELD_TRIES reads while the process has none open, CHECK_TICKS later. */
#define HELD_TICKS  10
#define HELD_TRIES  6
#define CHECK_TICKS 60
/* Limit of processes whose open devices are read in one tick. */
#define HELD_READS 4

static const struct backoff_rule device_pause = {
	.first_ns = 10000000000ull,
	.most_ns = 300000000000ull,
};

struct device_process {
	uint32_t tick; /* last tick in which the process trained */
	/* Tick of the last read of the devices that the process has open; 0: none. */
	uint32_t read_tick;
	uint32_t tries; /* number of reads of the devices that the process has open */
	bool logged;	/* it was logged that the device of the process is unknown */
	struct held held;
	/* The device that the process uses: its kind, and its index in the list of this kind; -1:
	 * unknown. */
	enum device_kind kind;
	int index;
};

struct devices {
	const char *root;
	struct helper *look, *helper;
	struct table *processes; /* by pid */
	/* Number of the present tick, and of the processes whose open devices were read in this
	 * tick. */
	uint32_t tick, reads;
	uint64_t asked_ns; /* when the last request was sent (ns) */
	uint64_t pause_ns; /* no request is sent before this time */
	struct backoff backoff;
	bool waiting; /* a request was sent, and its answer has not come yet */
	bool stuck;   /* a failure of the helper process has been logged */
	bool lacking; /* a missing library has been logged */
	bool ordered; /* all NVIDIA devices of the machine are of one model */
};

int devices_new(struct devices **ret, struct helper *look, const char *root)
{
	struct devices *d = calloc(1, sizeof(*d));
	char model[128];
	int err = -ENOMEM;

	if (d) {
		*d = (struct devices){.root = root, .look = look, .processes = table_new()};
		err = d->processes ? helper_new(&d->helper, sizeof(struct device_reply)) : -ENOMEM;
	}
	if (err) {
		devices_free(d);
		return err;
	}
	d->ordered = accelerator_model(root, model, sizeof(model)) != -EMEDIUMTYPE;
	*ret = d;
	return 0;
}

void devices_free(struct devices *d)
{
	if (!d)
		return;
	if (d->waiting)
		helper_drop(d->helper);
	helper_free(d->helper);
	table_free(d->processes, free);
	free(d);
}

/* ---- which devices --------------------------------------------------------------------------- */

struct device_ask {
	const char *root;
	long pid; /* a long, so that the struct has no padding: it is sent as raw bytes */
};

static ssize_t devices_held_there(const void *arg, void *ret, size_t cap)
{
	const struct device_ask *ask = arg;
	int err = cap < sizeof(struct held) ? -ENOBUFS : held_read(ask->root, (pid_t)ask->pid, ret);

	return err ? err : (ssize_t)sizeof(struct held);
}

static void devices_held(struct devices *d, uint32_t pid, struct device_process *p)
{
	struct device_ask ask = {d->root, pid};
	bool soon = !p->held.count && p->tries < HELD_TRIES;
	uint32_t pause = soon ? HELD_TICKS : CHECK_TICKS;
	const void *held;

	if ((p->read_tick && d->tick - p->read_tick < pause) || d->reads == HELD_READS)
		return;
	d->reads++;
	p->read_tick = d->tick;
	p->tries++;
	if (helper_call(d->look, devices_held_there, &ask, sizeof(ask), &held) == sizeof(p->held))
		memcpy(&p->held, held, sizeof(p->held));
}

static void devices_on_trainer(void *ctx, uint32_t pid, uint32_t tid)
{
	struct devices *d = ctx;
	struct device_process *p = table_get(d->processes, pid);

	(void)tid;
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p || table_put(d->processes, pid, p)) {
			free(p);
			return;
		}
		p->index = -1;
	}
	p->tick = d->tick;
	devices_held(d, pid, p);
}

/* Finds out which device the process uses, and sets kind and index of p. */
static void devices_choose(const struct devices *d, uint32_t pid, struct device_process *p,
			   const struct device_reply *r)
{
	int nvidia = held_choose(&p->held, r->nvidia, r->nnvidia, d->ordered), drm = -ENODEV;

	if (nvidia == -ENODEV)
		drm = held_choose(&p->held, r->drm, r->ndrm, true);
	p->kind = nvidia == -ENODEV ? DEVICE_DRM : DEVICE_NVIDIA;
	p->index = p->kind == DEVICE_DRM ? drm : nvidia;
	if (p->index != -ENOTUNIQ || p->logged)
		return;
	log_info(
		"process %u: it has %u accelerators open, and neither its environment nor its rank on this node shows which one it uses; the clock of its accelerator is not reported",
		pid, p->held.count);
	p->logged = true;
}

/* ---- figures --------------------------------------------------------------------------------- */

static void devices_record(struct journal *j, uint32_t pid, const struct device_process *p,
			   const struct device_reply *r)
{
	const struct gp_device *figures = p->kind == DEVICE_NVIDIA ? r->nvidia_figures
								   : r->drm_figures;
	struct gp_device *own;

	if (p->index < 0 || !*figures[p->index].name)
		return;
	own = journal_record(j, GP_KIND_device, pid, 0);
	if (!own)
		return;
	*own = figures[p->index];
	own->at_ns = r->at_ns;
}

static void devices_failed(struct devices *d, uint64_t now_ns, const char *how)
{
	d->pause_ns = now_ns +
		      backoff_next(&d->backoff, &device_pause, BACKOFF_UNASKED, backoff_random());
	if (!d->stuck)
		log_warn(
			"accelerators: the helper process that reads their clocks %s; it is started again after a pause, and their clocks are not reported meanwhile",
			how);
	d->stuck = true;
}

static void devices_take(struct devices *d, struct journal *j, const struct device_reply *r)
{
	struct device_process *p;
	uint64_t pid;

	d->backoff = (struct backoff){0};
	d->stuck = false;
	if (r->error && !d->lacking)
		log_info("accelerators: %s; clocks of NVIDIA's are not reported", r->why);
	d->lacking = r->error;
	for (size_t at = 0; (p = table_next(d->processes, &at, &pid));) {
		if (!p->held.count)
			continue;
		devices_choose(d, (uint32_t)pid, p, r);
		devices_record(j, (uint32_t)pid, p, r);
	}
}

static void devices_answer(struct devices *d, struct journal *j, uint64_t now_ns)
{
	const void *reply;
	ssize_t n = helper_answer(d->helper, 0, &reply);

	if (n == -EAGAIN && now_ns - d->asked_ns <= LATE_NS)
		return;
	d->waiting = false;
	if (n == sizeof(struct device_reply)) {
		devices_take(d, j, reply);
		return;
	}
	if (n == -EAGAIN)
		helper_drop(d->helper);
	devices_failed(d, now_ns, n == -EAGAIN ? "does not answer" : "has ended");
}

/* Removes processes that no longer train, and fills the request for the figures of the others'
 * devices. Returns false if no process has an accelerator open. */
static bool devices_request(struct devices *d, struct device_request *ret)
{
	struct device_process *p;
	bool any = false;
	uint64_t pid;

	*ret = (struct device_request){.root = d->root};
	for (size_t at = 0; (p = table_next(d->processes, &at, &pid));) {
		if (p->tick != d->tick) {
			free(table_take(d->processes, pid));
			continue;
		}
		for (uint32_t i = 0; i < p->held.count; i++)
			ret->nvidia |= p->held.device[i].kind == DEVICE_NVIDIA;
		any |= p->held.count;
		if (p->index >= 0 && p->kind == DEVICE_NVIDIA)
			ret->nvidia_read |= 1ull << p->index;
		else if (p->index >= 0)
			ret->drm_read |= 1ull << p->index;
	}
	return any;
}

void devices_tick(struct devices *d, struct journal *j, const struct output *out)
{
	uint64_t now_ns = clock_mono_ns();
	struct device_request ask;
	int err;

	d->tick++;
	d->reads = 0;
	if (d->waiting)
		devices_answer(d, j, now_ns);
	output_trainers(out, devices_on_trainer, d);
	if (!devices_request(d, &ask) || d->waiting || now_ns < d->pause_ns)
		return;
	err = helper_ask(d->helper, device_read_there, &ask, sizeof(ask));
	if (err) {
		devices_failed(d, now_ns, "cannot be asked");
		return;
	}
	d->asked_ns = now_ns;
	d->waiting = true;
}
