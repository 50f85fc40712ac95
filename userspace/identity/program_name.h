/* SPDX-License-Identifier: Apache-2.0 */
/* program_name.h - the name that a program for a device has in its own code. Of MLIR bytecode
 * (StableHLO, what JAX compiles) it is the string behind the attribute "num_replicas", as seen with
 * jaxlib 0.4.38 to 0.10.2, else the first that is named as JAX names a jitted function; of a
 * HloModuleProto (torch_xla) the first field; of a program that was compiled and written down
 * (JAX's cache) that of the HloModuleProto in it, if there is one where XLA's compiler for the CPU
 * puts it. Pure. The code is hostile: any bytes, any length. */
#ifndef IDENTITY_PROGRAM_NAME_H
#define IDENTITY_PROGRAM_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRAM_NAME_MAX 128 /* terminator included */

struct program_name {
	char name[PROGRAM_NAME_MAX]; /* "" until it is known, or likely */
	bool sure;		     /* nothing that follows changes it */
};

/* What is to be seen again in front of the next piece of a code that is looked at in pieces: so a
 * name lies whole in one of them. */
#define PROGRAM_NAME_OVERLAP (PROGRAM_NAME_MAX + 16)

/* Looks at a piece of the code; first: it is the beginning. n is zeroed before that. */
void program_name_look(struct program_name *n, const char *code, size_t len, bool first);
/* Looks at the beginning, len bytes, of a compiled program of so many bytes. n is zeroed before
 * that. */
void program_name_cached(struct program_name *n, const char *code, size_t len, uint64_t bytes);

#endif
