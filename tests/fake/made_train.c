/* SPDX-License-Identifier: Apache-2.0 */
/* made_train calls N | steps N [JOURNAL]: with the made-up runtime, each probed function N times,
 * told (told.h); or N steps of training, one program each. "loaded" is printed, and a line is read,
 * before. A call that fails ends a training: status 3. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/line.h"
#include "tests/fake/made.h"
#include "tests/fake/told.h"

static void run_nothing(void *arg)
{
	(void)arg;
}

static void run_step(void *arg)
{
	line_gradient(arg);
	line_update(arg);
}

static void calls(long n)
{
	made_comm_t comm = (made_comm_t)(void *)&n;
	made_code code = 0;

	CALLS("made.init", n, madeInit(), ARGS(0));
	CALLS("made.context", n, (int32_t)WORD(madeContext()), ARGS(0)); /* low 32 bits */
	COUNTS("made.submit", n, madeSubmit(run_nothing, NULL));
	CALLS("made.execute", n, madeExecute(run_nothing, NULL), ARGS(WORD(run_nothing)));
	CALLS("made.wait", n, madeWait(), ARGS(0));
	CALLS("made.sum", n, madeSum(21, 1, comm), ARGS(21, 1, WORD(comm)));
	CALLS("made.post", n, madePost(22, 2, comm), ARGS(22, 2, WORD(comm)));
	for (long i = 0; i < n; i++)
		madeAsyncError(comm, &code); /* of one that is well nothing is told */
	CALLS("made.async_error", 1, madeAsyncError(comm, &code), ARGS(WORD(comm), code));
}

#define CHECK(call)                                                                                \
	do {                                                                                       \
		made_code code_ = call;                                                            \
		if (code_ == 1 || code_ > 4) {                                                     \
			fprintf(stderr, "made_train: %s: code %u\n", #call, code_);                \
			exit(3);                                                                   \
		}                                                                                  \
	} while (0)

static void train(long steps)
{
	made_code code = 0;
	struct line line;

	line_make(&line);
	CHECK(madeInit());
	if (!madeContext())
		exit(3);
	told_step_begin();
	for (long i = 0; i < steps; i++) {
		CHECK(madeExecute(run_step, &line));
		CHECK(madeSum(16, 1, NULL));
		CHECK(madeWait());
		CHECK(madeAsyncError(NULL, &code));
		CHECK(code);
		told_step();
	}
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
	return argc > 3 && told_write(argv[3], "made") ? 3 : 0;
}
