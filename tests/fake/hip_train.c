/* SPDX-License-Identifier: Apache-2.0 */
/* hip_train calls N | steps N [JOURNAL]: with the stand-in for libamdhip64, each probed function N
 * times, told (told.h); or N steps of training, which end with a wait. "loaded" is printed, and a
 * line is read, before. A call that fails ends a training: status 3. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/hip.h"
#include "tests/fake/line.h"
#include "tests/fake/told.h"

#define STREAM ((hipStream_t)0x5000)
#define EVENT  ((hipEvent_t)0xe000)

static void run_nothing(void **args)
{
	(void)args;
}

static void run_gradient(void **args)
{
	line_gradient(args[0]);
}

static void run_update(void **args)
{
	line_update(args[0]);
}

static void calls_launch(long n)
{
	const struct launch_config config = {{1, 1, 1}, {1, 1, 1}, 0, STREAM};
	const dim3 one = {1, 1, 1};

	COUNTS("hip.launch", n, hipLaunchKernel(run_nothing, one, one, NULL, 0, STREAM));
	COUNTS("hip.launch", n, hipLaunchKernel_spt(run_nothing, one, one, NULL, 0, STREAM));
	COUNTS("hip.launch", n, hipLaunchKernelExC(&config, run_nothing, NULL));
	COUNTS("hip.launch_ext", n,
	       hipExtLaunchKernel(run_nothing, one, one, NULL, 0, STREAM, NULL, NULL, 0));
	COUNTS("hip.launch_module", n,
	       hipModuleLaunchKernel(run_nothing, 1, 1, 1, 1, 1, 1, 0, STREAM, NULL, NULL));
	COUNTS("hip.launch_module_ext", n,
	       EXT_LAUNCH(run_nothing, 1, 1, 1, 1, 1, 1, 0, STREAM, NULL, NULL, NULL, NULL, 0));
	COUNTS("hip.launch_cooperative", n,
	       hipLaunchCooperativeKernel(run_nothing, one, one, NULL, 0, STREAM));
	COUNTS("hip.launch_cooperative", n,
	       hipLaunchCooperativeKernel_spt(run_nothing, one, one, NULL, 0, STREAM));
	COUNTS("hip.launch_driver", n, hipDrvLaunchKernelEx(&config, run_nothing, NULL, NULL));
}

static void calls_build(long n)
{
	hipGraphExec_t exec = NULL;
	hipGraph_t graph = NULL;
	hipModule_t module;

	CALLS("hip.module_load", n, hipModuleLoad(&module, "file"), ARGS(0));
	CALLS("hip.module_load", n, hipModuleLoadData(&module, ""), ARGS(0));
	CALLS("hip.module_load", n, hipModuleLoadDataEx(&module, "", 0, NULL, NULL), ARGS(0));
	CALLS("hip.rtc_compile", n, hiprtcCompileProgram((hiprtcProgram)0x900, 0, NULL),
	      ARGS(0x900));
	HITS("hip.capture_begin", n, hipStreamBeginCapture(STREAM, 0), ARGS(WORD(STREAM)));
	HITS("hip.capture_begin", n, hipStreamBeginCapture_spt(STREAM, 0), ARGS(WORD(STREAM)));
	HITS("hip.capture_end", n, hipStreamEndCapture(STREAM, &graph), ARGS(WORD(STREAM)));
	HITS("hip.capture_end", n, hipStreamEndCapture_spt(STREAM, &graph), ARGS(WORD(STREAM)));
	CALLS("hip.graph_instantiate", n, hipGraphInstantiate(&exec, graph, NULL, NULL, 0),
	      ARGS(0));
	CALLS("hip.graph_instantiate", n, hipGraphInstantiateWithFlags(&exec, graph, 0), ARGS(0));
	CALLS("hip.graph_instantiate", n, hipGraphInstantiateWithParams(&exec, graph, NULL),
	      ARGS(0));
	HITS("hip.graph_launch", n, hipGraphLaunch(exec, STREAM), ARGS(WORD(exec), WORD(STREAM)));
	HITS("hip.graph_launch", n, hipGraphLaunch_spt(exec, STREAM),
	     ARGS(WORD(exec), WORD(STREAM)));
}

static void calls_copy(long n)
{
	char a[64] = "", b[64] = "";
	void *at;

	/* Memory that there is, is not told: those that the script has fail are. */
	for (long i = 0; i < n; i++) {
		hipMalloc(&at, 41);
		hipMallocAsync(&at, 42, STREAM);
		hipMallocManaged(&at, 43, 1);
		hipMallocFromPoolAsync(&at, 44, NULL, STREAM);
	}
	CALLS("hip.alloc", 1, hipMalloc(&at, 45), ARGS(45));
	CALLS("hip.alloc_async", 1, hipMallocAsync(&at, 46, STREAM), ARGS(46));
	CALLS("hip.alloc", 1, hipMallocManaged(&at, 47, 1), ARGS(47));
	CALLS("hip.alloc_from_pool", 1, hipMallocFromPoolAsync(&at, 48, NULL, STREAM), ARGS(48));
	CALLS("hip.copy", n, hipMemcpy(a, b, 11, hipMemcpyHostToDevice), ARGS(11, 1));
	CALLS("hip.copy", n, hipMemcpy_spt(a, b, 12, hipMemcpyDeviceToHost), ARGS(12, 2));
	CALLS("hip.copy_with_stream", n, hipMemcpyWithStream(a, b, 13, 2, STREAM), ARGS(13, 2));
	HITS("hip.copy_async", n, hipMemcpyAsync(a, b, 14, 1, STREAM), ARGS(14, 1));
	HITS("hip.copy_async", n, hipMemcpyAsync_spt(a, b, 15, 2, STREAM), ARGS(15, 2));
	CALLS("hip.copy_in", n, hipMemcpyHtoD(a, b, 16), ARGS(16));
	CALLS("hip.copy_out", n, hipMemcpyDtoH(a, b, 17), ARGS(17));
	HITS("hip.copy_in_async", n, hipMemcpyHtoDAsync(a, b, 18, STREAM), ARGS(18));
	HITS("hip.copy_out_async", n, hipMemcpyDtoHAsync(a, b, 19, STREAM), ARGS(19));
}

static void calls(long n)
{
	int count;

	CALLS("hip.init", n, hipInit(0), ARGS(0));
	CALLS("hip.devices", n, hipGetDeviceCount(&count), ARGS(0));
	CALLS("hip.stream_sync", n, hipStreamSynchronize(STREAM), ARGS(WORD(STREAM)));
	CALLS("hip.stream_sync", n, hipStreamSynchronize_spt(STREAM), ARGS(WORD(STREAM)));
	CALLS("hip.event_sync", n, hipEventSynchronize(EVENT), ARGS(WORD(EVENT)));
	CALLS("hip.device_sync", n, hipDeviceSynchronize(), ARGS(0));
	calls_launch(n);
	calls_build(n);
	calls_copy(n);
}

#define CHECK(call)                                                                                \
	do {                                                                                       \
		int error = call;                                                                  \
		if (error) {                                                                       \
			fprintf(stderr, "hip_train: %s: error %d\n", #call, error);                \
			exit(3);                                                                   \
		}                                                                                  \
	} while (0)

static void train(long steps)
{
	const dim3 one = {1, 1, 1};
	struct line host, *line;
	void *args[1];
	int count;

	line_make(&host);
	CHECK(hipGetDeviceCount(&count));
	CHECK(hipMalloc((void **)&line, sizeof(*line)));
	CHECK(hipMemcpy(line, &host, sizeof(*line), hipMemcpyHostToDevice));
	args[0] = line;
	told_step_begin();
	for (long i = 0; i < steps; i++) {
		CHECK(hipMemcpyAsync(line->x, host.x, sizeof(host.x), hipMemcpyHostToDevice,
				     STREAM));
		CHECK(hipLaunchKernel(run_gradient, one, one, args, 0, STREAM));
		CHECK(hipModuleLaunchKernel(run_update, 1, 1, 1, 1, 1, 1, 0, STREAM, args, NULL));
		CHECK(hipStreamSynchronize(STREAM));
		told_step();
	}
	CHECK(hipMemcpyWithStream(&host, line, sizeof(host), hipMemcpyDeviceToHost, STREAM));
	printf("{\"steps\": %ld, \"slope\": %.3f}\n", steps, (double)host.w[0]);
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0;

	told_wait("loaded");
	if (argc > 2 && !strcmp(argv[1], "calls"))
		calls(n);
	else
		train(n);
	return argc > 3 && told_write(argv[3], "hip") ? 3 : 0;
}
