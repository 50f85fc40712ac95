/* SPDX-License-Identifier: Apache-2.0 */
/* device_code.h - what the codes mean that device runtimes and communicators return: which of them
 * name a fault, and how long an element of a collective is. Pure.
 *
 * Sources: cuda.h 13.0 (CUresult; cudaError_t has the same numbers), hip_runtime_api.h
 * (hipError_t), nccl.h 2.28 (ncclResult_t, ncclDataType_t), cl.h of OpenCL 3.0 (-9999 is NVIDIA's,
 * and has no name), nrt_status.h of AWS Neuron 2.29, ze_api.h 1.9, absl/status/status.h
 * (PJRT_Error_Code has its numbers). A code that says that a call was wrong, that there is no
 * device, or that work is not ready yet names no fault.
 */
#ifndef MODEL_DEVICE_CODE_H
#define MODEL_DEVICE_CODE_H

#include <stdbool.h>
#include <stdint.h>

/* What is wrong; the names are kinds of health events, causes of disruptions and labels. */
#define FAULT_KINDS(X)                                                                             \
	X(device, device_error)		    /* the device, or its driver */                        \
	X(communicator, communicator_error) /* what ranks reach each other through */              \
	X(memory, out_of_memory)	    /* of the device */

enum fault_kind {
#define X(id, name) FAULT_##id,
	FAULT_KINDS(X)
#undef X
		FAULT_COUNT
};
extern const char *const fault_name[FAULT_COUNT];

struct device_code {
	int64_t code;
	enum fault_kind kind;
	const char *name; /* as its header spells it */
};

/* runtime: of a probe file. NULL: it names no fault. */
const struct device_code *device_code_find(const char *runtime, int64_t code);
/* A call that waits for work, or has it run, returned so: was the work done? Level Zero returns 1
 * when it did not wait to the end; Neuron has codes of its own for what ran and gave no numbers;
 * PJRT returns a pointer to the error. Of a runtime whose codes are not known it was. */
bool device_work_done(const char *runtime, int64_t ret);
/* Of an element of a collective; 0: unknown. */
uint32_t device_type_bytes(const char *runtime, uint64_t type);

#endif
