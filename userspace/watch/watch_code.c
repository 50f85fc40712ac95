/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/watch_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "userspace/base/aside.h"
#include "userspace/base/clock.h"
#include "userspace/identity/program_name.h"

#define ROWS_MAX    16
#define QUEUE_MAX   64
#define BYTES_MAX   (64ull << 20)  /* of one program */
#define SECOND_MAX  (256ull << 20) /* of all in a second */
#define PIECE_BYTES (1u << 20)
#define READ_NS	    2000000000ull
#define WAIT_NS	    2000000ull
#define SAME_NS	    10000000ull /* between the two probes of one call: this thread was preempted */

struct asked {
	pid_t pid, tid;
	uint32_t probe;
	uint64_t ts_ns, code, bytes;
	bool cached; /* the code is a compiled one */
};

struct codes {
	struct loader *loader;
	struct journal *journal;
	const struct probe_table *probes;
	struct aside *aside;
	struct {
		uint32_t probe;
		bool cached;
	} rows[ROWS_MAX]; /* that tell of code */
	size_t rows_count;
	struct asked queue[QUEUE_MAX]; /* the first is being read when since_ns is set */
	size_t count;
	uint64_t since_ns;
	uint64_t second_ns, read;   /* bytes, in the second that began then */
	const struct asked *sought; /* of the walk in progress */
	bool open;
};

int codes_new(struct codes **ret, struct loader *l, const struct probe_table *probes,
	      struct journal *j)
{
	struct codes *cs = calloc(1, sizeof(*cs));
	int err = cs ? aside_new(&cs->aside, sizeof(struct program_name)) : -ENOMEM;

	if (err) {
		free(cs);
		return err;
	}
	cs->loader = l;
	cs->journal = j;
	cs->probes = probes;
	for (size_t i = 0; i < probe_table_count(probes) && cs->rows_count < ROWS_MAX; i++) {
		const struct probe_row *row = probe_table_row(probes, i);

		if ((row->role == GP_ROLE_compile_begin || row->role == GP_ROLE_cached) &&
		    row->captures == 2 && !row->returns && row->string == PROBE_STRING_NONE) {
			cs->rows[cs->rows_count].cached = row->role == GP_ROLE_cached;
			cs->rows[cs->rows_count++].probe = row->hash;
		}
	}
	*ret = cs;
	return 0;
}

void codes_free(struct codes *cs)
{
	if (!cs)
		return;
	if (cs->since_ns)
		aside_drop(cs->aside);
	aside_free(cs->aside);
	free(cs);
}

/* ---- in the other process
 * ------------------------------------------------------------------------ */

static ssize_t name_there(const void *arg, void *ret, size_t cap)
{
	const struct asked *asked = arg;
	char *piece = malloc(PIECE_BYTES);
	struct program_name name = {0};
	uint64_t at = 0;
	size_t held = 0; /* of the piece before */

	if (!piece || cap < sizeof(name)) {
		free(piece);
		return -ENOMEM;
	}
	while (at < asked->bytes && !name.sure) {
		uint64_t left = asked->bytes - at;
		struct iovec to = {piece + held,
				   left < PIECE_BYTES - held ? left : PIECE_BYTES - held};
		struct iovec from = {(void *)(uintptr_t)(asked->code + at), to.iov_len};
		ssize_t n = process_vm_readv(asked->pid, &to, 1, &from, 1, 0);

		if (n <= 0)
			break;
		if (asked->cached) { /* its beginning is all that tells a name */
			program_name_cached(&name, piece, (size_t)n, asked->bytes);
			break;
		}
		program_name_look(&name, piece, held + (size_t)n, !at);
		at += (uint64_t)n;
		held += (size_t)n;
		if (held > PROGRAM_NAME_OVERLAP) {
			memmove(piece, piece + held - PROGRAM_NAME_OVERLAP, PROGRAM_NAME_OVERLAP);
			held = PROGRAM_NAME_OVERLAP;
		}
	}
	free(piece);
	memcpy(ret, &name, sizeof(name));
	return sizeof(name);
}

/* ---- asking
 * -------------------------------------------------------------------------------------- */

static void open_call(void *ctx, const struct open_call *c)
{
	struct codes *cs = ctx;
	const struct asked *a = cs->sought;
	const struct probe_row *row;

	if (c->tid != a->tid || c->since_ns > a->ts_ns + SAME_NS ||
	    a->ts_ns > c->since_ns + SAME_NS)
		return;
	row = probe_table_row(cs->probes, probe_table_index(cs->probes, c->probe));
	cs->open |= row && row->role == (a->cached ? GP_ROLE_cached : GP_ROLE_compile);
}

/* Whether the compiler is still at it: else the memory may hold something else by now. */
static bool still_open(struct codes *cs, const struct asked *a)
{
	cs->sought = a;
	cs->open = false;
	loader_open_calls(cs->loader, clock_mono_ns(), 0, open_call, cs);
	return cs->open;
}

static void tell(struct codes *cs, const struct program_name *name)
{
	const struct asked a = cs->queue[0];
	bool known = name && name->name[0] && still_open(cs, &a);
	struct gp_program *own = journal_record(cs->journal, GP_KIND_program, (uint32_t)a.pid,
						a.probe);

	memmove(cs->queue, cs->queue + 1, --cs->count * sizeof(*cs->queue));
	cs->since_ns = 0;
	if (!own)
		return;
	((struct gp_rec *)own - 1)->tid = (uint32_t)a.tid;
	own->code = a.code;
	own->bytes = a.bytes;
	if (known)
		memcpy(own->name, name->name, sizeof(own->name));
}

static void record_seen(struct codes *cs, const struct gp_rec *rec)
{
	struct gp_hit hit;
	size_t i = 0;

	if (rec->kind != GP_KIND_hit || rec->len != sizeof(*rec) + sizeof(hit))
		return;
	while (i < cs->rows_count && cs->rows[i].probe != rec->probe)
		i++;
	memcpy(&hit, rec + 1, sizeof(hit));
	if (i == cs->rows_count || cs->count == QUEUE_MAX || !hit.arg[0] || !hit.arg[1])
		return;
	cs->queue[cs->count++] = (struct asked){.pid = (pid_t)rec->pid,
						.tid = (pid_t)rec->tid,
						.probe = rec->probe,
						.ts_ns = rec->ts_ns,
						.code = hit.arg[0],
						.bytes = hit.arg[1],
						.cached = cs->rows[i].cached};
}

void codes_records(struct codes *cs, const void *records, size_t len)
{
	const struct gp_rec *rec;

	for (size_t at = 0; cs->rows_count && (rec = gp_rec_next(records, len, &at));)
		record_seen(cs, rec);
}

static bool bytes_left(struct codes *cs, uint64_t now_ns, uint64_t bytes)
{
	if (now_ns - cs->second_ns >= 1000000000ull) {
		cs->second_ns = now_ns;
		cs->read = 0;
	}
	cs->read += bytes;
	return cs->read <= SECOND_MAX;
}

static void ask_next(struct codes *cs, uint64_t now_ns)
{
	struct asked a = cs->queue[0];

	a.bytes = a.bytes < BYTES_MAX ? a.bytes : BYTES_MAX;
	if (!still_open(cs, &a) || !bytes_left(cs, now_ns, a.bytes) ||
	    aside_ask(cs->aside, name_there, &a, sizeof(a)))
		tell(cs, NULL);
	else
		cs->since_ns = now_ns;
}

void codes_poll(struct codes *cs)
{
	uint64_t now_ns = clock_mono_ns(), until_ns = now_ns + WAIT_NS;
	const void *answer = NULL;
	ssize_t n;

	for (; cs->count; now_ns = clock_mono_ns()) {
		if (!cs->since_ns) {
			ask_next(cs, now_ns);
			continue;
		}
		n = aside_answer(cs->aside, now_ns < until_ns ? 1 : 0, &answer);
		if (n == -EAGAIN && now_ns - cs->since_ns >= READ_NS) {
			aside_drop(cs->aside);
			n = -ETIMEDOUT;
		}
		if (n != -EAGAIN)
			tell(cs, n == sizeof(struct program_name) ? answer : NULL);
		else if (now_ns >= until_ns)
			return;
	}
}
