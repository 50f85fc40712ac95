/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h - what the stand-ins for CUDA and NCCL, and the programs that use them, share. Names,
 * arguments and numbers are those of the real headers (cuda.h and driver_types.h of CUDA 13.0,
 * nccl.h of 2.30); handles are pointers of ours, and a program for the device is a table of
 * functions of the process. */
#ifndef TESTS_FAKE_CUDA_H
#define TESTS_FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct stream *CUstream;
typedef struct graph *CUgraph, *CUgraphExec;
typedef struct event *CUevent;
typedef struct kernel *CUfunction;
typedef struct context *CUcontext;
typedef const struct kernel *CUmodule;
typedef void (*CUhostFn)(void *data);

#define CUDA_SUCCESS		   0
#define CUDA_ERROR_INVALID_VALUE   1
#define CUDA_ERROR_OUT_OF_MEMORY   2
#define CUDA_ERROR_INVALID_HANDLE  400
#define CUDA_ERROR_NOT_FOUND	   500
#define CUDA_ERROR_FIRST_STICKY	   700 /* CUDA_ERROR_ILLEGAL_ADDRESS */
#define CUDA_ERROR_LAST_STICKY	   719 /* CUDA_ERROR_LAUNCH_FAILED */
#define CUDA_ERROR_CAPTURE_INVALID 901

#define KERNEL_ARGS 8
#define HIDDEN	    __attribute__((visibility("hidden")))

struct kernel { /* an image is an array of these, the last without a name */
	const char *name;
	void (*run)(void *const args[KERNEL_ARGS]);
	int args; /* of 8 bytes each */
};

/* ---- the device: one thread that does what is queued, in order ------------------------------- */

struct work {
	void (*run)(struct work *w);
	void *args[KERNEL_ARGS]; /* of a kernel; of a copy to, from, bytes; of a host function its
				    data */
	const struct kernel *kernel;
	CUhostFn host;
};

/* Returns the number of the work, from 1. */
HIDDEN uint64_t device_queue(const struct work *w);
/* Until the device has done all up to that number. */
HIDDEN void device_wait(uint64_t number);
HIDDEN uint64_t device_last(void);

/* ---- libcuda.so.1, as far as the stand-ins need it ------------------------------------------- */

CUresult cuInit(unsigned flags);
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuCtxSynchronize(void);
CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuStreamCreate(CUstream *stream, unsigned flags);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuEventSynchronize(CUevent event);
CUresult cuStreamBeginCapture_v2(CUstream stream, int mode);
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags);
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream);
CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params,
			void **extra);
CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			     unsigned by, unsigned bz, unsigned shared, CUstream stream,
			     void **params, void **extra);
CUresult cuStreamSynchronize_ptsz(CUstream stream);
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *data);
CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr at);
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult cuCheckpointProcessLock(int pid, void *args);
CUresult cuCheckpointProcessCheckpoint(int pid, void *args);
CUresult cuCheckpointProcessRestore(int pid, void *args);
CUresult cuCheckpointProcessUnlock(int pid, void *args);

/* ---- libnccl.so.2 ---------------------------------------------------------------------------- */

typedef struct comm *ncclComm_t;
typedef struct {
	char internal[128];
} ncclUniqueId;

#define NCCL_RESULTS(X)                                                                            \
	X(0, Success)                                                                              \
	X(2, SystemError)                                                                          \
	X(4, InvalidArgument)                                                                      \
	X(5, InvalidUsage)                                                                         \
	X(6, RemoteError)                                                                          \
	X(7, InProgress)
typedef enum {
#define X(id, name) nccl##name = id,
	NCCL_RESULTS(X)
#undef X
} ncclResult_t;
enum { ncclInt32 = 2, ncclInt64 = 4, ncclFloat32 = 7, ncclFloat64 = 8 };

ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank);
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *made, void *config);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result);
ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, int type, int op,
			   ncclComm_t comm, CUstream stream);
ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, int type, int root,
			   ncclComm_t comm, CUstream stream);
ncclResult_t ncclSend(const void *from, size_t count, int type, int peer, ncclComm_t comm,
		      CUstream stream);
ncclResult_t ncclRecv(void *to, size_t count, int type, int peer, ncclComm_t comm, CUstream stream);
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

#endif
