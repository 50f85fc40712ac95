/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_train [OPTION...]: fits a line by gradient descent on CUDA and, with more than one rank,
 * NCCL, in the order of its options. Built with the stand-ins; each rank is a process.
 *
 *   ranks=N     processes (1)               steps=N      (10)
 *   kernels=N   gradients a step (3)        graph        the kernels of a step are captured once,
 * and launched twin        calls the names with _ptsz  every=N      the loss is read every N steps
 * (10) alloc=N bytes that step 5 asks for  checkpoint   step 7 is suspended and resumed, as by
 * cuda-checkpoint split a communicator is made from the first, and used once pace=US     the host
 * takes that long a step (0) journal=F   steps of rank R, by its own clock, in F.R: "step N
 * END_NS", then "end STEPS LAUNCHES SLOPE"
 *
 *   rank=R      this process is rank R alone; its peers are started by themselves
 *   id=N        the number of the communicator that they share
 *   pause=F     the host sleeps at the start of each step for as many ms as the file F says
 *
 * "loaded" is printed once the libraries are mapped, and a line is read before anything is called.
 * Of FAKE_CUDA and FAKE_NCCL (script.h) FAKE_CUDA_1 is for rank 1 alone. A call that fails ends the
 * rank: status 3. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/fake/cuda.h"

#define POINTS	    4096
#define RATE	    0.5f
#define WATCHDOG_NS 10000000 /* torch: ten times a second; tests are short */

static struct {
	int ranks, rank, steps, kernels, every;
	long alloc, pace_us;
	uint64_t id;
	bool graph, twin, checkpoint, split;
	const char *journal, *pause;
} opt = {.ranks = 1, .rank = -1, .steps = 10, .kernels = 3, .every = 10};

struct device {
	int rank;
	CUfunction gradient, update;
	CUstream stream;
	CUdeviceptr x, y, w, g;
	CUgraphExec graph;
	ncclComm_t comm;
	uint64_t launches;
	FILE *journal;
};

#define CHECK(call)                                                                                \
	do {                                                                                       \
		int error = (int)(call);                                                           \
		if (error)                                                                         \
			fail(#call, error);                                                        \
	} while (0)

static void nap_ns(long ns)
{
	nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}

static void fail(const char *call, int error)
{
	if (!strncmp(call, "ncclAll", 7)) /* the watchdog has the first word on that */
		nap_ns(10 * WATCHDOG_NS);
	fprintf(stderr, "cuda_train: %.*s: error %d\n", (int)strcspn(call, "("), call, error);
	_exit(3);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void run_gradient(void *const args[KERNEL_ARGS])
{
	const float *x = args[0], *y = args[1], *w = args[2];
	float *g = args[3], slope = 0, offset = 0;
	long from = (long)args[4], count = (long)args[5];

	for (long i = from; i < from + count; i++) {
		float error = w[0] * x[i] + w[1] - y[i];

		slope += error * x[i];
		offset += error;
	}
	g[0] += slope;
	g[1] += offset;
}

static void run_update(void *const args[KERNEL_ARGS])
{
	float *w = args[0], *g = args[1], rate = RATE / POINTS / (float)(long)args[2];

	for (int i = 0; i < 2; i++) {
		w[i] -= rate * g[i];
		g[i] = 0;
	}
}

static const struct kernel image[] = {
	{"gradient", run_gradient, 6}, {"update", run_update, 3}, {NULL, NULL, 0}};

static void launch(struct device *d, CUfunction f, void **params)
{
	if (opt.twin)
		CHECK(cuLaunchKernel_ptsz(f, 1, 1, 1, 1, 1, 1, 0, d->stream, params, NULL));
	else
		CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, d->stream, params, NULL));
	d->launches++;
}

static void launch_gradients(struct device *d)
{
	for (long i = 0; i < opt.kernels; i++) {
		long count = POINTS / opt.kernels, from = i * count;
		void *params[] = {&d->x, &d->y, &d->w, &d->g, &from, &count};

		launch(d, d->gradient, params);
	}
}

static void capture(struct device *d)
{
	CUgraph graph;

	CHECK(cuStreamBeginCapture_v2(d->stream, 0));
	launch_gradients(d);
	CHECK(cuStreamEndCapture(d->stream, &graph));
	CHECK(cuGraphInstantiateWithFlags(&d->graph, graph, 0));
}

/* ---- a rank ---------------------------------------------------------------------------------- */

static CUdeviceptr buffer(size_t floats)
{
	CUdeviceptr at;

	CHECK(cuMemAlloc_v2(&at, floats * sizeof(float)));
	return at;
}

static void make_data(struct device *d)
{
	float x[POINTS], y[POINTS];

	for (int i = 0; i < POINTS; i++) {
		x[i] = (float)i / POINTS * 2 - 1;
		y[i] = 3 * x[i] + 1;
	}
	d->x = buffer(POINTS);
	d->y = buffer(POINTS);
	d->w = buffer(2);
	d->g = buffer(2);
	CHECK(cuMemcpyHtoD_v2(d->x, x, sizeof(x)));
	CHECK(cuMemcpyHtoD_v2(d->y, y, sizeof(y)));
}

static void *watchdog(void *data)
{
	struct device *d = data;
	ncclResult_t result;

	for (;;) {
		if (ncclCommGetAsyncError(d->comm, &result) == ncclSuccess &&
		    result != ncclSuccess && result != ncclInProgress) {
			ncclCommAbort(d->comm);
			fail("ncclCommGetAsyncError", result);
		}
		nap_ns(WATCHDOG_NS);
	}
	return NULL;
}

static void split(struct device *d)
{
	ncclComm_t made;

	CHECK(ncclCommSplit(d->comm, 0, d->rank, &made, NULL));
	CHECK(ncclAllReduce((void *)(uintptr_t)d->g, (void *)(uintptr_t)d->g, 1, ncclFloat32, 0,
			    made, d->stream));
	CHECK(cuStreamSynchronize(d->stream));
	CHECK(ncclCommDestroy(made));
}

static void open_device(struct device *d, const ncclUniqueId *id)
{
	CUcontext context;
	CUmodule module;
	CUdevice device;
	pthread_t thread;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, d->rank));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuModuleLoadData(&module, image));
	CHECK(cuModuleGetFunction(&d->gradient, module, "gradient"));
	CHECK(cuModuleGetFunction(&d->update, module, "update"));
	CHECK(cuStreamCreate(&d->stream, 0));
	make_data(d);
	if (opt.graph)
		capture(d);
	if (opt.ranks == 1)
		return;
	CHECK(ncclCommInitRank(&d->comm, opt.ranks, *id, d->rank));
	if (pthread_create(&thread, NULL, watchdog, d))
		exit(3);
	pthread_detach(thread);
	if (opt.split)
		split(d);
}

static void suspend_resume(void)
{
	CHECK(cuCheckpointProcessLock(getpid(), NULL));
	CHECK(cuCheckpointProcessCheckpoint(getpid(), NULL));
	nap_ns(50000000);
	CHECK(cuCheckpointProcessRestore(getpid(), NULL));
	CHECK(cuCheckpointProcessUnlock(getpid(), NULL));
}

static void pause_by_file(void)
{
	FILE *f = fopen(opt.pause, "re");
	long ms = 0;

	if (!f)
		return;
	if (fscanf(f, "%ld", &ms) != 1)
		ms = 0;
	fclose(f);
	nap_ns(ms * 1000000);
}

static void step(struct device *d, int n)
{
	static float batch[POINTS];
	void *g = (void *)(uintptr_t)d->g;
	long ranks = opt.ranks;
	void *params[] = {&d->w, &d->g, &ranks};
	CUdeviceptr more;
	float loss[2];

	if (opt.pause)
		pause_by_file();
	for (int i = 0; i < POINTS; i++)
		batch[i] = (float)i / POINTS * 2 - 1;
	CHECK(cuMemcpyHtoDAsync_v2(d->x, batch, sizeof(batch), d->stream));
	if (opt.graph)
		CHECK(cuGraphLaunch(d->graph, d->stream));
	else
		launch_gradients(d);
	if (opt.ranks > 1)
		CHECK(ncclAllReduce(g, g, 2, ncclFloat32, 0, d->comm, d->stream));
	launch(d, d->update, params);
	if (opt.alloc && n == 5)
		CHECK(cuMemAlloc_v2(&more, (size_t)opt.alloc));
	if (opt.checkpoint && n == 7)
		suspend_resume();
	if (opt.pace_us)
		nap_ns(opt.pace_us * 1000);
	if (n % opt.every == 0)
		CHECK(cuMemcpyDtoH_v2(loss, d->w, sizeof(loss)));
	if (opt.twin)
		CHECK(cuStreamSynchronize_ptsz(d->stream));
	else
		CHECK(cuStreamSynchronize(d->stream));
}

static void rank_main(int rank, const ncclUniqueId *id)
{
	struct device d = {.rank = rank};
	char text[512];
	float w[2];

	for (int i = 0; i < 2; i++) {
		static const char *const names[] = {"FAKE_CUDA", "FAKE_NCCL"};

		snprintf(text, sizeof(text), "%s_%d", names[i], rank);
		if (getenv(text))
			setenv(names[i], getenv(text), 1);
	}
	snprintf(text, sizeof(text), "%s.%d", opt.journal ? opt.journal : "", rank);
	if (opt.journal && !(d.journal = fopen(text, "we")))
		exit(3);
	if (d.journal)
		setvbuf(d.journal, NULL, _IOLBF, 0);
	open_device(&d, id);
	for (int n = 1; n <= opt.steps; n++) {
		step(&d, n);
		if (d.journal)
			fprintf(d.journal, "step %d %llu\n", n, (unsigned long long)now_ns());
	}
	CHECK(cuMemcpyDtoH_v2(w, d.w, sizeof(w)));
	if (d.journal)
		fprintf(d.journal, "end %d %llu %.3f\n", opt.steps, (unsigned long long)d.launches,
			(double)w[0]);
	if (d.comm) {
		CHECK(ncclCommFinalize(d.comm));
		CHECK(ncclCommDestroy(d.comm));
	}
	exit(0);
}

static void option(const char *text)
{
	const char *value = strchr(text, '=') ? strchr(text, '=') + 1 : "";
	size_t len = strcspn(text, "=");

#define IS(name) (len == sizeof(name) - 1 && !strncmp(text, name, len))
	if (IS("ranks"))
		opt.ranks = atoi(value);
	else if (IS("rank"))
		opt.rank = atoi(value);
	else if (IS("id"))
		opt.id = strtoull(value, NULL, 10);
	else if (IS("pause"))
		opt.pause = value;
	else if (IS("steps"))
		opt.steps = atoi(value);
	else if (IS("kernels"))
		opt.kernels = atoi(value);
	else if (IS("every"))
		opt.every = atoi(value);
	else if (IS("alloc"))
		opt.alloc = atol(value);
	else if (IS("pace"))
		opt.pace_us = atol(value);
	else if (IS("graph"))
		opt.graph = true;
	else if (IS("twin"))
		opt.twin = true;
	else if (IS("checkpoint"))
		opt.checkpoint = true;
	else if (IS("split"))
		opt.split = true;
	else if (IS("journal"))
		opt.journal = value;
	else
		fail(text, -1);
#undef IS
}

int main(int argc, char **argv)
{
	int worst = 0, status, c;
	ncclUniqueId id;

	for (int i = 1; i < argc; i++)
		option(argv[i]);
	if (opt.kernels < 1 || opt.every < 1 || ncclGetUniqueId(&id))
		return 2;
	puts("loaded");
	fflush(stdout);
	do
		c = getchar();
	while (c != '\n' && c != EOF);
	if (opt.id)
		memcpy(&id, &opt.id, sizeof(opt.id));
	if (opt.rank >= 0)
		rank_main(opt.rank, &id);
	if (opt.ranks == 1)
		rank_main(0, &id);
	for (int i = 0; i < opt.ranks; i++)
		if (!fork())
			rank_main(i, &id);
	while (wait(&status) > 0)
		worst = status ? (WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status))
			       : worst;
	return worst;
}
