/* SPDX-License-Identifier: Apache-2.0 */
/* accelerator_peak.h - what accelerators can do at most, as their makers publish it: dense matrix
 * products in bf16 (in fp16 where there is no bf16), FLOP/s of one accelerator. Pure. */
#ifndef MODEL_ACCELERATOR_PEAK_H
#define MODEL_ACCELERATOR_PEAK_H

#include <stddef.h>

struct accelerator_peak {
	const char *name; /* as people write it: "H100-SXM" */
	double flops;
};

/* By that name, in capitals or not, or as the driver writes it: "NVIDIA H100 80GB HBM3". NULL:
 * unknown. */
const struct accelerator_peak *accelerator_peak_find(const char *name);
/* The i-th of those there are; NULL beyond the last. */
const struct accelerator_peak *accelerator_peak_at(size_t i);

#endif
