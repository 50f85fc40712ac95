/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for the part of libtorch_cpu.so that logs events: it does nothing with them. */
#include "tests/fake/torch.h"

void log_event(const void *event) __asm__(TORCH_MONITOR);
void log_event(const void *event)
{
	__asm__ volatile("" ::"r"(event) : "memory");
}
