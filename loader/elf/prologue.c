/* SPDX-License-Identifier: Apache-2.0 */
#include <capstone/capstone.h>
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "loader/elf/prologue.h"

/* A search for the first push is limited to this many bytes; real prologues have it earlier */
#define SKIP_MAX 48

/* ---- x86-64. For instructions that the kernel emulates see branch_setup_xol_ops() and
 * push_setup_xol_ops() in arch/x86/kernel/uprobes.c. Nops longer than one byte are emulated by
 * recent kernels only, except the five-byte one, which Linux 6.18 turns into a call. */

static bool prologue_is_nop5(const cs_insn *insn)
{
	static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

	return insn->size == sizeof(nop5) && !memcmp(insn->bytes, nop5, sizeof(nop5));
}

static bool prologue_is_push(const cs_insn *insn)
{
	const uint8_t *b = insn->bytes;

	if (insn->size == 2 && b[0] == 0x41) /* REX.B: r8-r15 */
		b++;
	else if (insn->size != 1)
		return false;
	return b[0] >= 0x50 && b[0] <= 0x57;
}

/* Returns true for a relative call, jump or conditional jump without an operand-size prefix. */
static bool prologue_is_relative_branch(const cs_insn *insn)
{
	const uint8_t *b = insn->bytes;

	if ((b[0] == 0xe8 || b[0] == 0xe9) && insn->size == 5)
		return true;
	if ((b[0] == 0xeb || (b[0] >= 0x70 && b[0] <= 0x7f)) && insn->size == 2)
		return true;
	return b[0] == 0x0f && b[1] >= 0x80 && b[1] <= 0x8f && insn->size == 6;
}

/* Returns true for a nop of one byte, with or without an operand-size prefix: the kernel treats
 * both alike. */
static bool prologue_is_nop(const cs_insn *insn)
{
	const uint8_t *b = insn->bytes;

	return b[0] == 0x90 ? insn->size == 1 : insn->size == 2 && b[0] == 0x66 && b[1] == 0x90;
}

static enum gp_insn prologue_x86_class(const cs_insn *insn)
{
	if (prologue_is_nop5(insn))
		return GP_INSN_nop5;
	if (prologue_is_push(insn) || prologue_is_relative_branch(insn) || prologue_is_nop(insn))
		return GP_INSN_emulated;
	return GP_INSN_stepped;
}

static const x86_reg argument_registers[] = {
	X86_REG_RDI, X86_REG_EDI, X86_REG_DI,  X86_REG_DIL, X86_REG_RSI, X86_REG_ESI,
	X86_REG_SI,  X86_REG_SIL, X86_REG_RDX, X86_REG_EDX, X86_REG_DX,	 X86_REG_DL,
	X86_REG_DH,  X86_REG_RCX, X86_REG_ECX, X86_REG_CX,  X86_REG_CL,	 X86_REG_CH,
	X86_REG_R8,  X86_REG_R8D, X86_REG_R8W, X86_REG_R8B, X86_REG_R9,	 X86_REG_R9D,
	X86_REG_R9W, X86_REG_R9B, X86_REG_RSP, X86_REG_ESP, X86_REG_SP,	 X86_REG_SPL,
};

static bool prologue_x86_matters(unsigned reg)
{
	for (size_t i = 0; i < sizeof(argument_registers) / sizeof(argument_registers[0]); i++)
		if (reg == argument_registers[i])
			return true;
	return false;
}

static bool prologue_x86_ends_line(csh cs, const cs_insn *insn)
{
	static const unsigned groups[] = {CS_GRP_JUMP, CS_GRP_CALL, CS_GRP_RET,
					  CS_GRP_INT,  CS_GRP_IRET, CS_GRP_PRIVILEGE};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (cs_insn_group(cs, insn, groups[i]))
			return true;
	return insn->id == X86_INS_SYSCALL || insn->id == X86_INS_INVALID;
}

/* Returns true when the probe may be attached after this instruction, because the instruction
 * changes neither arguments nor the stack. */
static bool prologue_x86_skippable(csh cs, const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;
	uint8_t reads_count, writes_count;
	cs_regs reads, writes;

	/* endbr64 begins with the byte of a rep prefix, so the check of prefixes does not apply to
	 * it */
	if (insn->id == X86_INS_ENDBR64)
		return true;
	if (prologue_x86_ends_line(cs, insn) || x86->prefix[0])
		return false;
	if (cs_regs_access(cs, insn, reads, &reads_count, writes, &writes_count))
		return false;
	for (uint8_t i = 0; i < writes_count; i++)
		if (prologue_x86_matters(writes[i]))
			return false;
	/* Do not attach after a store: it may have written below the stack pointer (the red zone).
	 * If the probe is then at a nop5, the kernel replaces that by a call, whose return address
	 * would overwrite the stored value. */
	for (uint8_t i = 0; i < x86->op_count; i++)
		if (x86->operands[i].type == X86_OP_MEM && (x86->operands[i].access & CS_AC_WRITE))
			return false;
	return true;
}

/* Returns true when a branch within the code jumps to an instruction after the entry, up to skip: a
 * probe there would fire again in the middle of a call. */
static bool prologue_x86_branched_into(csh cs, const cs_insn *insns, size_t n, uint64_t skip)
{
	for (size_t i = 0; i < n; i++) {
		const cs_x86 *x86 = &insns[i].detail->x86;

		if (!cs_insn_group(cs, &insns[i], CS_GRP_BRANCH_RELATIVE) || !x86->op_count)
			continue;
		if (x86->operands[0].imm > 0 && (uint64_t)x86->operands[0].imm <= skip)
			return true;
	}
	return false;
}

static void prologue_describe(const cs_insn *insn, struct prologue *out)
{
	snprintf(out->text, sizeof(out->text), "%.10s%s%.20s", insn->mnemonic,
		 insn->op_str[0] ? " " : "", insn->op_str);
}

static void prologue_x86_choose(csh cs, const cs_insn *insns, size_t n, struct prologue *out)
{
	enum gp_insn class;
	size_t i = 0;

	out->insn = out->insn_at_entry = prologue_x86_class(&insns[0]);
	prologue_describe(&insns[0], out);
	while (i < n && insns[i].address <= SKIP_MAX &&
	       prologue_x86_class(&insns[i]) == GP_INSN_stepped) {
		if (!prologue_x86_skippable(cs, &insns[i]))
			return;
		i++;
	}
	if (!i || i == n || insns[i].address > SKIP_MAX)
		return;
	class = prologue_x86_class(&insns[i]);
	if (insns[i].bytes[0] == 0xe8 || prologue_x86_branched_into(cs, insns, n, insns[i].address))
		return;
	out->skip = (uint16_t)insns[i].address;
	out->insn = class;
	prologue_describe(&insns[i], out);
}

/* ---- arm64. The kernel simulates instructions that depend on the program counter
 * (arm_probe_decode_insn() in arch/arm64/kernel/probes/decode-insn.c) and single-steps all others,
 * also stores like a push, so moving the probe gains nothing. */

static void prologue_arm64_choose(const cs_insn *insn, struct prologue *out)
{
	uint32_t word;

	memcpy(&word, insn->bytes, sizeof(word));
	if ((word & 0x7c000000) == 0x14000000 ||
	    (word & 0xff000010) == 0x54000000) /* b, bl, b.cond */
		out->insn = GP_INSN_emulated;
	out->insn_at_entry = out->insn;
	prologue_describe(insn, out);
}

void prologue_choose(int machine, const uint8_t *code, size_t len, struct prologue *ret)
{
	struct prologue out = {.insn = GP_INSN_stepped, .insn_at_entry = GP_INSN_stepped};
	bool arm64 = machine == EM_AARCH64;
	cs_insn *insns = NULL;
	size_t n = 0;
	csh cs;

	if (len > PROLOGUE_BYTES)
		len = PROLOGUE_BYTES;
	if (!arm64 && machine != EM_X86_64)
		goto out;
	if (cs_open(arm64 ? CS_ARCH_ARM64 : CS_ARCH_X86, arm64 ? CS_MODE_ARM : CS_MODE_64, &cs) !=
	    CS_ERR_OK)
		goto out;
	if (cs_option(cs, CS_OPT_DETAIL, CS_OPT_ON) == CS_ERR_OK)
		n = cs_disasm(cs, code, len, 0, 0, &insns);
	if (n && arm64)
		prologue_arm64_choose(insns, &out);
	else if (n)
		prologue_x86_choose(cs, insns, n, &out);
	if (n)
		cs_free(insns, n);
	cs_close(&cs);
out:
	*ret = out;
}
