/* SPDX-License-Identifier: Apache-2.0 */
/* program_name.h - finds the name of a device program in its code. Pure, except the reads of
 * program_code_scan(). The code is untrusted: any bytes, any length.
 *
 * In MLIR bytecode (StableHLO, which JAX compiles), the name is the string after the attribute
 * "num_replicas" (tested with jaxlib 0.4.38 to 0.10.2), otherwise the first name of the form that
 * JAX gives to jitted functions. In an HloModuleProto (torch_xla) it is the first field. In a saved
 * compiled program (JAX's cache) it is that of the HloModuleProto inside, which only XLA's CPU
 * compiler writes. */
#ifndef IDENTITY_PROGRAM_NAME_H
#define IDENTITY_PROGRAM_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRAM_NAME_MAX 128 /* terminator included */

/* What is known of a program from the code read so far */
struct program_name {
	char name[PROGRAM_NAME_MAX]; /* "" until a name is known or likely */
	bool sure;		     /* the following bytes cannot change the name */
	bool ops_named; /* operations have names, so that a gradient can be recognised */
	bool gradient;	/* an operation computes a gradient */
};

/* Number of bytes by which successive pieces of code overlap, so that each name is complete in one
 * of them. */
#define PROGRAM_NAME_OVERLAP (PROGRAM_NAME_MAX + 16)

/* Scans a piece of the code. first: the piece is the beginning of the code. Zero *n before the
 * first piece. */
void program_name_scan(struct program_name *n, const char *code, size_t len, bool first);
/* Scans for names of gradient operations: "transpose(jvp" from JAX, "gradient_tape/" from
 * TensorFlow. */
void program_content_scan(struct program_name *n, const char *code, size_t len);
/* Sets the name of the program. Returns false if `name` is not a valid name. */
bool program_name_take(struct program_name *n, const char *name, size_t len);
/* Scans the first len bytes of a compiled program that has `bytes` bytes in all. Zero *n before. */
void program_name_cached(struct program_name *n, const char *code, size_t len, uint64_t bytes);

#define PROGRAM_CODE_PIECE (1u << 20)
#define PROGRAM_CODE_MAX   (64ull << 20) /* limit of bytes read from one program */

/* Reads up to `bytes` bytes at `address` into `to`. Returns the number of bytes read; 0: the memory
 * cannot be read. */
typedef size_t program_read(void *ctx, uint64_t address, void *to, size_t bytes);
/* Scans a program of `bytes` bytes, piece by piece. cached: the program is compiled already. Sets
 * ops_named only if the whole program was read, or a gradient was found. Returns 0 or -ENOMEM. */
int program_code_scan(program_read *read, void *ctx, uint64_t code, uint64_t bytes, bool cached,
		      struct program_name *ret);

#endif
