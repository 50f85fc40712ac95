/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libtorch_python.so; the end of a range is probed there. */
#include "tests/fake/torch.h"

void range_end(void) __asm__(TORCH_RANGE_END);
void range_end(void)
{
	__asm__ volatile("" ::: "memory");
}
