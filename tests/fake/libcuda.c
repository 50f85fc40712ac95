/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libcuda.so.1: the exports that are probed, by their real names and arguments. Work
 * is queued and really done, by one thread that is the device; waits really wait for it. FAKE_CUDA
 * scripts what goes wrong (script.h); a fault of the device stays, as on a real one. Each name with
 * _ptsz or _ptds is an address of its own, as there. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/cuda.h"
#include "tests/fake/script.h"

#define CAPTURED_MAX 256
#define ENTER(name)                                                                                \
	do {                                                                                       \
		CUresult error = enter(name);                                                      \
		if (error)                                                                         \
			return error;                                                              \
	} while (0)

struct graph {
	int count;
	struct work work[CAPTURED_MAX];
};
struct stream {
	struct graph *capture; /* else what is launched runs */
};
struct event {
	uint64_t number;
};
struct launch { /* CUlaunchConfig */
	unsigned grid[3], block[3], shared;
	CUstream stream;
};
struct context {
	int unused;
};

static int sticky;
static struct context primary;
static struct stream default_stream;

static CUresult enter(const char *name)
{
	int error = script_call("FAKE_CUDA", name);

	if (error >= CUDA_ERROR_FIRST_STICKY && error <= CUDA_ERROR_LAST_STICKY)
		sticky = error;
	return error ? error : sticky;
}

static CUresult launch(CUstream stream, const struct work *w)
{
	struct stream *s = stream ? stream : &default_stream;

	if (!s->capture) {
		device_queue(w);
		return CUDA_SUCCESS;
	}
	if (s->capture->count == CAPTURED_MAX)
		return CUDA_ERROR_CAPTURE_INVALID;
	s->capture->work[s->capture->count++] = *w;
	return CUDA_SUCCESS;
}

static CUresult wait_all(void)
{
	device_wait(device_last());
	return sticky;
}

/* ---- start, programs ------------------------------------------------------------------------- */

CUresult cuInit(unsigned flags)
{
	(void)flags;
	ENTER("cuInit");
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	(void)device;
	ENTER("cuDevicePrimaryCtxRetain");
	*context = &primary;
	return CUDA_SUCCESS;
}

#define CREATE(name, ...)                                                                          \
	CUresult name(CUcontext *context, __VA_ARGS__);                                            \
	CUresult name(CUcontext *context, __VA_ARGS__)                                             \
	{                                                                                          \
		ENTER(#name);                                                                      \
		*context = &primary;                                                               \
		return CUDA_SUCCESS;                                                               \
	}
#pragma GCC diagnostic ignored "-Wunused-parameter"
CREATE(cuCtxCreate_v2, unsigned flags, CUdevice device)
CREATE(cuCtxCreate_v3, void *params, int count, unsigned flags, CUdevice device)
CREATE(cuCtxCreate_v4, void *params, unsigned flags, CUdevice device)

#define LOAD(name, ...)                                                                            \
	CUresult name(CUmodule *module, const void *image, ##__VA_ARGS__);                         \
	CUresult name(CUmodule *module, const void *image, ##__VA_ARGS__)                          \
	{                                                                                          \
		ENTER(#name);                                                                      \
		*module = image;                                                                   \
		return CUDA_SUCCESS;                                                               \
	}
LOAD(cuModuleLoad)
LOAD(cuModuleLoadData)
LOAD(cuModuleLoadDataEx, unsigned count, void *options, void **values)
LOAD(cuModuleLoadFatBinary)
LOAD(cuLibraryLoadData, void *jit, void **values, unsigned count, void *options, void **more,
     unsigned n)
LOAD(cuLibraryLoadFromFile, void *jit, void **values, unsigned count, void *options, void **more,
     unsigned n)

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	for (; module->name; module++)
		if (!strcmp(module->name, name)) {
			*function = (CUfunction)(uintptr_t)module;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_NOT_FOUND;
}

CUresult cuLinkComplete(void *state, void **cubin, size_t *bytes);
CUresult cuLinkComplete(void *state, void **cubin, size_t *bytes)
{
	ENTER("cuLinkComplete");
	return CUDA_SUCCESS;
}

/* ---- launches -------------------------------------------------------------------------------- */

static void run_kernel(struct work *w)
{
	w->kernel->run(w->args);
}

static void run_host(struct work *w)
{
	w->host(w->args[0]);
}

static CUresult launch_kernel(CUfunction f, CUstream stream, void **params)
{
	struct work w = {.run = run_kernel, .kernel = f};

	if (!f)
		return CUDA_ERROR_INVALID_HANDLE;
	for (int i = 0; i < f->args; i++)
		memcpy(&w.args[i], params[i], sizeof(w.args[i]));
	return launch(stream, &w);
}

#define LAUNCH(name)                                                                               \
	CUresult name(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,            \
		      unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params,   \
		      void **extra);                                                               \
	CUresult name(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,            \
		      unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params,   \
		      void **extra)                                                                \
	{                                                                                          \
		ENTER(#name);                                                                      \
		return launch_kernel(f, stream, params);                                           \
	}
LAUNCH(cuLaunchKernel)
LAUNCH(cuLaunchKernel_ptsz)
LAUNCH(cuLaunchCooperativeKernel) /* has no extra; nobody reads it */
LAUNCH(cuLaunchCooperativeKernel_ptsz)

#define LAUNCH_EX(name)                                                                            \
	CUresult name(const struct launch *l, CUfunction f, void **params, void **extra);          \
	CUresult name(const struct launch *l, CUfunction f, void **params, void **extra)           \
	{                                                                                          \
		ENTER(#name);                                                                      \
		return l ? launch_kernel(f, l->stream, params) : CUDA_ERROR_INVALID_VALUE;         \
	}
LAUNCH_EX(cuLaunchKernelEx)
LAUNCH_EX(cuLaunchKernelEx_ptsz)

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *data)
{
	return launch(stream, &(struct work){.run = run_host, .host = fn, .args = {data}});
}

/* ---- streams, events, graphs ----------------------------------------------------------------- */

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
	*stream = calloc(1, sizeof(**stream));
	return *stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

#define WAIT(name, ...)                                                                            \
	CUresult name(__VA_ARGS__);                                                                \
	CUresult name(__VA_ARGS__)                                                                 \
	{                                                                                          \
		ENTER(#name);                                                                      \
		return wait_all();                                                                 \
	}
WAIT(cuStreamSynchronize, CUstream stream)
WAIT(cuStreamSynchronize_ptsz, CUstream stream)
WAIT(cuCtxSynchronize, void)
WAIT(cuCtxSynchronize_v2, CUcontext context)
WAIT(cuEventSynchronize, CUevent event)

#define BEGIN(name)                                                                                \
	CUresult name(CUstream stream, int mode);                                                  \
	CUresult name(CUstream stream, int mode)                                                   \
	{                                                                                          \
		ENTER(#name);                                                                      \
		if (!stream || stream->capture)                                                    \
			return CUDA_ERROR_CAPTURE_INVALID;                                         \
		stream->capture = calloc(1, sizeof(*stream->capture));                             \
		return stream->capture ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;                  \
	}
BEGIN(cuStreamBeginCapture)
BEGIN(cuStreamBeginCapture_ptsz)
BEGIN(cuStreamBeginCapture_v2)
BEGIN(cuStreamBeginCapture_v2_ptsz)

#define END(name)                                                                                  \
	CUresult name(CUstream stream, CUgraph *graph);                                            \
	CUresult name(CUstream stream, CUgraph *graph)                                             \
	{                                                                                          \
		ENTER(#name);                                                                      \
		if (!stream || !stream->capture)                                                   \
			return CUDA_ERROR_CAPTURE_INVALID;                                         \
		*graph = stream->capture;                                                          \
		stream->capture = NULL;                                                            \
		return CUDA_SUCCESS;                                                               \
	}
END(cuStreamEndCapture)
END(cuStreamEndCapture_ptsz)

#define INSTANTIATE(name, ...)                                                                     \
	CUresult name(CUgraphExec *exec, CUgraph graph, __VA_ARGS__);                              \
	CUresult name(CUgraphExec *exec, CUgraph graph, __VA_ARGS__)                               \
	{                                                                                          \
		ENTER(#name);                                                                      \
		*exec = graph;                                                                     \
		return CUDA_SUCCESS;                                                               \
	}
INSTANTIATE(cuGraphInstantiate, void *node, char *log, size_t bytes)
INSTANTIATE(cuGraphInstantiate_v2, void *node, char *log, size_t bytes)
INSTANTIATE(cuGraphInstantiateWithFlags, unsigned long long flags)
INSTANTIATE(cuGraphInstantiateWithParams, void *params)
INSTANTIATE(cuGraphInstantiateWithParams_ptsz, void *params)

#define GRAPH_LAUNCH(name)                                                                         \
	CUresult name(CUgraphExec exec, CUstream stream);                                          \
	CUresult name(CUgraphExec exec, CUstream stream)                                           \
	{                                                                                          \
		ENTER(#name);                                                                      \
		if (!exec)                                                                         \
			return CUDA_ERROR_INVALID_HANDLE;                                          \
		for (int i = 0; i < exec->count; i++)                                              \
			launch(stream, &exec->work[i]);                                            \
		return CUDA_SUCCESS;                                                               \
	}
GRAPH_LAUNCH(cuGraphLaunch)
GRAPH_LAUNCH(cuGraphLaunch_ptsz)

/* ---- memory ---------------------------------------------------------------------------------- */

static CUresult alloc(CUdeviceptr *at, size_t bytes)
{
	*at = (uintptr_t)calloc(1, bytes);
	return *at ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

#define ALLOC(name, ...)                                                                           \
	CUresult name(CUdeviceptr *at, size_t bytes, ##__VA_ARGS__);                               \
	CUresult name(CUdeviceptr *at, size_t bytes, ##__VA_ARGS__)                                \
	{                                                                                          \
		ENTER(#name);                                                                      \
		return alloc(at, bytes);                                                           \
	}
ALLOC(cuMemAlloc_v2)
ALLOC(cuMemAllocManaged, unsigned flags)
ALLOC(cuMemCreate, void *properties, unsigned long long flags)
ALLOC(cuMemAllocAsync, CUstream stream)
ALLOC(cuMemAllocAsync_ptsz, CUstream stream)
ALLOC(cuMemAllocFromPoolAsync, void *pool, CUstream stream)
ALLOC(cuMemAllocFromPoolAsync_ptsz, void *pool, CUstream stream)

CUresult cuMemFree_v2(CUdeviceptr at)
{
	ENTER("cuMemFree_v2");
	wait_all();
	free((void *)(uintptr_t)at);
	return CUDA_SUCCESS;
}

static void run_copy(struct work *w)
{
	memcpy(w->args[0], w->args[1], (size_t)(uintptr_t)w->args[2]);
}

static CUresult copy(uintptr_t to, uintptr_t from, size_t bytes, CUstream stream)
{
	struct work w = {.run = run_copy, .args = {(void *)to, (void *)from, (void *)bytes}};

	return bytes && (!to || !from) ? CUDA_ERROR_INVALID_VALUE : launch(stream, &w);
}

#define COPY(name, to_type, from_type)                                                             \
	CUresult name(to_type to, from_type from, size_t bytes);                                   \
	CUresult name(to_type to, from_type from, size_t bytes)                                    \
	{                                                                                          \
		CUresult error = enter(#name);                                                     \
		if (!error)                                                                        \
			error = copy((uintptr_t)to, (uintptr_t)from, bytes, NULL);                 \
		return error ? error : wait_all();                                                 \
	}
#define COPY_ASYNC(name, to_type, from_type)                                                       \
	CUresult name(to_type to, from_type from, size_t bytes, CUstream stream);                  \
	CUresult name(to_type to, from_type from, size_t bytes, CUstream stream)                   \
	{                                                                                          \
		ENTER(#name);                                                                      \
		return copy((uintptr_t)to, (uintptr_t)from, bytes, stream);                        \
	}
COPY(cuMemcpyHtoD_v2, CUdeviceptr, const void *)
COPY(cuMemcpyHtoD_v2_ptds, CUdeviceptr, const void *)
COPY(cuMemcpyDtoH_v2, void *, CUdeviceptr)
COPY(cuMemcpyDtoH_v2_ptds, void *, CUdeviceptr)
COPY(cuMemcpyDtoD_v2, CUdeviceptr, CUdeviceptr)
COPY(cuMemcpyDtoD_v2_ptds, CUdeviceptr, CUdeviceptr)
COPY(cuMemcpy, CUdeviceptr, CUdeviceptr)
COPY(cuMemcpy_ptds, CUdeviceptr, CUdeviceptr)
COPY_ASYNC(cuMemcpyHtoDAsync_v2, CUdeviceptr, const void *)
COPY_ASYNC(cuMemcpyHtoDAsync_v2_ptsz, CUdeviceptr, const void *)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, void *, CUdeviceptr)
COPY_ASYNC(cuMemcpyDtoHAsync_v2_ptsz, void *, CUdeviceptr)
COPY_ASYNC(cuMemcpyDtoDAsync_v2, CUdeviceptr, CUdeviceptr)
COPY_ASYNC(cuMemcpyDtoDAsync_v2_ptsz, CUdeviceptr, CUdeviceptr)
COPY_ASYNC(cuMemcpyAsync, CUdeviceptr, CUdeviceptr)
COPY_ASYNC(cuMemcpyAsync_ptsz, CUdeviceptr, CUdeviceptr)

#define COPY_PEER(name)                                                                            \
	CUresult name(CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here,           \
		      size_t bytes, CUstream stream);                                              \
	CUresult name(CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here,           \
		      size_t bytes, CUstream stream)                                               \
	{                                                                                          \
		ENTER(#name);                                                                      \
		return copy(to, from, bytes, stream);                                              \
	}
COPY_PEER(cuMemcpyPeerAsync)
COPY_PEER(cuMemcpyPeerAsync_ptsz)

/* ---- checkpoints of a process ---------------------------------------------------------------- */

#define CHECKPOINT(name)                                                                           \
	CUresult name(int pid, void *args)                                                         \
	{                                                                                          \
		ENTER(#name);                                                                      \
		return pid > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;                          \
	}
CHECKPOINT(cuCheckpointProcessLock)
CHECKPOINT(cuCheckpointProcessCheckpoint)
CHECKPOINT(cuCheckpointProcessRestore)
CHECKPOINT(cuCheckpointProcessUnlock)
