/* SPDX-License-Identifier: Apache-2.0 */
/* prologue.h - the cheapest instruction at which a function can still be probed (design §4 rule 2).
 * Pure: bytes in, answer out. Decoding by capstone. */
#ifndef LOADER_PROLOGUE_H
#define LOADER_PROLOGUE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"

struct prologue {
	uint16_t skip;	   /* attach at symbol + skip */
	int16_t pushed;	   /* bytes sp has moved down by then: add to stack argument offsets */
	enum gp_insn insn; /* class of the instruction there */
	enum gp_insn insn_at_entry; /* class of the first one, for `check` */
	char text[32];		    /* the instruction there, "push rbp" */
};

/* How much of a function is looked at. */
#define PROLOGUE_BYTES 256

/* code: the first PROLOGUE_BYTES of the function, fewer when it is smaller. machine: EM_*.
 * Never fails: what it cannot decode is attached at +0 as GP_INSN_stepped. Skips only over
 * instructions that write no argument register and not sp (a leading endbr64 always), never past a
 * branch target within the bytes given (recipe J), never past a call or jump. */
void prologue_choose(int machine, const uint8_t *code, size_t len, struct prologue *ret);

#endif
