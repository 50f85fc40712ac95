/* SPDX-License-Identifier: Apache-2.0 */
/* libnrt.c - a stand-in for AWS Neuron's runtime (nrt.h): tensors are memory of the process, a
 * program is a function of it. FAKE_NRT says which call fails or takes its time (script.h). */
#include <stdlib.h>
#include <string.h>

#include "tests/fake/nrt.h"
#include "tests/fake/script.h"

#define SCRIPT()                                                                                   \
	do {                                                                                       \
		int code = script_call("FAKE_NRT", __func__);                                      \
		if (code)                                                                          \
			return code;                                                               \
	} while (0)
#define UNUSED __attribute__((unused))

struct nrt_model {
	neff_fn run;
};

struct nrt_tensor {
	size_t size;
	char bytes[];
};

struct set { /* of one tensor */
	nrt_tensor_t *tensor;
};

static nrta_seq_t seq_last;

NRT_STATUS nrt_init(UNUSED int framework, UNUSED const char *fw_version,
		    UNUSED const char *fal_version)
{
	SCRIPT();
	return 0;
}

void nrt_close(void)
{
	script_call("FAKE_NRT", __func__);
}

static NRT_STATUS model_make(const void *neff, size_t size, nrt_model_t **model)
{
	if (size < sizeof(neff_fn))
		return 2; /* NRT_INVALID */
	*model = malloc(sizeof(**model));
	memcpy(&(*model)->run, neff, sizeof(neff_fn));
	return 0;
}

NRT_STATUS nrt_load(const void *neff, size_t size, UNUSED int32_t vnc, UNUSED int32_t vnc_count,
		    nrt_model_t **model)
{
	SCRIPT();
	return model_make(neff, size, model);
}

NRT_STATUS nrt_load_collectives(const void *neff, size_t size, UNUSED int32_t vnc,
				UNUSED int32_t vnc_count, UNUSED uint32_t device,
				UNUSED uint32_t devices, nrt_model_t **model)
{
	SCRIPT();
	return model_make(neff, size, model);
}

NRT_STATUS nrt_unload(nrt_model_t *model)
{
	SCRIPT();
	free(model);
	return 0;
}

NRT_STATUS nrt_allocate_tensor_set(nrt_tensor_set_t **set)
{
	*set = calloc(1, sizeof(**set));
	return 0;
}

NRT_STATUS nrt_add_tensor_to_tensor_set(nrt_tensor_set_t *set, UNUSED const char *name,
					nrt_tensor_t *tensor)
{
	set->tensor = tensor;
	return 0;
}

NRT_STATUS nrt_execute_repeat(nrt_model_t *model, const nrt_tensor_set_t *in,
			      UNUSED nrt_tensor_set_t *out, int times)
{
	for (int i = 0; i < times; i++)
		model->run(in ? in->tensor->bytes : NULL);
	return 0;
}

NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *in, nrt_tensor_set_t *out)
{
	SCRIPT();
	return nrt_execute_repeat(model, in, out, 1); /* as the real one */
}

NRT_STATUS nrt_build_global_comm(UNUSED int32_t vnc, UNUSED uint32_t device,
				 UNUSED uint32_t devices)
{
	SCRIPT();
	return 0;
}

NRT_STATUS nrt_barrier(UNUSED int32_t vnc, UNUSED uint32_t device, UNUSED uint32_t devices)
{
	SCRIPT();
	return 0;
}

NRT_STATUS nrt_tensor_allocate(UNUSED int placement, UNUSED int vnc, size_t size,
			       UNUSED const char *name, nrt_tensor_t **tensor)
{
	SCRIPT();
	*tensor = calloc(1, sizeof(**tensor) + size);
	(*tensor)->size = size;
	return 0;
}

static NRT_STATUS within(const nrt_tensor_t *tensor, size_t offset, size_t size)
{
	return offset > tensor->size || size > tensor->size - offset ? 2 /* NRT_INVALID */ : 0;
}

NRT_STATUS nrt_tensor_read(const nrt_tensor_t *tensor, void *to, size_t offset, size_t size)
{
	SCRIPT();
	if (!within(tensor, offset, size))
		memcpy(to, tensor->bytes + offset, size);
	return within(tensor, offset, size);
}

NRT_STATUS nrt_tensor_write(nrt_tensor_t *tensor, const void *from, size_t offset, size_t size)
{
	SCRIPT();
	if (!within(tensor, offset, size))
		memcpy(tensor->bytes + offset, from, size);
	return within(tensor, offset, size);
}

NRT_STATUS nrta_tensor_write(nrt_tensor_t *tensor, const void *from, uint64_t offset, uint64_t size,
			     UNUSED int queue, UNUSED nrta_error_tracker_t *tracker,
			     nrta_seq_t *seq)
{
	SCRIPT();
	if (!within(tensor, offset, size))
		memcpy(tensor->bytes + offset, from, size);
	*seq = ++seq_last;
	return 0;
}

NRT_STATUS nrta_tensor_read(void *to, nrt_tensor_t *tensor, uint64_t offset, uint64_t size,
			    UNUSED int queue, UNUSED nrta_error_tracker_t *tracker, nrta_seq_t *seq)
{
	SCRIPT();
	if (!within(tensor, offset, size))
		memcpy(to, tensor->bytes + offset, size);
	*seq = ++seq_last;
	return 0;
}

NRT_STATUS nrta_execute_schedule(nrt_model_t *model, const nrt_tensor_set_t *in,
				 UNUSED nrt_tensor_set_t *out, UNUSED int queue,
				 UNUSED nrta_error_tracker_t *tracker, nrta_seq_t *seq)
{
	SCRIPT();
	model->run(in ? in->tensor->bytes : NULL);
	*seq = ++seq_last;
	return 0;
}

NRT_STATUS nrta_cc_schedule(UNUSED nrt_cc_context_t **cc, UNUSED int queue,
			    UNUSED nrta_error_tracker_t *tracker, nrta_seq_t *seq)
{
	SCRIPT();
	*seq = ++seq_last;
	return 0;
}
