/* SPDX-License-Identifier: Apache-2.0 */
/* told.h - what a program of the tests tells of itself: each probed call with what it passed and
 * got, as tests/tools/tape_told.py prints what was seen of it; and its steps, as
 * tests/tools/compare.py reads them. */
#ifndef TESTS_FAKE_TOLD_H
#define TESTS_FAKE_TOLD_H

#include <stdint.h>

uint64_t told_now(void); /* CLOCK_MONOTONIC, ns */
/* Prints the word, then waits for a line of input. The program ends without one. */
void told_wait(const char *word);

#define TOLD_ARGS 6
struct told_args {
	uint64_t at[TOLD_ARGS];
};
/* On standard output: "call ID TIMES RET ARG...", "count ID TIMES". */
void told_call(const char *id, long times, int64_t ret, const struct told_args *args);
void told_count(const char *id, long times);

/* The step after the last one ended now. */
void told_step(void);
/* All of them, from the first told_step_begin() on. */
void told_step_begin(void);
int told_write(const char *path, const char *kind);

#define ARGS(...)   (&(struct told_args){{__VA_ARGS__}})
#define WORD(value) ((uint64_t)(uintptr_t)(value))
/* Calls so often, and tells. */
#define CALLS(id, times, call, args)                                                               \
	do {                                                                                       \
		int64_t ret_ = 0;                                                                  \
		for (long i_ = 0; i_ < (times); i_++)                                              \
			ret_ = (int64_t)(call);                                                    \
		told_call(id, times, ret_, args);                                                  \
	} while (0)
#define HITS(id, times, call, args)                                                                \
	do {                                                                                       \
		for (long i_ = 0; i_ < (times); i_++)                                              \
			call;                                                                      \
		told_call(id, times, 0, args);                                                     \
	} while (0)
#define COUNTS(id, times, call)                                                                    \
	do {                                                                                       \
		for (long i_ = 0; i_ < (times); i_++)                                              \
			call;                                                                      \
		told_count(id, times);                                                             \
	} while (0)

#endif
