/* SPDX-License-Identifier: Apache-2.0 */
/* nrt.h - names, arguments and numbers of the stand-in for libnrt, as nrt.h and nrt_async.h of AWS
 * Neuron have them. A program (NEFF) is the address of a function of the process. */
#ifndef TESTS_FAKE_NRT_H
#define TESTS_FAKE_NRT_H

#include <stddef.h>
#include <stdint.h>

typedef int NRT_STATUS;
typedef struct nrt_model nrt_model_t;
typedef struct nrt_tensor nrt_tensor_t;
typedef struct set nrt_tensor_set_t;
typedef struct tracker nrta_error_tracker_t;
typedef struct cc nrt_cc_context_t;
typedef uint64_t nrta_seq_t;
typedef void (*neff_fn)(void *in);

enum { NRT_TENSOR_PLACEMENT_DEVICE, NRT_TENSOR_PLACEMENT_HOST };
#define NRT_FRAMEWORK_TYPE_PYTORCH 3

NRT_STATUS nrt_init(int framework, const char *fw_version, const char *fal_version);
void nrt_close(void);
NRT_STATUS nrt_load(const void *neff, size_t size, int32_t vnc, int32_t vnc_count,
		    nrt_model_t **model);
NRT_STATUS nrt_load_collectives(const void *neff, size_t size, int32_t vnc, int32_t vnc_count,
				uint32_t device, uint32_t devices, nrt_model_t **model);
NRT_STATUS nrt_unload(nrt_model_t *model);
NRT_STATUS nrt_allocate_tensor_set(nrt_tensor_set_t **set);
NRT_STATUS nrt_add_tensor_to_tensor_set(nrt_tensor_set_t *set, const char *name,
					nrt_tensor_t *tensor);
NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *in, nrt_tensor_set_t *out);
NRT_STATUS nrt_execute_repeat(nrt_model_t *model, const nrt_tensor_set_t *in, nrt_tensor_set_t *out,
			      int times);
NRT_STATUS nrt_build_global_comm(int32_t vnc, uint32_t device, uint32_t devices);
NRT_STATUS nrt_barrier(int32_t vnc, uint32_t device, uint32_t devices);
NRT_STATUS nrt_tensor_allocate(int placement, int vnc, size_t size, const char *name,
			       nrt_tensor_t **tensor);
NRT_STATUS nrt_tensor_read(const nrt_tensor_t *tensor, void *to, size_t offset, size_t size);
NRT_STATUS nrt_tensor_write(nrt_tensor_t *tensor, const void *from, size_t offset, size_t size);
NRT_STATUS nrta_tensor_write(nrt_tensor_t *tensor, const void *from, uint64_t offset, uint64_t size,
			     int queue, nrta_error_tracker_t *tracker, nrta_seq_t *seq);
NRT_STATUS nrta_tensor_read(void *to, nrt_tensor_t *tensor, uint64_t offset, uint64_t size,
			    int queue, nrta_error_tracker_t *tracker, nrta_seq_t *seq);
NRT_STATUS nrta_execute_schedule(nrt_model_t *model, const nrt_tensor_set_t *in,
				 nrt_tensor_set_t *out, int queue, nrta_error_tracker_t *tracker,
				 nrta_seq_t *seq);
NRT_STATUS nrta_cc_schedule(nrt_cc_context_t **cc, int queue, nrta_error_tracker_t *tracker,
			    nrta_seq_t *seq);

#endif
