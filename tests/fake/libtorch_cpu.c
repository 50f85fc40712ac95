/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libtorch_cpu.so: probed functions by their real names, which do nothing. */
#include "tests/fake/torch.h"

#define FAKE(name, symbol)                                                                         \
	void name(void) __asm__(symbol);                                                           \
	void name(void)                                                                            \
	{                                                                                          \
		__asm__ volatile("" ::: "memory");                                                 \
	}

FAKE(range_begin, TORCH_RANGE_BEGIN)
FAKE(backward, TORCH_BACKWARD)
FAKE(reducer, TORCH_REDUCER)
FAKE(fused_adam, TORCH_FUSED_ADAM)
FAKE(save_begin, TORCH_SAVE_BEGIN)
FAKE(save_end, TORCH_SAVE_END)
FAKE(restore, TORCH_RESTORE)
FAKE(launch, FAKE_LAUNCH)
FAKE(sync_device, FAKE_SYNC)
