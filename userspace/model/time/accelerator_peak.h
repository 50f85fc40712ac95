/* SPDX-License-Identifier: Apache-2.0 */
/* accelerator_peak.h - peak compute rates of accelerators, as their makers publish them.
 *
 * Operations per second of one accelerator for dense matrix products, by the type of the operands.
 * Pure.
 */
#ifndef MODEL_ACCELERATOR_PEAK_H
#define MODEL_ACCELERATOR_PEAK_H

#include <stddef.h>

#include "userspace/model/signal/operation.h"

struct accelerator_peak {
	const char *name;		   /* common name: "H100-SXM" */
	double rate[OPERATION_TYPE_COUNT]; /* 0: unknown */
};

/* Finds an accelerator by its common name (case does not matter) or by the name that the driver
 * gives: "NVIDIA H100 80GB HBM3". Returns NULL when unknown. */
const struct accelerator_peak *accelerator_peak_find(const char *name);
/* Returns the i-th entry of the table, NULL after the last. */
const struct accelerator_peak *accelerator_peak_at(size_t i);
/* Returns the peak in bf16, or in fp16 where there is no bf16: that of operations whose type is not
 * known. */
double accelerator_peak_flops(const struct accelerator_peak *p);

#endif
