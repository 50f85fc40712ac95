/* SPDX-License-Identifier: Apache-2.0 */
/* accelerator_peak.h - peak compute rates of accelerators, as their makers publish them.
 *
 * FLOP/s of one accelerator for dense matrix products in bf16 (fp16 where there is no bf16). Pure.
 */
#ifndef MODEL_ACCELERATOR_PEAK_H
#define MODEL_ACCELERATOR_PEAK_H

#include <stddef.h>

struct accelerator_peak {
	const char *name; /* common name: "H100-SXM" */
	double flops;
};

/* Finds an accelerator by its common name (case does not matter) or by the name that the driver
 * gives: "NVIDIA H100 80GB HBM3". Returns NULL when unknown. */
const struct accelerator_peak *accelerator_peak_find(const char *name);
/* Returns the i-th entry of the table, NULL after the last. */
const struct accelerator_peak *accelerator_peak_at(size_t i);

#endif
