/* SPDX-License-Identifier: Apache-2.0 */
/* prologue.h - chooses the cheapest instruction at which a function can still be probed. Pure:
 * works on the bytes of the function alone, which it decodes with capstone. */
#ifndef LOADER_PROLOGUE_H
#define LOADER_PROLOGUE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"

/* The instruction at which a function is to be probed */
struct prologue {
	uint16_t skip; /* bytes from the symbol to the instruction where the probe is attached */
	/* Bytes that the skipped instructions push onto the stack. They are added to the offsets
	 * from sp of arguments on the stack. */
	int16_t pushed;
	enum gp_insn insn;	    /* class of the probed instruction */
	enum gp_insn insn_at_entry; /* class of the first instruction, for `check` */
	char text[32];		    /* text of the probed instruction, such as "push rbp" */
};

/* Bytes of a function that are examined. */
#define PROLOGUE_BYTES 256

/* Chooses the instruction. code: the first PROLOGUE_BYTES of the function, fewer when it is
 * smaller. machine: EM_*. Never fails: code that cannot be decoded is attached at +0 as
 * GP_INSN_stepped. Always skips a leading endbr64; otherwise skips only instructions that write
 * neither an argument register nor sp. Never passes a branch target within the bytes given, a call
 * or a jump. */
void prologue_choose(int machine, const uint8_t *code, size_t len, struct prologue *ret);

#endif
