/* SPDX-License-Identifier: Apache-2.0 */
/* libze_loader.c - a stand-in for Level Zero's loader (ze.h): memory of a device is the process's,
 * and what is appended to a list runs when the list is executed. FAKE_ZE says which call fails or
 * takes its time (script.h). */
#include <stdlib.h>
#include <string.h>

#include "tests/fake/script.h"
#include "tests/fake/ze.h"

#define SCRIPT()                                                                                   \
	do {                                                                                       \
		int code = script_call("FAKE_ZE", __func__);                                       \
		if (code)                                                                          \
			return code;                                                               \
	} while (0)
#define UNUSED __attribute__((unused))
#define ITEMS_MAX                                                                                  \
	64 /* the last one is overwritten: calls by the thousand are none of a training            \
	    */

struct ze_module {
	ze_kernel_t kernel;
};

struct item { /* a launch, else a copy */
	ze_kernel_t kernel;
	void *to;
	const void *from;
	size_t bytes;
};

struct ze_list {
	struct item item[ITEMS_MAX];
	int count;
};

static int made; /* what handles point to */

static ze_result_t append(ze_list_handle_t list, struct item item)
{
	list->item[list->count < ITEMS_MAX ? list->count++ : ITEMS_MAX - 1] = item;
	return 0;
}

ze_result_t zeInit(UNUSED uint32_t flags)
{
	SCRIPT();
	return 0;
}

ze_result_t zeInitDrivers(uint32_t *count, UNUSED ze_handle_t *drivers, UNUSED void *desc)
{
	SCRIPT();
	*count = 1;
	return 0;
}

ze_result_t zeContextCreate(UNUSED ze_handle_t driver, UNUSED const void *desc,
			    ze_handle_t *context)
{
	SCRIPT();
	*context = (ze_handle_t)(void *)&made;
	return 0;
}

ze_result_t zeContextCreateEx(UNUSED ze_handle_t driver, UNUSED const void *desc, UNUSED uint32_t n,
			      UNUSED ze_handle_t *devices, ze_handle_t *context)
{
	SCRIPT();
	*context = (ze_handle_t)(void *)&made;
	return 0;
}

ze_result_t zeModuleCreate(UNUSED ze_handle_t context, UNUSED ze_handle_t device,
			   const ze_module_desc_t *desc, ze_module_handle_t *module,
			   UNUSED void **log)
{
	SCRIPT();
	if (desc->inputSize < sizeof(ze_kernel_t))
		return 0x70000004; /* ZE_RESULT_ERROR_MODULE_BUILD_FAILURE */
	*module = malloc(sizeof(**module));
	memcpy(&(*module)->kernel, desc->pInputModule, sizeof(ze_kernel_t));
	return 0;
}

ze_kernel_t ze_module_kernel(ze_module_handle_t module)
{
	return module->kernel;
}

ze_result_t zeCommandListCreate(ze_list_handle_t *list)
{
	*list = calloc(1, sizeof(**list));
	return 0;
}

ze_result_t zeCommandListAppendLaunchKernel(ze_list_handle_t list, ze_kernel_t kernel,
					    UNUSED const ze_group_count_t *groups,
					    UNUSED ze_handle_t signal, UNUSED uint32_t n,
					    UNUSED ze_handle_t *waits)
{
	SCRIPT();
	return append(list, (struct item){.kernel = kernel});
}

ze_result_t zeCommandListAppendLaunchKernelIndirect(ze_list_handle_t list, ze_kernel_t kernel,
						    UNUSED const ze_group_count_t *groups,
						    UNUSED ze_handle_t signal, UNUSED uint32_t n,
						    UNUSED ze_handle_t *waits)
{
	SCRIPT();
	return append(list, (struct item){.kernel = kernel});
}

ze_result_t zeCommandListAppendLaunchKernelWithArguments(
	ze_list_handle_t list, ze_kernel_t kernel, UNUSED ze_group_count_t groups,
	UNUSED ze_group_count_t sizes, void **args, UNUSED const void *next,
	UNUSED ze_handle_t signal, UNUSED uint32_t n, UNUSED ze_handle_t *waits)
{
	SCRIPT();
	return append(list, (struct item){.kernel = kernel, .to = args ? args[0] : NULL});
}

ze_result_t zeCommandListAppendMemoryCopy(ze_list_handle_t list, void *to, const void *from,
					  size_t bytes, UNUSED ze_handle_t signal,
					  UNUSED uint32_t n, UNUSED ze_handle_t *waits)
{
	SCRIPT();
	return append(list, (struct item){.to = to, .from = from, .bytes = bytes});
}

static void list_run(const struct ze_list *list)
{
	for (int i = 0; i < list->count; i++) {
		const struct item *item = &list->item[i];

		if (item->kernel)
			item->kernel(item->to);
		else
			memcpy(item->to, item->from, item->bytes);
	}
}

ze_result_t zeCommandQueueExecuteCommandLists(UNUSED ze_handle_t queue, uint32_t n,
					      ze_list_handle_t *lists, UNUSED ze_handle_t fence)
{
	SCRIPT();
	for (uint32_t i = 0; i < n; i++)
		list_run(lists[i]);
	return 0;
}

ze_result_t zeCommandQueueSynchronize(UNUSED ze_handle_t queue, UNUSED uint64_t timeout)
{
	SCRIPT();
	return 0;
}

ze_result_t zeCommandListHostSynchronize(UNUSED ze_list_handle_t list, UNUSED uint64_t timeout)
{
	SCRIPT();
	return 0;
}

ze_result_t zeEventHostSynchronize(UNUSED ze_handle_t event, UNUSED uint64_t timeout)
{
	SCRIPT();
	return 0;
}

ze_result_t zeFenceHostSynchronize(UNUSED ze_handle_t fence, UNUSED uint64_t timeout)
{
	SCRIPT();
	return 0;
}

ze_result_t zeMemAllocDevice(UNUSED ze_handle_t context, UNUSED const void *desc, size_t bytes,
			     UNUSED size_t alignment, UNUSED ze_handle_t device, void **at)
{
	SCRIPT();
	*at = calloc(1, bytes);
	return 0;
}
