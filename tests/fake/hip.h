/* SPDX-License-Identifier: Apache-2.0 */
/* hip.h - names, arguments and numbers of the stand-in for libamdhip64, as hip_runtime_api.h of
 * ROCm 5.2 has them (hipLaunchKernelExC and hipDrvLaunchKernelEx: of ROCm 7). A kernel is a
 * function of the process. */
#ifndef TESTS_FAKE_HIP_H
#define TESTS_FAKE_HIP_H

#include <stddef.h>
#include <stdint.h>

typedef int hipError_t;
typedef void (*kernel_fn)(void **args);
typedef struct stream *hipStream_t;
typedef struct event *hipEvent_t;
typedef struct graph *hipGraph_t, *hipGraphExec_t;
typedef struct module *hipModule_t;
typedef struct pool *hipMemPool_t;
typedef struct program *hiprtcProgram;
typedef void *hipDeviceptr_t;
typedef struct {
	uint32_t x, y, z;
} dim3;
struct launch_config { /* as hipLaunchConfig_t and HIP_LAUNCH_CONFIG begin */
	dim3 grid, block;
	size_t shared;
	hipStream_t stream;
};
enum { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2 };

/* A kernel's place, its arguments, the stream. */
#define ON_HOST (kernel_fn f, dim3 grid, dim3 block, void **args, size_t shared, hipStream_t s)
#define COPY	void *to, const void *from, size_t bytes
#define EXT_LAUNCH                                                                                 \
	_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j

/* name, parameters, what the stand-in does */
/* clang-format off: a table */
#define HIP_FUNCTIONS(X)                                                                           \
	X(hipInit, (unsigned flags), )                                                             \
	X(hipGetDeviceCount, (int *count), *count = 1)                                             \
	X(hipModuleLoad, (hipModule_t * module, const char *path), *module = HANDLE)               \
	X(hipModuleLoadData, (hipModule_t * module, const void *image), *module = HANDLE)          \
	X(hipModuleLoadDataEx,                                                                     \
	  (hipModule_t * module, const void *image, unsigned n, int *options, void **values),      \
	  *module = HANDLE)                                                                        \
	X(hiprtcCompileProgram, (hiprtcProgram program, int n, const char **options), )            \
	X(hipLaunchKernel, ON_HOST, f(args))                                                       \
	X(hipLaunchKernel_spt, ON_HOST, f(args))                                                   \
	X(hipLaunchKernelExC, (const struct launch_config *config, kernel_fn f, void **args),      \
	  f(args))                                                                                 \
	X(hipDrvLaunchKernelEx,                                                                    \
	  (const struct launch_config *config, kernel_fn f, void **args, void **extra), f(args))   \
	X(hipExtLaunchKernel,                                                                      \
	  (kernel_fn f, dim3 grid, dim3 block, void **args, size_t shared, hipStream_t s,          \
	   hipEvent_t start, hipEvent_t stop, int flags),                                          \
	  f(args))                                                                                 \
	X(hipLaunchCooperativeKernel, ON_HOST, f(args))                                            \
	X(hipLaunchCooperativeKernel_spt, ON_HOST, f(args))                                        \
	X(hipModuleLaunchKernel,                                                                   \
	  (kernel_fn f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,           \
	   unsigned bz, unsigned shared, hipStream_t s, void **args, void **extra),                \
	  f(args))                                                                                 \
	X(EXT_LAUNCH,                                                                              \
	  (kernel_fn f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,           \
	   unsigned bz, size_t shared, hipStream_t s, void **args, void **extra, hipEvent_t start, \
	   hipEvent_t stop, unsigned flags),                                                       \
	  f(args))                                                                                 \
	X(hipGraphLaunch, (hipGraphExec_t graph, hipStream_t s), )                                 \
	X(hipGraphLaunch_spt, (hipGraphExec_t graph, hipStream_t s), )                             \
	X(hipGraphInstantiate,                                                                     \
	  (hipGraphExec_t * exec, hipGraph_t graph, void **node, char *log, size_t len),           \
	  *exec = graph)                                                                           \
	X(hipGraphInstantiateWithFlags,                                                            \
	  (hipGraphExec_t * exec, hipGraph_t graph, unsigned long long flags), *exec = graph)      \
	X(hipGraphInstantiateWithParams, (hipGraphExec_t * exec, hipGraph_t graph, void *params),  \
	  *exec = graph)                                                                           \
	X(hipStreamBeginCapture, (hipStream_t s, int mode), )                                      \
	X(hipStreamBeginCapture_spt, (hipStream_t s, int mode), )                                  \
	X(hipStreamEndCapture, (hipStream_t s, hipGraph_t * graph), *graph = HANDLE)               \
	X(hipStreamEndCapture_spt, (hipStream_t s, hipGraph_t * graph), *graph = HANDLE)           \
	X(hipStreamSynchronize, (hipStream_t s), )                                                 \
	X(hipStreamSynchronize_spt, (hipStream_t s), )                                             \
	X(hipEventSynchronize, (hipEvent_t event), )                                               \
	X(hipDeviceSynchronize, (void), )                                                          \
	X(hipMemcpy, (COPY, int kind), memcpy(to, from, bytes))                                    \
	X(hipMemcpy_spt, (COPY, int kind), memcpy(to, from, bytes))                                \
	X(hipMemcpyWithStream, (COPY, int kind, hipStream_t s), memcpy(to, from, bytes))           \
	X(hipMemcpyAsync, (COPY, int kind, hipStream_t s), memcpy(to, from, bytes))                \
	X(hipMemcpyAsync_spt, (COPY, int kind, hipStream_t s), memcpy(to, from, bytes))            \
	X(hipMemcpyHtoD, (COPY), memcpy(to, from, bytes))                                          \
	X(hipMemcpyDtoH, (COPY), memcpy(to, from, bytes))                                          \
	X(hipMemcpyHtoDAsync, (COPY, hipStream_t s), memcpy(to, from, bytes))                      \
	X(hipMemcpyDtoHAsync, (COPY, hipStream_t s), memcpy(to, from, bytes))                      \
	X(hipMalloc, (void **at, size_t bytes), *at = calloc(1, bytes))                            \
	X(hipMallocAsync, (void **at, size_t bytes, hipStream_t s), *at = calloc(1, bytes))        \
	X(hipMallocManaged, (void **at, size_t bytes, unsigned flags), *at = calloc(1, bytes))     \
	X(hipMallocFromPoolAsync, (void **at, size_t bytes, hipMemPool_t pool, hipStream_t s),     \
	  *at = calloc(1, bytes))
/* clang-format on */

#define X(name, parameters, does) hipError_t name parameters;
HIP_FUNCTIONS(X)
#undef X

#endif
