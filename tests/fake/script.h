/* SPDX-License-Identifier: Apache-2.0 */
/* script.h - what the calls of a stand-in library are told to do, by an environment variable:
 *
 *   FAKE_CUDA="cuStreamSynchronize:ret=700@120,latency=2ms;cuMemAlloc_v2:ret=2@3"
 *
 * For each function: ret=CODE (the call does nothing else and returns it), latency=N(us|ms|s)
 * before the call does what it does, hang (for ever). @N: the Nth call from 1, of latency and hang
 * the ones after it too. Counts are of the process. */
#ifndef TESTS_FAKE_SCRIPT_H
#define TESTS_FAKE_SCRIPT_H

/* A call of `name` begins. Returns what it is to return at once, 0: nothing of the kind.
 * Thread-safe. Each library has its own. */
__attribute__((visibility("hidden"))) int script_call(const char *variable, const char *name);

#endif
