/* SPDX-License-Identifier: Apache-2.0 */
/* neuron_train calls N | steps N [JOURNAL]: with the stand-in for libnrt, each probed function N
 * times, told (told.h); or N steps of training, one program each. "loaded" is printed, and a line
 * is read, before. A call that fails ends a training: status 3. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/line.h"
#include "tests/fake/nrt.h"
#include "tests/fake/told.h"

static void run_nothing(void *in)
{
	(void)in;
}

static void run_step(void *in)
{
	line_gradient(in);
	line_update(in);
}

static void calls_tensor(long n)
{
	nrt_tensor_t *tensor = NULL;
	nrta_seq_t seq;
	char bytes[64] = "";

	/* Memory that there is, is not told; nor that there is none of the host's, which is no
	 * device's. */
	for (long i = 0; i < n; i++)
		nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "w", &tensor);
	nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, -1, 32, NULL, &tensor);
	CALLS("neuron.tensor_allocate", 1,
	      nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 65, "w", &tensor), ARGS(65));
	CALLS("neuron.tensor_write", n, nrt_tensor_write(tensor, bytes, 1, 21),
	      ARGS(21, WORD(tensor)));
	CALLS("neuron.tensor_read", n, nrt_tensor_read(tensor, bytes, 1, 22),
	      ARGS(22, WORD(tensor)));
	HITS("neuron.tensor_write_schedule", n,
	     nrta_tensor_write(tensor, bytes, 1, 23, 0, NULL, &seq), ARGS(23));
	HITS("neuron.tensor_read_schedule", n,
	     nrta_tensor_read(bytes, tensor, 1, 24, 0, NULL, &seq), ARGS(24));
	HITS("neuron.collective_schedule", n, nrta_cc_schedule(NULL, 0, NULL, &seq), ARGS(0));
}

static void calls(long n)
{
	const neff_fn neff[2] = {run_nothing};
	nrt_model_t *model;
	nrta_seq_t seq;

	CALLS("neuron.init", n, nrt_init(NRT_FRAMEWORK_TYPE_PYTORCH, "2", "3"),
	      ARGS(NRT_FRAMEWORK_TYPE_PYTORCH));
	CALLS("neuron.global_comm", n, nrt_build_global_comm(0, 2, 16), ARGS(16, 2));
	for (long i = 0; i < n; i++) { /* another model each time */
		CALLS("neuron.load_collectives", 1,
		      nrt_load_collectives(neff, 12, 0, -1, 3, 17, &model),
		      ARGS(WORD(model), 12, 3, 17));
		CALLS("neuron.load", 1, nrt_load(neff, 11, 0, -1, &model), ARGS(WORD(model), 11));
	}
	CALLS("neuron.execute", n, nrt_execute(model, NULL, NULL), ARGS(WORD(model)));
	CALLS("neuron.execute_schedule", n, nrta_execute_schedule(model, NULL, NULL, 0, NULL, &seq),
	      ARGS(WORD(model)));
	CALLS("neuron.barrier", n, nrt_barrier(0, 2, 16), ARGS(0));
	calls_tensor(n);
	for (long i = 0; i < n; i++) {
		HITS("neuron.unload", 1, nrt_unload(model), ARGS(WORD(model)));
		nrt_load(neff, 8, 0, -1, &model);
		told_call("neuron.load", 1, 0, ARGS(WORD(model), 8));
	}
	HITS("neuron.close", n, nrt_close(), ARGS(0));
}

#define CHECK(call)                                                                                \
	do {                                                                                       \
		int error = call;                                                                  \
		if (error) {                                                                       \
			fprintf(stderr, "neuron_train: %s: status %d\n", #call, error);            \
			exit(3);                                                                   \
		}                                                                                  \
	} while (0)

static void train(long steps)
{
	const neff_fn neff = run_step;
	nrt_tensor_set_t *set;
	nrt_tensor_t *tensor;
	nrt_model_t *model;
	struct line line;

	line_make(&line);
	CHECK(nrt_init(NRT_FRAMEWORK_TYPE_PYTORCH, "2", "3"));
	CHECK(nrt_load(&neff, sizeof(neff), 0, -1, &model));
	CHECK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, sizeof(line), "line", &tensor));
	CHECK(nrt_tensor_write(tensor, &line, 0, sizeof(line)));
	CHECK(nrt_allocate_tensor_set(&set));
	CHECK(nrt_add_tensor_to_tensor_set(set, "line", tensor));
	told_step_begin();
	for (long i = 0; i < steps; i++) {
		CHECK(nrt_tensor_write(tensor, line.x, 0, sizeof(line.x)));
		CHECK(nrt_execute(model, set, set));
		told_step();
	}
	CHECK(nrt_tensor_read(tensor, &line, 0, sizeof(line)));
	CHECK(nrt_unload(model));
	nrt_close();
	printf("{\"steps\": %ld, \"slope\": %.3f}\n", steps, (double)line.w[0]);
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0;

	told_wait("loaded");
	if (argc > 2 && !strcmp(argv[1], "calls"))
		calls(n);
	else
		train(n);
	return argc > 3 && told_write(argv[3], "neuron") ? 3 : 0;
}
