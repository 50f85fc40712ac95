/* SPDX-License-Identifier: Apache-2.0 */
/* libmade.c - a runtime that nobody has (made.h): programs run in the call. FAKE_MADE says which
 * call fails or takes its time (script.h). */
#include <stddef.h>

#include "tests/fake/made.h"
#include "tests/fake/script.h"

#define SCRIPT()                                                                                   \
	do {                                                                                       \
		int code = script_call("FAKE_MADE", __func__);                                     \
		if (code)                                                                          \
			return (made_code)code;                                                    \
	} while (0)
#define UNUSED __attribute__((unused))

static int thing; /* what handles point to */

made_code madeInit(void)
{
	SCRIPT();
	return 0;
}

made_context_t madeContext(void)
{
	return script_call("FAKE_MADE", __func__) ? NULL : (made_context_t)(void *)&thing;
}

made_code madeSubmit(made_program_t program, void *arg)
{
	SCRIPT();
	program(arg);
	return 0;
}

made_code madeExecute(made_program_t program, void *arg)
{
	SCRIPT();
	program(arg);
	return 3; /* no failure either */
}

made_code madeWait(void)
{
	SCRIPT();
	return 0;
}

made_code madeSum(UNUSED uint64_t count, UNUSED int type, UNUSED made_comm_t comm)
{
	SCRIPT();
	return 0;
}

made_code madePost(UNUSED uint64_t count, UNUSED int type, UNUSED made_comm_t comm)
{
	SCRIPT();
	return 0;
}

made_code madeAsyncError(UNUSED made_comm_t comm, made_code *ret)
{
	*ret = (made_code)script_call("FAKE_MADE", __func__);
	return 0;
}
