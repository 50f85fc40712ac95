/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/watch_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "userspace/base/helper.h"
#include "userspace/base/clock.h"
#include "userspace/identity/program_name.h"
#include "userspace/identity/program_object.h"
#include "userspace/watch/code_runs.h"

#define ROWS_MAX   16
#define QUEUE_MAX  64
#define SECOND_MAX (256ull << 20) /* limit of bytes of program code read in a second */
#define READ_NS	   2000000000ull
#define WAIT_NS	   2000000ull
/* Hits of two probes are treated as one call if they are at most this time (ns) apart; the thread
 * may be preempted in between. */
#define SAME_NS 10000000ull
/* Limit of queued requests for programs that already run. Requests for programs that are being
 * compiled are more urgent and have no such limit. */
#define RUNS_QUEUED 32

enum row_kind {
	ROW_CODE,   /* probe hit: a program is about to be compiled */
	ROW_CACHED, /* probe hit: a program compiled earlier is about to be loaded */
	ROW_RUN,    /* a program runs */
	ROW_LOADED, /* a program gets the handle that identifies it in later runs */
};

/* A request for the name of a program */
struct asked {
	pid_t pid, tid;
	uint32_t probe;
	uint64_t ts_ns, code, bytes;
	enum row_kind kind;
};

struct codes {
	struct loader *loader;
	struct journal *journal;
	const struct probe_table *probes;
	struct helper *helper;
	struct {
		uint32_t probe;
		enum row_kind kind;
	} rows[ROWS_MAX]; /* probe rows that report programs */
	struct code_runs runs;
	size_t rows_count;
	/* requests; if since_ns is set, the first request is being processed */
	struct asked queue[QUEUE_MAX];
	size_t count;
	uint64_t since_ns;
	uint64_t second_ns, read;   /* begin of the present second, and bytes read in it */
	const struct asked *sought; /* the request whose program is being searched for */
	bool open;
};

static bool watch_code_row_kind(const struct probe_row *row, enum row_kind *ret)
{
	bool two = row->captures == 2 && !row->returns && row->string == PROBE_STRING_NONE;

	*ret = row->role == GP_ROLE_compile_begin ? ROW_CODE
	       : row->role == GP_ROLE_cached	  ? ROW_CACHED
	       : row->role == GP_ROLE_execute	  ? ROW_RUN
						  : ROW_LOADED;
	if (*ret == ROW_CODE || *ret == ROW_CACHED)
		return two;
	return row->object;
}

int codes_new(struct codes **ret, struct loader *l, const struct probe_table *probes,
	      struct journal *j)
{
	struct codes *cs = calloc(1, sizeof(*cs));
	int err = cs ? helper_new(&cs->helper, sizeof(struct program_name)) : -ENOMEM;

	if (err) {
		free(cs);
		return err;
	}
	cs->loader = l;
	cs->journal = j;
	cs->probes = probes;
	for (size_t i = 0; i < probe_table_count(probes) && cs->rows_count < ROWS_MAX; i++) {
		const struct probe_row *row = probe_table_row(probes, i);

		if (watch_code_row_kind(row, &cs->rows[cs->rows_count].kind))
			cs->rows[cs->rows_count++].probe = row->hash;
	}
	*ret = cs;
	return 0;
}

void codes_free(struct codes *cs)
{
	if (!cs)
		return;
	if (cs->since_ns)
		helper_drop(cs->helper);
	helper_free(cs->helper);
	free(cs);
}

/* ---- in the helper process ------------------------------------------------------------------- */

static size_t code_memory_read(void *ctx, uint64_t address, void *to, size_t bytes)
{
	const struct asked *asked = ctx;
	struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)address, bytes};
	ssize_t n = process_vm_readv(asked->pid, &local, 1, &remote, 1, 0);

	/* If the range continues into a page that is not mapped, read up to the end of the first
	 * page. */
	if (n <= 0 && bytes > 4096 - address % 4096) {
		local.iov_len = remote.iov_len = 4096 - address % 4096;
		n = process_vm_readv(asked->pid, &local, 1, &remote, 1, 0);
	}
	return n > 0 ? (size_t)n : 0;
}

static ssize_t watch_code_object_there(const void *arg, void *ret, size_t cap)
{
	struct asked asked = *(const struct asked *)arg;

	if (cap < sizeof(struct program_name))
		return -ENOMEM;
	program_object_scan(code_memory_read, &asked, asked.code, ret);
	return sizeof(struct program_name);
}

static ssize_t watch_code_name_there(const void *arg, void *ret, size_t cap)
{
	struct asked asked = *(const struct asked *)arg;
	int err;

	if (cap < sizeof(struct program_name))
		return -ENOMEM;
	err = program_code_scan(code_memory_read, &asked, asked.code, asked.bytes,
				asked.kind == ROW_CACHED, ret);
	return err ? err : (ssize_t)sizeof(struct program_name);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void watch_code_open_call(void *ctx, const struct open_call *c)
{
	struct codes *cs = ctx;
	const struct asked *a = cs->sought;
	const struct probe_row *row;

	if (c->tid != a->tid || c->since_ns > a->ts_ns + SAME_NS ||
	    a->ts_ns > c->since_ns + SAME_NS)
		return;
	row = probe_table_row(cs->probes, probe_table_index(cs->probes, c->probe));
	cs->open |= row && row->role == (a->kind == ROW_CACHED ? GP_ROLE_cached : GP_ROLE_compile);
}

/* Returns true while the memory with the code of the program is valid: until the compiler returns,
 * or always for a running program. */
static bool watch_code_still_open(struct codes *cs, const struct asked *a)
{
	if (a->kind == ROW_RUN)
		return true;
	cs->sought = a;
	cs->open = false;
	loader_open_calls(cs->loader, clock_mono_ns(), 0, watch_code_open_call, cs);
	return cs->open;
}

static void code_report(struct codes *cs, const struct program_name *name)
{
	const struct asked a = cs->queue[0];
	bool known = name && name->name[0], open = known && watch_code_still_open(cs, &a);
	struct gp_program *own = journal_record(cs->journal, GP_KIND_program, (uint32_t)a.pid,
						a.probe);

	memmove(cs->queue, cs->queue + 1, --cs->count * sizeof(*cs->queue));
	cs->since_ns = 0;
	if (!own)
		return;
	((struct gp_rec *)own - 1)->tid = (uint32_t)a.tid;
	own->code = a.code;
	own->bytes = a.bytes;
	own->flags = a.kind == ROW_RUN ? GP_PROGRAM_LOADED : 0;
	/* Drop the name if the call has returned, because the memory may have been reused. The name
	 * of a long program stays, as it was read from the first piece long before the return. */
	if (!known || (!open && a.bytes <= PROGRAM_CODE_PIECE))
		return;
	memcpy(own->name, name->name, sizeof(own->name));
	if (open)
		own->flags |= (name->ops_named ? GP_PROGRAM_READ : 0) |
			      (name->gradient ? GP_PROGRAM_GRADIENT : 0);
}

/* ---- records --------------------------------------------------------------------------------- */

/* Gets the first two values that the probe has recorded. */
static bool watch_code_record_values(const struct gp_rec *rec, uint64_t ret[2])
{
	struct gp_call call;
	struct gp_hit hit;

	if (rec->kind == GP_KIND_hit && rec->len == sizeof(*rec) + sizeof(hit)) {
		memcpy(&hit, rec + 1, sizeof(hit));
		memcpy(ret, hit.arg, sizeof(hit.arg));
		return true;
	}
	if (rec->kind != GP_KIND_call || rec->len != sizeof(*rec) + sizeof(call))
		return false;
	memcpy(&call, rec + 1, sizeof(call));
	memcpy(ret, call.arg, 2 * sizeof(*ret));
	return true;
}

/* Adds a request. A request for a program that is being compiled goes before all requests for
 * running programs, except the first of the queue, which the helper process may be reading. */
static void watch_code_queue_add(struct codes *cs, const struct asked *a)
{
	size_t i = cs->count++;

	for (; a->kind != ROW_RUN && i > (cs->since_ns != 0) && cs->queue[i - 1].kind == ROW_RUN;
	     i--)
		cs->queue[i] = cs->queue[i - 1];
	cs->queue[i] = *a;
}

static bool watch_code_run_wanted(struct codes *cs, const struct asked *a)
{
	size_t runs = 0;

	for (size_t i = 0; i < cs->count; i++)
		runs += cs->queue[i].kind == ROW_RUN;
	return runs < RUNS_QUEUED && cs->count < QUEUE_MAX &&
	       code_runs_new(&cs->runs, a->pid, a->code, a->ts_ns);
}

static void watch_code_record_seen(struct codes *cs, const struct gp_rec *rec)
{
	struct asked a = {.pid = (pid_t)rec->pid,
			  .tid = (pid_t)rec->tid,
			  .probe = rec->probe,
			  .ts_ns = rec->ts_ns};
	uint64_t value[2];
	size_t i = 0;

	while (i < cs->rows_count && cs->rows[i].probe != rec->probe)
		i++;
	if (i == cs->rows_count || !watch_code_record_values(rec, value) || !value[0])
		return;
	a.kind = cs->rows[i].kind;
	a.code = value[0];
	a.bytes = a.kind == ROW_RUN ? 0 : value[1];
	if (a.kind == ROW_LOADED)
		code_runs_forget(&cs->runs, a.pid, a.code);
	else if (a.kind == ROW_RUN ? watch_code_run_wanted(cs, &a)
				   : cs->count < QUEUE_MAX && a.bytes)
		watch_code_queue_add(cs, &a);
}

void codes_gone(struct codes *cs, pid_t pid)
{
	code_runs_gone(&cs->runs, pid);
}

void codes_records(struct codes *cs, const void *records, size_t len)
{
	const struct gp_rec *rec;

	for (size_t at = 0; cs->rows_count && (rec = gp_rec_next(records, len, &at));)
		watch_code_record_seen(cs, rec);
}

static bool watch_code_bytes_left(struct codes *cs, uint64_t now_ns, uint64_t bytes)
{
	if (now_ns - cs->second_ns >= 1000000000ull) {
		cs->second_ns = now_ns;
		cs->read = 0;
	}
	cs->read += bytes;
	return cs->read <= SECOND_MAX;
}

static void watch_code_ask_next(struct codes *cs, uint64_t now_ns)
{
	struct asked a = cs->queue[0];

	if (!watch_code_still_open(cs, &a) ||
	    !watch_code_bytes_left(cs, now_ns,
				   a.bytes < PROGRAM_CODE_MAX ? a.bytes : PROGRAM_CODE_MAX) ||
	    helper_ask(cs->helper,
		       a.kind == ROW_RUN ? watch_code_object_there : watch_code_name_there, &a,
		       sizeof(a)))
		code_report(cs, NULL);
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
			watch_code_ask_next(cs, now_ns);
			continue;
		}
		n = helper_answer(cs->helper, now_ns < until_ns ? 1 : 0, &answer);
		if (n == -EAGAIN && now_ns - cs->since_ns >= READ_NS) {
			helper_drop(cs->helper);
			n = -ETIMEDOUT;
		}
		if (n != -EAGAIN)
			code_report(cs, n == sizeof(struct program_name) ? answer : NULL);
		else if (now_ns >= until_ns)
			return;
	}
}
