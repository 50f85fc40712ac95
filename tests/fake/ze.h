/* SPDX-License-Identifier: Apache-2.0 */
/* ze.h - names, arguments and numbers of the stand-in for libze_loader, as ze_api.h of Level
 * Zero 1.8 has them (zeInitDrivers, zeCommandListHostSynchronize and the launches with arguments:
 * of later ones). The code of a module is the address of a function of the process. */
#ifndef TESTS_FAKE_ZE_H
#define TESTS_FAKE_ZE_H

#include <stddef.h>
#include <stdint.h>

typedef int ze_result_t;
typedef struct ze_module *ze_module_handle_t;
typedef struct ze_list *ze_list_handle_t;
typedef struct ze_any *ze_handle_t; /* of a driver, device, context, queue, event, fence */
typedef void (*ze_kernel_t)(void *arg);
typedef struct {
	uint32_t x, y, z;
} ze_group_count_t;
typedef struct {
	int stype;
	const void *pNext;
	int format;
	size_t inputSize;
	const uint8_t *pInputModule;
	const char *pBuildFlags;
	const void *pConstants;
} ze_module_desc_t;

ze_result_t zeInit(uint32_t flags);
ze_result_t zeInitDrivers(uint32_t *count, ze_handle_t *drivers, void *desc);
ze_result_t zeContextCreate(ze_handle_t driver, const void *desc, ze_handle_t *context);
ze_result_t zeContextCreateEx(ze_handle_t driver, const void *desc, uint32_t n,
			      ze_handle_t *devices, ze_handle_t *context);
ze_result_t zeModuleCreate(ze_handle_t context, ze_handle_t device, const ze_module_desc_t *desc,
			   ze_module_handle_t *module, void **log);
/* Here a kernel is the one function of its module, and its one argument is given with the
 * launch. */
ze_kernel_t ze_module_kernel(ze_module_handle_t module);
ze_result_t zeCommandListCreate(ze_list_handle_t *list);
ze_result_t zeCommandListAppendLaunchKernel(ze_list_handle_t list, ze_kernel_t kernel,
					    const ze_group_count_t *groups, ze_handle_t signal,
					    uint32_t n, ze_handle_t *waits);
ze_result_t zeCommandListAppendLaunchKernelIndirect(ze_list_handle_t list, ze_kernel_t kernel,
						    const ze_group_count_t *groups,
						    ze_handle_t signal, uint32_t n,
						    ze_handle_t *waits);
ze_result_t zeCommandListAppendLaunchKernelWithArguments(ze_list_handle_t list, ze_kernel_t kernel,
							 ze_group_count_t groups,
							 ze_group_count_t sizes, void **args,
							 const void *next, ze_handle_t signal,
							 uint32_t n, ze_handle_t *waits);
ze_result_t zeCommandListAppendMemoryCopy(ze_list_handle_t list, void *to, const void *from,
					  size_t bytes, ze_handle_t signal, uint32_t n,
					  ze_handle_t *waits);
ze_result_t zeCommandQueueExecuteCommandLists(ze_handle_t queue, uint32_t n,
					      ze_list_handle_t *lists, ze_handle_t fence);
ze_result_t zeCommandQueueSynchronize(ze_handle_t queue, uint64_t timeout);
ze_result_t zeCommandListHostSynchronize(ze_list_handle_t list, uint64_t timeout);
ze_result_t zeEventHostSynchronize(ze_handle_t event, uint64_t timeout);
ze_result_t zeFenceHostSynchronize(ze_handle_t fence, uint64_t timeout);
ze_result_t zeMemAllocDevice(ze_handle_t context, const void *desc, size_t bytes, size_t alignment,
			     ze_handle_t device, void **at);

#endif
