/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libnccl.so.2: ranks of one machine meet in shared memory, and a collective is work
 * of each rank's device that really waits for the others and really reduces. A rank that is gone is
 * a remote error, which the watchdog's question tells. pncclX and ncclX are one address, as in the
 * real library. FAKE_NCCL scripts what goes wrong (script.h). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "tests/fake/cuda.h"
#include "tests/fake/script.h"

#define RANKS_MAX   8
#define CHUNK	    65536 /* bytes that a rank shows the others at once */
#define POLL_NS	    20000
#define DEAD_POLLS  500 /* between two looks whether all live */
#define ALIAS(name) __typeof__(name) p##name __attribute__((alias(#name)))
#define ENTER(name)                                                                                \
	do {                                                                                       \
		int error = script_call("FAKE_NCCL", name);                                        \
		if (error)                                                                         \
			return (ncclResult_t)error;                                                \
	} while (0)

struct shared {
	atomic_int pid[RANKS_MAX];
	atomic_uint met; /* ranks that came to a meeting, ever */
	struct {
		atomic_uint full; /* 1: there is something for the receiver */
		char data[CHUNK];
	} mail[RANKS_MAX][RANKS_MAX]; /* from, to */
	char data[RANKS_MAX][CHUNK];
};

struct comm {
	struct shared *shared;
	int ranks, rank, splits;
	unsigned meetings; /* this rank was at */
	uint64_t id;
	atomic_int failed; /* ncclResult_t */
	atomic_int aborted;
	bool whole; /* all ranks were there */
};

enum op { ALL_REDUCE, BROADCAST, REDUCE, ALL_GATHER, REDUCE_SCATTER, SEND, RECV };

struct collective {
	struct comm *comm;
	enum op op;
	const char *from;
	char *to;
	size_t count;
	int type, peer;
};

static size_t type_size(int type)
{
	static const size_t size[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

	return type >= 0 && type < 12 ? size[type] : 0;
}

/* ---- ranks wait for each other --------------------------------------------------------------- */

static bool all_live(const struct comm *c)
{
	for (int i = 0; i < c->ranks; i++) {
		int pid = atomic_load(&c->shared->pid[i]);

		if (pid && kill(pid, 0) && errno == ESRCH)
			return false;
	}
	return true;
}

/* One poll; false: there is nothing to wait for any more. Work of the device that waits for a rank
 * that is gone does so until the communicator is aborted. */
static bool wait_more(struct comm *c, int *polls)
{
	if (++*polls % DEAD_POLLS == 0 && !all_live(c))
		atomic_store(&c->failed, ncclRemoteError);
	if (atomic_load(&c->aborted) || (atomic_load(&c->failed) && !c->whole))
		return false;
	nanosleep(&(struct timespec){0, POLL_NS}, NULL);
	return true;
}

static bool meet(struct comm *c)
{
	unsigned want = ++c->meetings * (unsigned)c->ranks;
	int polls = 0;

	atomic_fetch_add(&c->shared->met, 1);
	while ((int)(atomic_load(&c->shared->met) - want) < 0)
		if (!wait_more(c, &polls))
			return false;
	return true;
}

/* ---- collectives: work of the device --------------------------------------------------------- */

#define ADD(type)                                                                                  \
	for (size_t i = 0; i < bytes / sizeof(type); i++)                                          \
	((type *)to)[i] += ((const type *)from)[i]

static void add(void *to, const void *from, size_t bytes, int type)
{
	if (type == ncclFloat32)
		ADD(float);
	else if (type == ncclFloat64)
		ADD(double);
	else if (type == ncclInt32)
		ADD(int32_t);
	else if (type == ncclInt64)
		ADD(int64_t);
}

/* What all ranks do with `bytes` of theirs at `at`: the block of each rank lies behind that of the
 * one before. */
static void chunk_take(const struct collective *o, size_t at, size_t bytes, size_t block)
{
	struct comm *c = o->comm;

	if (o->op == BROADCAST) {
		memcpy(o->to + at, c->shared->data[o->peer], bytes);
		return;
	}
	if (o->op == ALL_GATHER) {
		for (int i = 0; i < c->ranks; i++)
			memcpy(o->to + (size_t)i * block + at, c->shared->data[i], bytes);
		return;
	}
	if (o->op == REDUCE && o->peer != c->rank)
		return;
	memcpy(o->to + at, c->shared->data[0], bytes);
	for (int i = 1; i < c->ranks; i++)
		add(o->to + at, c->shared->data[i], bytes, o->type);
}

static void run_all(const struct collective *o)
{
	size_t total = o->count * type_size(o->type);

	for (size_t at = 0; at < total; at += CHUNK) {
		size_t bytes = total - at < CHUNK ? total - at : CHUNK;

		memcpy(o->comm->shared->data[o->comm->rank], o->from + at, bytes);
		if (!meet(o->comm))
			return;
		chunk_take(o, at, bytes, total);
		if (!meet(o->comm)) /* nobody writes before all have read */
			return;
	}
}

/* Each rank's part is reduced like all of it, and only that of this rank kept. */
static void run_reduce_scatter(const struct collective *o)
{
	size_t part = o->count * type_size(o->type);
	char *all = malloc(part * (size_t)o->comm->ranks);
	struct collective whole = *o;

	if (!all)
		return;
	whole.op = ALL_REDUCE;
	whole.to = all;
	whole.count *= (size_t)o->comm->ranks;
	run_all(&whole);
	memcpy(o->to, all + part * (size_t)o->comm->rank, part);
	free(all);
}

static void run_mail(const struct collective *o)
{
	struct comm *c = o->comm;
	bool send = o->op == SEND;
	int from = send ? c->rank : o->peer, to = send ? o->peer : c->rank, polls = 0;
	size_t total = o->count * type_size(o->type);

	for (size_t at = 0; at < total; at += CHUNK) {
		size_t bytes = total - at < CHUNK ? total - at : CHUNK;

		while (atomic_load(&c->shared->mail[from][to].full) == send)
			if (!wait_more(c, &polls))
				return;
		if (send)
			memcpy(c->shared->mail[from][to].data, o->from + at, bytes);
		else
			memcpy(o->to + at, c->shared->mail[from][to].data, bytes);
		atomic_store(&c->shared->mail[from][to].full, send);
	}
}

static void run(void *data)
{
	struct collective *o = data;

	if (o->op == SEND || o->op == RECV)
		run_mail(o);
	else if (o->op == REDUCE_SCATTER)
		run_reduce_scatter(o);
	else
		run_all(o);
	free(o);
}

static ncclResult_t enqueue(struct collective o, CUstream stream)
{
	struct collective *kept;

	if (!o.comm || !type_size(o.type) || (o.op == SEND && !o.from) || o.peer < 0 ||
	    o.peer >= o.comm->ranks)
		return ncclInvalidArgument;
	if (atomic_load(&o.comm->failed))
		return (ncclResult_t)atomic_load(&o.comm->failed);
	kept = malloc(sizeof(*kept));
	if (!kept)
		return ncclSystemError;
	*kept = o;
	return cuLaunchHostFunc(stream, run, kept) ? ncclSystemError : ncclSuccess;
}

#define REDUCING(name, which)                                                                      \
	ncclResult_t name(const void *from, void *to, size_t count, int type, int op,              \
			  ncclComm_t comm, CUstream stream);                                       \
	ncclResult_t name(const void *from, void *to, size_t count, int type, int op,              \
			  ncclComm_t comm, CUstream stream)                                        \
	{                                                                                          \
		(void)op;                                                                          \
		ENTER(#name);                                                                      \
		return enqueue((struct collective){comm, which, from, to, count, type, 0},         \
			       stream);                                                            \
	}                                                                                          \
	ALIAS(name)
REDUCING(ncclAllReduce, ALL_REDUCE);
REDUCING(ncclReduceScatter, REDUCE_SCATTER);

#define ROOTED(name, which, between, peer)                                                         \
	ncclResult_t name(const void *from, void *to, size_t count, int type,                      \
			  between ncclComm_t comm, CUstream stream);                               \
	ncclResult_t name(const void *from, void *to, size_t count, int type,                      \
			  between ncclComm_t comm, CUstream stream)                                \
	{                                                                                          \
		ENTER(#name);                                                                      \
		return enqueue((struct collective){comm, which, from, to, count, type, peer},      \
			       stream);                                                            \
	}                                                                                          \
	ALIAS(name)
#define ROOT	int root,
#define OP_ROOT int op, int root,
#define NONE
#pragma GCC diagnostic ignored "-Wunused-parameter"
ROOTED(ncclAllGather, ALL_GATHER, NONE, 0);
ROOTED(ncclAlltoAll, ALL_GATHER, NONE, 0); /* of the calls from here on nobody reads the result */
ROOTED(ncclBroadcast, BROADCAST, ROOT, root);
ROOTED(ncclReduce, REDUCE, OP_ROOT, root);
ROOTED(ncclGather, ALL_GATHER, ROOT, root);
ROOTED(ncclScatter, BROADCAST, ROOT, root);

ncclResult_t ncclSend(const void *from, size_t count, int type, int peer, ncclComm_t comm,
		      CUstream stream)
{
	ENTER("ncclSend");
	return enqueue((struct collective){comm, SEND, from, NULL, count, type, peer}, stream);
}
ALIAS(ncclSend);

ncclResult_t ncclRecv(void *to, size_t count, int type, int peer, ncclComm_t comm, CUstream stream)
{
	ENTER("ncclRecv");
	return enqueue((struct collective){comm, RECV, NULL, to, count, type, peer}, stream);
}
ALIAS(ncclRecv);

ncclResult_t ncclGroupStart(void)
{
	return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
	ENTER("ncclGroupEnd");
	return ncclSuccess;
}
ALIAS(ncclGroupEnd);

/* ---- communicators --------------------------------------------------------------------------- */

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
	/* struct ncclBootstrapHandle: magic, then the address of rank 0: AF_INET, port,
	 * 127.0.0.1 */
	static const unsigned char address[] = {2, 0, 0x9c, 0x40, 127, 0, 0, 1};

	memset(id, 0, sizeof(*id));
	if (getrandom(id->internal, 8, 0) != 8)
		return ncclSystemError;
	memcpy(id->internal + 8, address, sizeof(address));
	return ncclSuccess;
}

static ncclResult_t comm_open(ncclComm_t *comm, uint64_t id, int ranks, int rank)
{
	struct comm *c = calloc(1, sizeof(*c));
	char name[48];
	int fd;

	if (!c || ranks < 1 || ranks > RANKS_MAX || rank < 0 || rank >= ranks)
		return free(c), ncclInvalidArgument;
	*c = (struct comm){.ranks = ranks, .rank = rank, .id = id};
	snprintf(name, sizeof(name), "/gp-bpf-fake-%016llx", (unsigned long long)id);
	fd = shm_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*c->shared)))
		return free(c), ncclSystemError;
	c->shared = mmap(NULL, sizeof(*c->shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (c->shared == MAP_FAILED)
		return free(c), ncclSystemError;
	atomic_store(&c->shared->pid[rank], getpid());
	c->whole = meet(c);
	if (!rank)
		shm_unlink(name);
	*comm = c;
	return (ncclResult_t)atomic_load(&c->failed);
}

static uint64_t id_word(const ncclUniqueId *id)
{
	uint64_t word;

	memcpy(&word, id->internal, sizeof(word));
	return word;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank)
{
	ENTER("ncclCommInitRank");
	return comm_open(comm, id_word(&id), nranks, rank);
}
ALIAS(ncclCommInitRank);

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank,
				    void *config);
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank,
				    void *config)
{
	ENTER("ncclCommInitRankConfig");
	return comm_open(comm, id_word(&id), nranks, rank);
}
ALIAS(ncclCommInitRankConfig);

ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int nranks, int rank, int ids,
				      ncclUniqueId *id, void *config);
ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int nranks, int rank, int ids,
				      ncclUniqueId *id, void *config)
{
	ENTER("ncclCommInitRankScalable");
	return comm_open(comm, id_word(id), nranks, rank);
}
ALIAS(ncclCommInitRankScalable);

ncclResult_t ncclCommInitAll(ncclComm_t *comms, int devices, const int *list);
ncclResult_t ncclCommInitAll(ncclComm_t *comms, int devices, const int *list)
{
	ncclUniqueId id;

	ENTER("ncclCommInitAll");
	if (devices != 1) /* the device is one thread: it cannot wait for itself */
		return ncclInvalidUsage;
	ncclGetUniqueId(&id);
	return comm_open(comms, id_word(&id), 1, 0);
}
ALIAS(ncclCommInitAll);

/* Ranks of one color, by key and rank; -1 (NCCL_SPLIT_NOCOLOR): none. Nothing of the parent's may
 * be under way. */
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *made, void *config)
{
	int mine[2] = {color, key}, all[RANKS_MAX][2], ranks = 0, rank = 0;

	ENTER("ncclCommSplit");
	*made = NULL;
	memcpy(comm->shared->data[comm->rank], mine, sizeof(mine));
	if (!meet(comm))
		return ncclRemoteError;
	for (int i = 0; i < comm->ranks; i++)
		memcpy(all[i], comm->shared->data[i], sizeof(all[i]));
	if (!meet(comm))
		return ncclRemoteError;
	comm->splits++;
	for (int i = 0; i < comm->ranks; i++) {
		ranks += all[i][0] == color;
		rank += all[i][0] == color &&
			(all[i][1] < key || (all[i][1] == key && i < comm->rank));
	}
	return color < 0 ? ncclSuccess
			 : comm_open(made,
				     comm->id + (uint64_t)comm->splits * 1000 + (uint64_t)color + 1,
				     ranks, rank);
}
ALIAS(ncclCommSplit);

#define MADE_FROM(name, ...)                                                                       \
	ncclResult_t name(ncclComm_t comm, __VA_ARGS__);                                           \
	ncclResult_t name(ncclComm_t comm, __VA_ARGS__)                                            \
	{                                                                                          \
		ENTER(#name);                                                                      \
		*made = comm;                                                                      \
		return ncclSuccess;                                                                \
	}                                                                                          \
	ALIAS(name)
MADE_FROM(ncclCommShrink, int *excluded, int count, ncclComm_t *made, void *config, int flags);
MADE_FROM(ncclCommGrow, int ranks, const ncclUniqueId *id, int rank, ncclComm_t *made,
	  void *config);

/* Shared memory is let go with the process: a peer may still read the last chunk. */
#define ENDING(name, aborts, ...)                                                                  \
	ncclResult_t name(ncclComm_t comm, ##__VA_ARGS__);                                         \
	ncclResult_t name(ncclComm_t comm, ##__VA_ARGS__)                                          \
	{                                                                                          \
		ENTER(#name);                                                                      \
		if (!comm)                                                                         \
			return ncclInvalidArgument;                                                \
		atomic_fetch_or(&comm->aborted, aborts);                                           \
		return ncclSuccess;                                                                \
	}                                                                                          \
	ALIAS(name)
ENDING(ncclCommFinalize, 0);
ENDING(ncclCommDestroy, 0);
ENDING(ncclCommAbort, 1);
ENDING(ncclCommRevoke, 1, int flags);

/* A code that FAKE_NCCL scripts for it is what the watchdog is told. */
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result)
{
	int error = script_call("FAKE_NCCL", "ncclCommGetAsyncError");

	if (!comm)
		return ncclInvalidArgument;
	*result = (ncclResult_t)(error ? error : atomic_load(&comm->failed));
	return ncclSuccess;
}
ALIAS(ncclCommGetAsyncError);
