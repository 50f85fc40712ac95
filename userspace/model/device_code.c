/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/device_code.h"

#include <stddef.h>
#include <string.h>

const char *const fault_name[FAULT_COUNT] = {
#define X(id, name) [FAULT_##id] = #name,
	FAULT_KINDS(X)
#undef X
};

/* clang-format off: tables */
static const struct device_code cuda[] = {
	{2, FAULT_memory, "CUDA_ERROR_OUT_OF_MEMORY"},
	{46, FAULT_device, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
	{214, FAULT_device, "CUDA_ERROR_ECC_UNCORRECTABLE"},
	{220, FAULT_device, "CUDA_ERROR_NVLINK_UNCORRECTABLE"},
	{226, FAULT_device, "CUDA_ERROR_CONTAINED"},
	{700, FAULT_device, "CUDA_ERROR_ILLEGAL_ADDRESS"},
	{702, FAULT_device, "CUDA_ERROR_LAUNCH_TIMEOUT"},
	{710, FAULT_device, "CUDA_ERROR_ASSERT"},
	{714, FAULT_device, "CUDA_ERROR_HARDWARE_STACK_ERROR"},
	{715, FAULT_device, "CUDA_ERROR_ILLEGAL_INSTRUCTION"},
	{716, FAULT_device, "CUDA_ERROR_MISALIGNED_ADDRESS"},
	{717, FAULT_device, "CUDA_ERROR_INVALID_ADDRESS_SPACE"},
	{718, FAULT_device, "CUDA_ERROR_INVALID_PC"},
	{719, FAULT_device, "CUDA_ERROR_LAUNCH_FAILED"},
	{802, FAULT_device, "CUDA_ERROR_SYSTEM_NOT_READY"},
	{806, FAULT_device, "CUDA_ERROR_MPS_RPC_FAILURE"},
	{807, FAULT_device, "CUDA_ERROR_MPS_SERVER_NOT_READY"},
	{810, FAULT_device, "CUDA_ERROR_MPS_CLIENT_TERMINATED"},
	{908, FAULT_device, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
	{909, FAULT_device, "CUDA_ERROR_TIMEOUT"},
	{911, FAULT_device, "CUDA_ERROR_EXTERNAL_DEVICE"},
	{999, FAULT_device, "CUDA_ERROR_UNKNOWN"},
};

static const struct device_code hip[] = {
	{2, FAULT_memory, "hipErrorOutOfMemory"},
	{214, FAULT_device, "hipErrorECCNotCorrectable"},
	{700, FAULT_device, "hipErrorIllegalAddress"},
	{702, FAULT_device, "hipErrorLaunchTimeOut"},
	{710, FAULT_device, "hipErrorAssert"},
	{719, FAULT_device, "hipErrorLaunchFailure"},
	{999, FAULT_device, "hipErrorUnknown"},
};

static const struct device_code nccl[] = {
	{1, FAULT_communicator, "ncclUnhandledCudaError"},
	{2, FAULT_communicator, "ncclSystemError"},
	{3, FAULT_communicator, "ncclInternalError"},
	{4, FAULT_communicator, "ncclInvalidArgument"},
	{5, FAULT_communicator, "ncclInvalidUsage"},
	{6, FAULT_communicator, "ncclRemoteError"},
};

static const struct device_code opencl[] = {
	{-2, FAULT_device, "CL_DEVICE_NOT_AVAILABLE"},
	{-4, FAULT_memory, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
	{-5, FAULT_device, "CL_OUT_OF_RESOURCES"},
	{-14, FAULT_device, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
	{-9999, FAULT_device, "-9999 (NVIDIA)"},
};

static const struct device_code neuron[] = {
	{4, FAULT_memory, "NRT_RESOURCE"},
	{5, FAULT_device, "NRT_TIMEOUT"},
	{6, FAULT_device, "NRT_HW_ERROR"},
	{101, FAULT_device, "NRT_EXEC_UNIT_UNRECOVERABLE"},
	{1003, FAULT_device, "NRT_EXEC_COMPLETED_WITH_NUM_ERR"},
	{1004, FAULT_device, "NRT_EXEC_COMPLETED_WITH_ERR"},
	{1006, FAULT_device, "NRT_EXEC_OOB"},
	{1200, FAULT_communicator, "NRT_EXEC_HW_ERR_COLLECTIVES"},
	{1201, FAULT_device, "NRT_EXEC_HW_ERR_HBM_UE"},
	{1202, FAULT_device, "NRT_EXEC_HW_ERR_NC_UE"},
	{1203, FAULT_device, "NRT_EXEC_HW_ERR_DMA_ABORT"},
	{1204, FAULT_device, "NRT_EXEC_SW_NQ_OVERFLOW"},
	{1205, FAULT_device, "NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE"},
	{1206, FAULT_communicator, "NRT_NETWORK_PROXY_FAILURE"},
};

static const struct device_code level_zero[] = {
	{0x70000001, FAULT_device, "ZE_RESULT_ERROR_DEVICE_LOST"},
	{0x70000003, FAULT_memory, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"},
	{0x70000006, FAULT_device, "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET"},
};

static const struct device_code pjrt[] = {
	{4, FAULT_device, "DEADLINE_EXCEEDED"}, {8, FAULT_memory, "RESOURCE_EXHAUSTED"},
	{10, FAULT_device, "ABORTED"},		{13, FAULT_device, "INTERNAL"},
	{14, FAULT_device, "UNAVAILABLE"},	{15, FAULT_device, "DATA_LOSS"},
};

#define TABLE(name, codes)                                                                         \
	{                                                                                          \
		name, codes, sizeof(codes) / sizeof(codes[0])                                      \
	}
static const struct {
	const char *runtime;
	const struct device_code *codes;
	size_t count;
} tables[] = {
	TABLE("cuda", cuda),	 TABLE("nccl", nccl),
	TABLE("rccl", nccl),	 TABLE("hip", hip),
	TABLE("opencl", opencl), TABLE("neuron", neuron),
	TABLE("pjrt", pjrt),	 TABLE("level_zero", level_zero),
};
/* clang-format on */

const struct device_code *device_code_find(const char *runtime, int64_t code)
{
	if (!code)
		return NULL;
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
		if (strcmp(tables[t].runtime, runtime) != 0)
			continue;
		for (size_t i = 0; i < tables[t].count; i++) {
			if (tables[t].codes[i].code == code)
				return &tables[t].codes[i];
		}
	}
	return NULL;
}

bool device_work_done(const char *runtime, int64_t ret)
{
	int32_t code = (int32_t)ret;

	if (!strcmp(runtime, "pjrt"))
		return !ret;
	if (!strcmp(runtime, "cuda") || !strcmp(runtime, "hip") || !strcmp(runtime, "level_zero"))
		return !code;
	if (!strcmp(runtime, "neuron") &&
	    (code == 1003 || code == 1004)) /* NRT_EXEC_COMPLETED_WITH_... */
		return true;
	return !device_code_find(runtime, code);
}

uint32_t device_type_bytes(const char *runtime, uint64_t type)
{
	/* int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, two of 8 bits
	 */
	static const uint8_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
	bool known = !strcmp(runtime, "nccl") || !strcmp(runtime, "rccl");

	return known && type < sizeof(bytes) ? bytes[type] : 0;
}
