/* SPDX-License-Identifier: Apache-2.0 */
/* level_zero_train calls N | steps N [JOURNAL]: with the stand-in for libze_loader, each probed
 * function N times, told (told.h); or N steps of training: a list is recorded once and executed
 * each step. "loaded" is printed, and a line is read, before. A call that fails ends a training:
 * status 3. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/line.h"
#include "tests/fake/told.h"
#include "tests/fake/ze.h"

#define QUEUE ((ze_handle_t)0x4000)
#define EVENT ((ze_handle_t)0xe000)
#define FENCE ((ze_handle_t)0xf000)

static void run_nothing(void *unused)
{
	(void)unused;
}

static void run_step(void *line)
{
	line_gradient(line);
	line_update(line);
}

static void calls_list(long n, ze_list_handle_t list)
{
	const ze_group_count_t one = {1, 1, 1};
	char a[64] = "", b[64] = "";

	COUNTS("level_zero.launch", n,
	       zeCommandListAppendLaunchKernel(list, run_nothing, &one, NULL, 0, NULL));
	COUNTS("level_zero.launch", n,
	       zeCommandListAppendLaunchKernelIndirect(list, run_nothing, &one, NULL, 0, NULL));
	COUNTS("level_zero.launch", n,
	       zeCommandListAppendLaunchKernelWithArguments(list, run_nothing, one, one, NULL, NULL,
							    NULL, 0, NULL));
	HITS("level_zero.copy", n, zeCommandListAppendMemoryCopy(list, a, b, 31, NULL, 0, NULL),
	     ARGS(31));
	HITS("level_zero.execute_lists", n,
	     zeCommandQueueExecuteCommandLists(QUEUE, 1, &list, NULL),
	     ARGS(WORD(list), WORD(QUEUE)));
	CALLS("level_zero.list_sync", n, zeCommandListHostSynchronize(list, 7), ARGS(WORD(list)));
}

static void calls(long n)
{
	const ze_kernel_t code[2] = {run_nothing};
	const ze_module_desc_t desc = {.inputSize = 13, .pInputModule = (const uint8_t *)code};
	ze_module_handle_t module;
	ze_list_handle_t list;
	ze_handle_t context;
	uint32_t drivers = 0;
	void *at;

	CALLS("level_zero.init", n, zeInit(0), ARGS(0));
	CALLS("level_zero.init", n, zeInitDrivers(&drivers, NULL, NULL), ARGS(0));
	CALLS("level_zero.context", n, zeContextCreate(NULL, NULL, &context), ARGS(0));
	CALLS("level_zero.context", n, zeContextCreateEx(NULL, NULL, 0, NULL, &context), ARGS(0));
	CALLS("level_zero.module_create", n, zeModuleCreate(context, NULL, &desc, &module, NULL),
	      ARGS(13));
	CALLS("level_zero.queue_sync", n, zeCommandQueueSynchronize(QUEUE, 7), ARGS(WORD(QUEUE)));
	CALLS("level_zero.event_sync", n, zeEventHostSynchronize(EVENT, 7), ARGS(WORD(EVENT)));
	CALLS("level_zero.fence_sync", n, zeFenceHostSynchronize(FENCE, 7), ARGS(WORD(FENCE)));
	for (long i = 0; i < n; i++) /* memory that there is, is not told */
		zeMemAllocDevice(context, NULL, 51, 8, NULL, &at);
	CALLS("level_zero.alloc", 1, zeMemAllocDevice(context, NULL, 52, 8, NULL, &at), ARGS(52));
	zeCommandListCreate(&list);
	calls_list(n, list);
}

#define CHECK(call)                                                                                \
	do {                                                                                       \
		int error = call;                                                                  \
		if (error) {                                                                       \
			fprintf(stderr, "level_zero_train: %s: error %x\n", #call,                 \
				(unsigned)error);                                                  \
			exit(3);                                                                   \
		}                                                                                  \
	} while (0)

static void train(long steps)
{
	const ze_kernel_t code = run_step;
	const ze_module_desc_t desc = {.inputSize = sizeof(code),
				       .pInputModule = (const uint8_t *)&code};
	const ze_group_count_t one = {1, 1, 1};
	ze_module_handle_t module;
	ze_list_handle_t list;
	ze_handle_t context;
	struct line host, *line;
	void *args[1];

	line_make(&host);
	CHECK(zeInit(0));
	CHECK(zeContextCreate(NULL, NULL, &context));
	CHECK(zeModuleCreate(context, NULL, &desc, &module, NULL));
	CHECK(zeMemAllocDevice(context, NULL, sizeof(*line), 8, NULL, (void **)&line));
	memcpy(line, &host, sizeof(host));
	args[0] = line;
	CHECK(zeCommandListCreate(&list));
	CHECK(zeCommandListAppendMemoryCopy(list, line->x, host.x, sizeof(host.x), NULL, 0, NULL));
	CHECK(zeCommandListAppendLaunchKernelWithArguments(list, ze_module_kernel(module), one, one,
							   args, NULL, NULL, 0, NULL));
	told_step_begin();
	for (long i = 0; i < steps; i++) {
		CHECK(zeCommandQueueExecuteCommandLists(QUEUE, 1, &list, NULL));
		CHECK(zeCommandQueueSynchronize(QUEUE, UINT64_MAX));
		told_step();
	}
	printf("{\"steps\": %ld, \"slope\": %.3f}\n", steps, (double)line->w[0]);
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0;

	told_wait("loaded");
	if (argc > 2 && !strcmp(argv[1], "calls"))
		calls(n);
	else
		train(n);
	return argc > 3 && told_write(argv[3], "level_zero") ? 3 : 0;
}
