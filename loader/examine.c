/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/examine.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/gp_private.h"
#include "loader/kernel/feature.h"
#include "skel/examine.skel.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/number.h"
#include "userspace/base/worker.h"

_Static_assert(EXAMINE_THREADS == GP_EXAM_THREADS, "threads");
_Static_assert(EXAMINE_CALLS == GP_EXAM_CALLS, "calls");
_Static_assert((int)EXAMINE_CALL_FD == (int)GP_EXAM_CALL_FD, "calls");
_Static_assert((int)EXAMINE_CALL_POLL == (int)GP_EXAM_CALL_POLL, "calls");

#define CHECK_NS   500000000ull /* time between two checks of the cost of an examination */
#define SECOND_NS  1000000000ull
#define RUN_NS	   30ull /* ns to call a BPF program; not in gp_exam_cpu.cost_ns */
#define TYPE_SHIFT 12	 /* shift from gp_exam_key.type to the bits of S_IFMT */

/* The present or last examination */
struct examine {
	struct worker worker;
	struct examine_bpf *bpf; /* NULL: not loaded yet */
	uint64_t overhead_ns;
	bool started; /* a thread was started, and its result was not taken yet */
	bool done;    /* the thread has finished; protected by the lock of worker */
	struct examine_request request;
	struct examine_result result;
};

int examine_new(struct examine **ret, uint64_t overhead_ns)
{
	struct examine *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->overhead_ns = overhead_ns;
	*ret = e;
	return 0;
}

void examine_free(struct examine *e)
{
	if (!e)
		return;
	if (e->started)
		worker_free(&e->worker);
	examine_bpf__destroy(e->bpf);
	free(e);
}

/* ---- programs, in the thread ----------------------------------------------------------------- */

/* Loads the programs. Returns NULL after an error, and sets *ret_err. */
static struct examine_bpf *examine_load(bool blocks, int *ret_err)
{
	struct examine_bpf *bpf = examine_bpf__open();

	*ret_err = bpf ? 0 : -errno;
	if (!bpf)
		return NULL;
	bpf->rodata->gp_exam_reads = feature_have(FEATURE_KERNEL_READ);
	bpf_program__set_autoload(bpf->progs.gp_exam_block, blocks);
	*ret_err = examine_bpf__load(bpf);
	if (!*ret_err)
		return bpf;
	examine_bpf__destroy(bpf);
	return NULL;
}

/* Loads the programs. If that fails, loads them without the one for block I/O: the kernel may have
 * no block devices, or another tracepoint. */
static int examine_open(struct examine *e)
{
	int err = 0;

	if (!e->bpf)
		e->bpf = examine_load(true, &err);
	if (!e->bpf)
		e->bpf = examine_load(false, &err);
	return err;
}

static void examine_map_clear(const struct bpf_map *map, void *key)
{
	int fd = bpf_map__fd(map);

	while (!bpf_map_get_next_key(fd, NULL, key) && !bpf_map_delete_elem(fd, key))
		;
}

static int examine_cpus_clear(const struct examine *e)
{
	int n = libbpf_num_possible_cpus(), err;
	struct gp_exam_cpu *cpus = n > 0 ? calloc((size_t)n, sizeof(*cpus)) : NULL;
	uint32_t only = 0;

	if (!cpus)
		return -ENOMEM;
	err = bpf_map_update_elem(bpf_map__fd(e->bpf->maps.gp_exam_cpus), &only, cpus, BPF_ANY);
	free(cpus);
	return err;
}

/* Empties the maps, and sets the threads that the programs follow. */
static int examine_reset(const struct examine *e)
{
	struct gp_exam_scan *scan = &e->bpf->bss->gp_exam_scan;
	struct gp_exam_thread none = {0};
	struct gp_exam_wait empty = {0};
	struct gp_exam_key key;
	struct gp_exam_pair pair;
	uint64_t device;

	examine_map_clear(e->bpf->maps.gp_exam_waits, &key);
	examine_map_clear(e->bpf->maps.gp_exam_ran, &pair);
	examine_map_clear(e->bpf->maps.gp_exam_devices, &device);
	for (uint32_t i = 0; i < EXAMINE_THREADS; i++) {
		bpf_map_update_elem(bpf_map__fd(e->bpf->maps.gp_exam_threads), &i, &none, BPF_ANY);
		key = (struct gp_exam_key){.thread = i, .syscall = GP_EXAM_BEFORE, .fd = -1};
		bpf_map_update_elem(bpf_map__fd(e->bpf->maps.gp_exam_waits), &key, &empty, BPF_ANY);
	}
	*scan = (struct gp_exam_scan){.count = (uint32_t)e->request.count};
	for (int i = 0; i < e->request.count; i++)
		scan->tid[i] = (uint32_t)e->request.thread[i].tid;
	memcpy(scan->call, e->request.call, sizeof(scan->call));
	scan->from_ns = clock_mono_ns();
	/* After this time the programs do nothing, even if this process was stopped and cannot
	 * detach them. */
	scan->until_ns = scan->from_ns + e->request.length_ns + SECOND_NS;
	return examine_cpus_clear(e);
}

/* Reads the time and the number of runs of the examination's BPF programs so far. Returns the time
 * (ns) on the busiest CPU. */
static uint64_t examine_cost(const struct examine *e, uint64_t *ret_runs)
{
	int n = libbpf_num_possible_cpus();
	struct gp_exam_cpu *cpus = n > 0 ? calloc((size_t)n, sizeof(*cpus)) : NULL;
	uint64_t most_ns = 0;
	uint32_t only = 0;

	*ret_runs = 0;
	if (cpus && !bpf_map_lookup_elem(bpf_map__fd(e->bpf->maps.gp_exam_cpus), &only, cpus)) {
		for (int i = 0; i < n; i++) {
			most_ns = larger_of(most_ns, cpus[i].cost_ns + RUN_NS * cpus[i].runs);
			*ret_runs += cpus[i].runs;
		}
	}
	free(cpus);
	return most_ns;
}

/* Waits until the length of the examination is over. Returns earlier if the programs have cost as
 * much as the budget allows for the whole length. */
static void examine_watch(struct examine *e)
{
	double most_ns = (double)e->overhead_ns * (double)e->request.length_ns / SECOND_NS;
	uint64_t now_ns = clock_mono_ns(), until_ns = now_ns + e->request.length_ns, runs;

	for (; now_ns < until_ns; now_ns = clock_mono_ns()) {
		if (!worker_sleep(&e->worker, smaller_of(CHECK_NS, until_ns - now_ns)))
			return;
		e->result.dear = e->overhead_ns && (double)examine_cost(e, &runs) > most_ns;
		if (e->result.dear)
			return;
	}
}

/* ---- results, in the thread ------------------------------------------------------------------ */

static struct examine_wait examine_wait_of(const struct gp_exam_key *key,
					   const struct gp_exam_wait *sum)
{
	struct examine_wait w = {
		.ns = sum->ns,
		.worst_ns = sum->worst_ns,
		.count = sum->count,
		.slow = sum->slow,
		.syscall = key->syscall,
		.fd = key->fd,
		.block = key->flags & GP_EXAM_IO,
		.known = key->flags & GP_EXAM_KNOWN,
		.inet = key->flags & GP_EXAM_INET,
		.type = (uint32_t)key->type << TYPE_SHIFT,
		.address = sum->address,
		.port = ntohs(sum->port),
	};

	_Static_assert(sizeof(w.name) == GP_EXAM_NAME_MAX, "name");
	memcpy(w.name, sum->name, sizeof(w.name));
	return w;
}

static uint64_t examine_ns_of(const void *item)
{
	uint64_t ns;

	memcpy(&ns, item, sizeof(ns));
	return ns;
}

/* Inserts an item into an array of at most max items, most time first. Each item begins with its
 * time (ns). */
static void examine_insert(void *array, int *count, int max, size_t size, const void *item)
{
	char *items = array;
	int at = *count;

	while (at && examine_ns_of(items + (size_t)(at - 1) * size) < examine_ns_of(item))
		at--;
	if (at == max)
		return;
	if (*count < max)
		(*count)++;
	memmove(items + (size_t)(at + 1) * size, items + (size_t)at * size,
		(size_t)(*count - 1 - at) * size);
	memcpy(items + (size_t)at * size, item, size);
}

/* Adds the sleep, or the wait for a CPU, in which the thread is at the end of the examination. */
static void examine_pending(struct examine_result *r, struct examine_done *d,
			    const struct gp_exam_thread *t, struct gp_exam_key *ret_key,
			    uint64_t *ret_ns)
{
	*ret_ns = 0;
	d->runnable_ns = t->runnable_ns;
	if (!t->left_ns)
		return;
	if (t->woken_ns)
		d->runnable_ns += more_than(r->to_ns, t->woken_ns);
	*ret_ns = more_than(t->woken_ns ? t->woken_ns : r->to_ns, t->left_ns);
	*ret_key = t->key;
}

static void examine_collect_waits(const struct examine *e, struct examine_result *r,
				  const struct gp_exam_key *pending, const uint64_t *pending_ns)
{
	int fd = bpf_map__fd(e->bpf->maps.gp_exam_waits);
	struct gp_exam_key key, *last = NULL;
	struct gp_exam_wait sum;

	for (; !bpf_map_get_next_key(fd, last, &key); last = &key) {
		struct examine_done *d = &r->done[key.thread % EXAMINE_THREADS];
		struct examine_wait w;

		if (bpf_map_lookup_elem(fd, &key, &sum))
			continue;
		w = examine_wait_of(&key, &sum);
		if (pending_ns[key.thread % EXAMINE_THREADS] &&
		    !memcmp(&pending[key.thread % EXAMINE_THREADS], &key, sizeof(key))) {
			uint64_t ns = pending_ns[key.thread % EXAMINE_THREADS];

			w.ns += ns;
			w.count++;
			w.slow += ns >= GP_EXAM_SLOW_NS;
			w.worst_ns = larger_of(w.worst_ns, ns);
		}
		if (w.ns)
			examine_insert(d->wait, &d->nwaits, EXAMINE_WAITS, sizeof(w), &w);
	}
}

static void examine_collect_ran(const struct examine *e, struct examine_result *r)
{
	int fd = bpf_map__fd(e->bpf->maps.gp_exam_ran);
	struct gp_exam_pair pair, *last = NULL;
	struct gp_exam_ran sum;

	for (; !bpf_map_get_next_key(fd, last, &pair); last = &pair) {
		struct examine_done *d = &r->done[pair.thread % EXAMINE_THREADS];
		struct examine_ran ran = {.pid = pair.pid};

		if (bpf_map_lookup_elem(fd, &pair, &sum))
			continue;
		ran.ns = sum.ns;
		memcpy(ran.comm, sum.comm, sizeof(ran.comm));
		examine_insert(d->ran, &d->nran, EXAMINE_RAN, sizeof(ran), &ran);
	}
}

static void examine_collect_devices(const struct examine *e, struct examine_result *r)
{
	int fd = bpf_map__fd(e->bpf->maps.gp_exam_devices);
	struct gp_exam_device sum;
	uint64_t key, *last = NULL;

	for (; !bpf_map_get_next_key(fd, last, &key); last = &key) {
		struct examine_device device = {.major = (uint32_t)(key >> 32),
						.minor = (uint32_t)key};

		if (bpf_map_lookup_elem(fd, &key, &sum))
			continue;
		device.ns = sum.ns;
		device.count = sum.count;
		device.slow = sum.slow;
		device.worst_ns = sum.worst_ns;
		examine_insert(r->device, &r->ndevices, EXAMINE_DEVICES, sizeof(device), &device);
	}
}

static void examine_collect(const struct examine *e, struct examine_result *r)
{
	struct gp_exam_key pending[EXAMINE_THREADS] = {0};
	uint64_t pending_ns[EXAMINE_THREADS] = {0};

	r->count = e->request.count;
	r->blocks = bpf_program__autoload(e->bpf->progs.gp_exam_block);
	for (uint32_t i = 0; i < (uint32_t)r->count; i++) {
		struct gp_exam_thread t = {0};

		r->done[i].thread = e->request.thread[i];
		bpf_map_lookup_elem(bpf_map__fd(e->bpf->maps.gp_exam_threads), &i, &t);
		examine_pending(r, &r->done[i], &t, &pending[i], &pending_ns[i]);
		r->done[i].still = !t.seen;
	}
	examine_collect_waits(e, r, pending, pending_ns);
	examine_collect_ran(e, r);
	examine_collect_devices(e, r);
}

static void examine_run(void *ctx)
{
	struct examine *e = ctx;
	struct examine_result *r = &e->result;

	*r = (struct examine_result){.error = examine_open(e)};
	if (!r->error)
		r->error = examine_reset(e);
	if (!r->error) {
		r->from_ns = e->bpf->bss->gp_exam_scan.from_ns;
		r->error = examine_bpf__attach(e->bpf);
		if (!r->error)
			examine_watch(e);
		r->to_ns = clock_mono_ns();
		examine_bpf__detach(e->bpf);
	}
	if (!r->error) {
		r->cost_ns = examine_cost(e, &r->runs);
		examine_collect(e, r);
	}
	worker_lock(&e->worker);
	e->done = true;
	worker_unlock(&e->worker);
}

/* ---- requests -------------------------------------------------------------------------------- */

int examine_begin(struct examine *e, const struct examine_request *r)
{
	int err;

	if (e->started)
		return -EBUSY;
	if (r->count < 1 || r->count > EXAMINE_THREADS || r->length_ns > EXAMINE_MAX_NS)
		return -EINVAL;
	e->request = *r;
	e->done = false;
	worker_init(&e->worker);
	err = worker_start(&e->worker, "examine", examine_run, e);
	if (err)
		worker_free(&e->worker);
	else
		e->started = true;
	return err;
}

const struct examine_result *examine_take(struct examine *e)
{
	bool done;

	if (!e->started)
		return NULL;
	worker_lock(&e->worker);
	done = e->done;
	worker_unlock(&e->worker);
	if (!done)
		return NULL;
	worker_free(&e->worker);
	e->started = false;
	return &e->result;
}

bool examine_busy(const struct examine *e)
{
	return e->started;
}
