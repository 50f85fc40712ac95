/* SPDX-License-Identifier: Apache-2.0 */
/* libamdhip64.c - a stand-in for AMD's runtime (hip.h): its memory is the process's, a kernel runs
 * where it is launched. FAKE_HIP says which call fails or takes its time (script.h). */
#include <stdlib.h>
#include <string.h>

#include "tests/fake/hip.h"
#include "tests/fake/script.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

static int made;
#define HANDLE ((void *)&made)

#define X(name, parameters, does)                                                                  \
	hipError_t name parameters                                                                 \
	{                                                                                          \
		int code = script_call("FAKE_HIP", __func__);                                      \
		if (!code) {                                                                       \
			does;                                                                      \
		}                                                                                  \
		return code;                                                                       \
	}
HIP_FUNCTIONS(X)
#undef X
