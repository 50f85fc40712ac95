/* SPDX-License-Identifier: Apache-2.0 */
/* program_name.h - the name that a program for a device has in its own code. In MLIR bytecode
 * (StableHLO, which JAX compiles) it is the string after the attribute "num_replicas", as seen with
 * jaxlib 0.4.38 to 0.10.2, else the first that is named as JAX names a jitted function; of a
 * HloModuleProto (torch_xla) the first field; of a program that was compiled and written down
 * (JAX's cache) that of the HloModuleProto in it, if there is one where XLA's compiler for the CPU
 * puts it. Pure, but for program_code_scan()'s reads. The code is hostile: any bytes, any length.
 */
#ifndef IDENTITY_PROGRAM_NAME_H
#define IDENTITY_PROGRAM_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRAM_NAME_MAX 128 /* terminator included */

struct program_name {
	char name[PROGRAM_NAME_MAX]; /* "" until it is known, or likely */
	bool sure;		     /* nothing that follows changes it */
	bool ops_named; /* its operations have names, so a gradient among them would be seen */
	bool gradient;	/* ... and there is one: it computes the derivatives of something */
};

/* Bytes that are repeated before the next piece, if code is read in pieces: so each name lies whole
 * in one of them. */
#define PROGRAM_NAME_OVERLAP (PROGRAM_NAME_MAX + 16)

/* Looks at a piece of the code; first: it is the beginning. n is zeroed before that. */
void program_name_scan(struct program_name *n, const char *code, size_t len, bool first);
/* Looks for names of operations: JAX calls those of a gradient "transpose(jvp", TensorFlow
 * "gradient_tape/". */
void program_content_scan(struct program_name *n, const char *code, size_t len);
/* false: that is no name. */
bool program_name_take(struct program_name *n, const char *name, size_t len);
/* Looks at the beginning, len bytes, of a compiled program of so many bytes. n is zeroed before
 * that. */
void program_name_cached(struct program_name *n, const char *code, size_t len, uint64_t bytes);

#define PROGRAM_CODE_PIECE (1u << 20)
#define PROGRAM_CODE_MAX   (64ull << 20) /* bytes of one program that are read */

/* Reads up to `bytes` at `address` into `to`. Returns the bytes read, 0 where there are none. */
typedef size_t program_read(void *ctx, uint64_t address, void *to, size_t bytes);
/* Looks at a program of so many bytes, piece by piece; cached: it is a compiled one. `told` is set
 * only where all of it was read, or a gradient was found. Returns 0 or -ENOMEM. */
int program_code_scan(program_read *read, void *ctx, uint64_t code, uint64_t bytes, bool cached,
		      struct program_name *ret);

#endif
