/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libcudart.so.12 and .13: each call ends in the driver's, as in the real one. What
 * nvcc 13 makes of <<<>>> is a jump to cudaLaunchKernel there. FAKE_CUDART scripts what goes wrong
 * (script.h). */
#include "tests/fake/cuda.h"
#include "tests/fake/script.h"

typedef struct {
	unsigned x, y, z;
} dim3;

int cudaGetDeviceCount(int *count);
int cudaGetDeviceCount(int *count)
{
	int error = script_call("FAKE_CUDART", "cudaGetDeviceCount");

	*count = error ? 0 : 1;
	return error ? error : cuInit(0);
}

#define WAIT(name, argument, driver)                                                               \
	int name(argument);                                                                        \
	int name(argument)                                                                         \
	{                                                                                          \
		int error = script_call("FAKE_CUDART", #name);                                     \
		return error ? error : driver;                                                     \
	}
WAIT(cudaDeviceSynchronize, void, cuCtxSynchronize())
WAIT(cudaStreamSynchronize, CUstream stream, cuStreamSynchronize(stream))
WAIT(cudaStreamSynchronize_ptsz, CUstream stream, cuStreamSynchronize_ptsz(stream))
WAIT(cudaEventSynchronize, CUevent event, cuEventSynchronize(event))

#define COPY(name)                                                                                 \
	int name(void *to, const void *from, size_t bytes, int kind);                              \
	int name(void *to, const void *from, size_t bytes, int kind)                               \
	{                                                                                          \
		int error = script_call("FAKE_CUDART", #name);                                     \
		if (error)                                                                         \
			return error;                                                              \
		if (kind == 1)                                                                     \
			return cuMemcpyHtoD_v2((uintptr_t)to, from, bytes);                        \
		if (kind == 2)                                                                     \
			return cuMemcpyDtoH_v2(to, (uintptr_t)from, bytes);                        \
		return cuMemcpy((uintptr_t)to, (uintptr_t)from, bytes);                            \
	}
COPY(cudaMemcpy)
COPY(cudaMemcpy_ptds)

int cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared,
		     CUstream stream);
int cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared,
		     CUstream stream)
{
	return cuLaunchKernel((CUfunction)(uintptr_t)f, grid.x, grid.y, grid.z, block.x, block.y,
			      block.z, (unsigned)shared, stream, args, NULL);
}

int cudaLaunchKernel_ptsz(const void *f, dim3 grid, dim3 block, void **args, size_t shared,
			  CUstream stream);
int cudaLaunchKernel_ptsz(const void *f, dim3 grid, dim3 block, void **args, size_t shared,
			  CUstream stream)
{
	return cuLaunchKernel_ptsz((CUfunction)(uintptr_t)f, grid.x, grid.y, grid.z, block.x,
				   block.y, block.z, (unsigned)shared, stream, args, NULL);
}

#ifdef __x86_64__
__asm__(".globl __cudaLaunchKernel\n.type __cudaLaunchKernel, @function\n__cudaLaunchKernel:\n"
	"push %rbp\nmov %rsp, %rbp\npop %rbp\njmp cudaLaunchKernel@PLT\n"
	".globl __cudaLaunchKernel_ptsz\n.type __cudaLaunchKernel_ptsz, @function\n__cudaLaunchKernel_ptsz:\n"
	"push %rbp\nmov %rsp, %rbp\npop %rbp\njmp cudaLaunchKernel_ptsz@PLT\n");
#endif
