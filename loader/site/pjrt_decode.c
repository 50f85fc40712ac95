/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt_decode.c - finds the PJRT table in the code that fills it.
 *
 * When a plugin is first asked for the table, straight-line code of one function
 * (pjrt::CreatePjrtApi) fills it. Compilers write its constants next to each other:
 *
 * 	movq $1144, (%rax)  ...  movq $24, 0x10(%rax)  ...  lea f(%rip), %r9; mov %r9, 0x28(%rax)
 *
 * So the code is scanned for the 24 and for the size before it, and the instructions from there on
 * are interpreted as long as they are of a few simple kinds. Code that fills the table in another
 * way (vector constants, several functions) gives no table, never a wrong one. */
#include <capstone/capstone.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/gp_abi.h"
#include "loader/elf/elf_private.h"
#include "loader/site/pjrt.h"
#include "userspace/base/clock.h"

#define CHUNK_BYTES    (1u << 20)
#define SCAN_BACK      64 /* bytes scanned backwards from the 24 for the size */
#define OVERLAP	       80
#define CODE_BYTES     (24 * PJRT_SLOTS_MAX) /* enough for unoptimised code */
#define CANDIDATES_MAX 4096		     /* limit of candidates; real files have one */
#define ADDRESSES_MIN  60 /* with more stored addresses it is a table, so its error is reported */
/* Time of one attempt, less than the 8 s of a reader; a cold disk may need several attempts. */
#define TRY_NS 5000000000ull
/* Real files take one second on a slow CPU; this bounds hostile files. */
#define CPU_NS	    4000000000ull
#define FRAME_BYTES 4 /* mov disp8(%rbp), %reg */
#define COPY_BYTES  3 /* mov %reg, %reg */

enum value_kind { VALUE_UNKNOWN, VALUE_TABLE, VALUE_ADDRESS, VALUE_NUMBER };

struct value {
	enum value_kind kind;
	uint64_t number;
};

struct machine {
	struct value reg[16];
	struct pjrt_table table;
	size_t addresses;
	bool spilled; /* the address of the table is in the frame at offset spill */
	int64_t spill;
};

static const x86_reg registers[16] = {X86_REG_RAX, X86_REG_RCX, X86_REG_RDX, X86_REG_RBX,
				      X86_REG_RSP, X86_REG_RBP, X86_REG_RSI, X86_REG_RDI,
				      X86_REG_R8,  X86_REG_R9,	X86_REG_R10, X86_REG_R11,
				      X86_REG_R12, X86_REG_R13, X86_REG_R14, X86_REG_R15};
static const x86_reg halves[16] = {X86_REG_EAX,	 X86_REG_ECX,  X86_REG_EDX,  X86_REG_EBX,
				   X86_REG_ESP,	 X86_REG_EBP,  X86_REG_ESI,  X86_REG_EDI,
				   X86_REG_R8D,	 X86_REG_R9D,  X86_REG_R10D, X86_REG_R11D,
				   X86_REG_R12D, X86_REG_R13D, X86_REG_R14D, X86_REG_R15D};

/* Returns NULL for registers that are not tracked. */
static struct value *pjrt_decode_reg_of(struct machine *m, x86_reg reg)
{
	for (size_t i = 0; i < 16; i++)
		if (registers[i] == reg || halves[i] == reg)
			return &m->reg[i];
	return NULL;
}

static bool pjrt_decode_in_frame(const x86_op_mem *mem)
{
	return (mem->base == X86_REG_RBP || mem->base == X86_REG_RSP) &&
	       mem->index == X86_REG_INVALID;
}

static bool pjrt_decode_in_table(struct machine *m, const x86_op_mem *mem)
{
	const struct value *base = pjrt_decode_reg_of(m, mem->base);

	return base && base->kind == VALUE_TABLE && mem->index == X86_REG_INVALID &&
	       mem->disp >= 0 && mem->disp < PJRT_SIZE_MAX;
}

static void pjrt_decode_table_store(struct machine *m, uint64_t at, struct value v, uint8_t bytes)
{
	struct pjrt_table *t = &m->table;

	if (at >= PJRT_HEAD_BYTES) {
		if (at % 8 || bytes != 8)
			return;
		m->addresses += v.kind == VALUE_ADDRESS;
		t->slot[at / 8] = v.kind == VALUE_ADDRESS ? v.number : 0;
		return;
	}
	if (v.kind != VALUE_NUMBER)
		return;
	if (at == 0)
		t->size = v.number;
	else if (at == 16)
		t->version_size = v.number;
	else if (at == 32)
		t->major = (int32_t)v.number;
	if (at == 32 && bytes == 8)
		t->minor = (int32_t)(v.number >> 32);
	else if (at == 36)
		t->minor = (int32_t)v.number;
}

static bool pjrt_decode_step_store(struct machine *m, const cs_x86_op *to, const cs_x86_op *from)
{
	struct value v = {VALUE_NUMBER, (uint64_t)from->imm};

	if (from->type == X86_OP_REG) {
		const struct value *reg = pjrt_decode_reg_of(m, from->reg);

		v = reg ? *reg : (struct value){VALUE_UNKNOWN, 0};
	}
	if (pjrt_decode_in_table(m, &to->mem)) {
		pjrt_decode_table_store(m, (uint64_t)to->mem.disp, v, to->size);
		return true;
	}
	return pjrt_decode_in_frame(&to->mem);
}

static bool pjrt_decode_step_load(struct machine *m, struct value *to, const x86_op_mem *from)
{
	if (!pjrt_decode_in_frame(from))
		return false;
	*to = (struct value){m->spilled && from->disp == m->spill ? VALUE_TABLE : VALUE_UNKNOWN, 0};
	return true;
}

static bool pjrt_decode_step_mov(struct machine *m, const cs_x86 *x86)
{
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];
	const struct value *source;
	struct value *target;

	if (to->type == X86_OP_MEM)
		return pjrt_decode_step_store(m, to, from);
	target = to->type == X86_OP_REG ? pjrt_decode_reg_of(m, to->reg) : NULL;
	if (!target)
		return false;
	if (from->type == X86_OP_IMM)
		*target = (struct value){VALUE_NUMBER, (uint64_t)from->imm};
	else if (from->type == X86_OP_MEM)
		return pjrt_decode_step_load(m, target, &from->mem);
	else {
		source = pjrt_decode_reg_of(m, from->reg);
		*target = source && to->size == 8 ? *source : (struct value){VALUE_UNKNOWN, 0};
	}
	return true;
}

static bool pjrt_decode_step_lea(struct machine *m, const cs_insn *insn)
{
	const cs_x86_op *op = insn->detail->x86.operands;
	struct value *target = pjrt_decode_reg_of(m, op[0].reg);

	if (!target || op[1].mem.base != X86_REG_RIP)
		return false;
	*target = (struct value){VALUE_ADDRESS,
				 insn->address + insn->size + (uint64_t)op[1].mem.disp};
	return true;
}

static bool pjrt_decode_step_zero(struct machine *m, const cs_x86 *x86)
{
	struct value *target = pjrt_decode_reg_of(m, x86->operands[0].reg);

	if (!target || x86->operands[1].type != X86_OP_REG ||
	    x86->operands[0].reg != x86->operands[1].reg)
		return false;
	*target = (struct value){VALUE_NUMBER, 0};
	return true;
}

/* Interprets one instruction. Returns false for one that such code does not contain. */
static bool pjrt_decode_step(struct machine *m, const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;
	struct value *target;

	switch (insn->id) {
	case X86_INS_MOV:
	case X86_INS_MOVABS:
		return x86->op_count == 2 && pjrt_decode_step_mov(m, x86);
	case X86_INS_LEA:
		return x86->op_count == 2 && pjrt_decode_step_lea(m, insn);
	case X86_INS_XOR:
		return x86->op_count == 2 && pjrt_decode_step_zero(m, x86);
	case X86_INS_POP:
		target = x86->op_count == 1 ? pjrt_decode_reg_of(m, x86->operands[0].reg) : NULL;
		if (target)
			*target = (struct value){VALUE_UNKNOWN, 0};
		return target;
	case X86_INS_PUSH:
	case X86_INS_NOP:
	case X86_INS_ENDBR64:
		return true;
	default:
		return false;
	}
}

/* ---- finding the code ------------------------------------------------------------------------ */

struct search {
	const struct elf_file *ef;
	uint64_t start_ns, cpu_ns;
	csh cs;
	cs_insn *insn;
	uint8_t *chunk, *code;
	size_t candidates, good;
	int why; /* reason for refusing a table; 0: none refused */
	struct pjrt_slots slots;
};

static bool pjrt_decode_offset(void *ctx, uint64_t address, uint64_t *ret)
{
	return elf_offset_of(ctx, address, true, ret);
}

/* Places of the table's address when its size is stored. */
struct bases {
	int base, copy;	     /* registers; copy -1: no second one */
	const int8_t *frame; /* frame offset from which it was loaded; NULL: none */
};

/* Interprets s->code, which begins with the store of the size, at address vaddr. */
static void pjrt_decode_code_follow(struct search *s, uint64_t vaddr, size_t len,
				    const struct bases *b)
{
	struct machine m = {.spilled = b->frame, .spill = b->frame ? *b->frame : 0};
	const uint8_t *at = s->code;
	struct pjrt_slots slots;
	size_t here;
	int err;

	m.reg[b->base].kind = VALUE_TABLE;
	if (b->copy >= 0)
		m.reg[b->copy].kind = VALUE_TABLE;
	while (cs_disasm_iter(s->cs, &at, &len, &vaddr, s->insn) && pjrt_decode_step(&m, s->insn))
		;
	err = pjrt_table_check(&m.table, pjrt_decode_offset, (void *)s->ef, &slots, &here);
	if (!err && !s->good++)
		s->slots = slots;
	if (err && m.addresses > ADDRESSES_MIN && !s->why)
		s->why = err;
}

static int pjrt_decode_candidate_follow(struct search *s, const struct elf_segment *seg,
					uint64_t offset, const struct bases *b)
{
	int n;

	if (++s->candidates > CANDIDATES_MAX)
		return -E2BIG;
	n = elf_file_read(s->ef, offset, s->code, CODE_BYTES);
	if (n < 0)
		return n;
	pjrt_decode_code_follow(s, seg->vaddr + (offset - seg->offset), (size_t)n, b);
	return 0;
}

/* Matches movq $SIZE, (%base). Returns the length of the instruction without the number; 0: no
 * match. */
static size_t pjrt_decode_size_store(const uint8_t *at, size_t len, int base)
{
	uint8_t low = (uint8_t)(base & 7);
	size_t n = 3;
	uint32_t size;

	if (len < 12 || at[0] != (0x48 | base >> 3) || at[1] != 0xc7)
		return 0;
	if (low == 4) { /* rsp, r12: one more byte */
		if (at[2] != 0x04 || at[3] != 0x24)
			return 0;
		n = 4;
	} else if (at[2] == (0x40 | low) && !at[3]) {
		n = 4;
	} else if (at[2] != low || low == 5) {
		return 0;
	}
	memcpy(&size, at + n, sizeof(size));
	return size >= PJRT_SIZE_MIN && size <= PJRT_SIZE_MAX && size % 8 == 0 ? n : 0;
}

/* Matches mov disp8(%rbp), %base directly before. Returns the displacement; NULL: no match. */
static const int8_t *pjrt_decode_frame_load(const uint8_t *chunk, size_t at, int base)
{
	const uint8_t *b = chunk + at - FRAME_BYTES;

	if (at < FRAME_BYTES || b[0] != (0x48 | (base >> 3) << 2) || b[1] != 0x8b ||
	    b[2] != (0x45 | (base & 7) << 3))
		return NULL;
	return (const int8_t *)b + 3;
}

/* Matches a mov between %base and another register directly before: that one has the address of the
 * table, too. Returns its number; -1: no match. */
static int pjrt_decode_register_copy(const uint8_t *chunk, size_t at, int base)
{
	const uint8_t *b = chunk + at - COPY_BYTES;
	int from, to;

	if (at < COPY_BYTES || (b[0] & 0xfa) != 0x48 || b[1] != 0x89 || b[2] < 0xc0)
		return -1;
	from = (b[2] >> 3 & 7) | (b[0] & 4) << 1;
	to = (b[2] & 7) | (b[0] & 1) << 3;
	return from == base ? to : to == base ? from : -1;
}

/* Checks the instruction movq $24, 0x10(%base) whose displacement and number are at chunk[at], and
 * follows a candidate. */
static int pjrt_decode_anchor_follow(struct search *s, const struct elf_segment *seg,
				     uint64_t chunk_offset, size_t at, size_t len)
{
	const uint8_t *c = s->chunk;
	size_t back = at >= 4 && c[at - 1] == 0x24 && c[at - 2] == 0x44 ? 4 : 3, from;
	uint8_t rex, modrm;
	int base;

	if (at < back)
		return 0;
	rex = c[at - back];
	modrm = c[at - back + 2];
	if ((rex != 0x48 && rex != 0x49) || c[at - back + 1] != 0xc7 || (modrm & 0xf8) != 0x40 ||
	    ((modrm & 7) == 4) != (back == 4))
		return 0;
	base = (modrm & 7) | (rex & 1) << 3;
	from = at - back;
	for (size_t i = 1; i <= SCAN_BACK && i <= from; i++) {
		if (!pjrt_decode_size_store(c + from - i, len - (from - i), base))
			continue;
		return pjrt_decode_candidate_follow(
			s, seg, chunk_offset + from - i,
			&(struct bases){base, pjrt_decode_register_copy(c, from - i, base),
					pjrt_decode_frame_load(c, from - i, base)});
	}
	return 0;
}

/* Finds the next displacement and number of movq $24, 0x10(...). Scans for the 24 alone, the rarest
 * of these bytes in code: scanning for one byte is five times as fast as for several. */
static const uint8_t *pjrt_decode_anchor_next(const uint8_t *at, const uint8_t *end)
{
	static const uint8_t anchor[] = {0x10, PJRT_VERSION_SIZE, 0, 0, 0};

	while (end - at >= (ptrdiff_t)sizeof(anchor)) {
		at = memchr(at + 1, PJRT_VERSION_SIZE, (size_t)(end - at) - (sizeof(anchor) - 1));
		if (!at)
			return NULL;
		if (!memcmp(at - 1, anchor, sizeof(anchor)))
			return at - 1;
	}
	return NULL;
}

static int pjrt_decode_chunk_search(struct search *s, const struct elf_segment *seg,
				    uint64_t offset, size_t len, size_t from)
{
	const uint8_t *at = s->chunk + from, *end = s->chunk + len;
	int err = 0;

	while (!err && (at = pjrt_decode_anchor_next(at, end))) {
		err = pjrt_decode_anchor_follow(s, seg, offset, (size_t)(at - s->chunk), len);
		at++;
	}
	return err;
}

static int pjrt_decode_time_check(const struct search *s)
{
	if (clock_thread_ns() - s->cpu_ns > CPU_NS)
		return -E2BIG;
	return clock_mono_ns() - s->start_ns > TRY_NS ? -ETIMEDOUT : 0;
}

static int pjrt_decode_segment_search(struct search *s, const struct elf_segment *seg)
{
	uint64_t done = 0;
	size_t n, from = 0;
	int err = 0;

	while (!err && done < seg->size) {
		n = seg->size - done < CHUNK_BYTES ? (size_t)(seg->size - done) : CHUNK_BYTES;
		err = elf_read_exactly(s->ef, seg->offset + done, s->chunk, n);
		if (!err)
			err = pjrt_decode_chunk_search(s, seg, seg->offset + done, n, from);
		if (done + n == seg->size)
			break;
		done += n - OVERLAP;
		from = OVERLAP - 4; /* earlier instructions were in the previous chunk */
		if (!err)
			err = pjrt_decode_time_check(s);
	}
	return err;
}

static int pjrt_decode_search_open(struct search *s)
{
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &s->cs))
		return -ENOMEM;
	cs_option(s->cs, CS_OPT_DETAIL, CS_OPT_ON);
	s->insn = cs_malloc(s->cs);
	s->chunk = malloc(CHUNK_BYTES);
	s->code = malloc(CODE_BYTES);
	return s->insn && s->chunk && s->code ? 0 : -ENOMEM;
}

static void pjrt_decode_search_close(struct search *s)
{
	if (s->insn)
		cs_free(s->insn, 1);
	if (s->cs)
		cs_close(&s->cs);
	free(s->chunk);
	free(s->code);
}

int pjrt_decode(const struct elf_file *ef, struct pjrt_slots *ret)
{
	struct search *s;
	int err;

	if (ef->machine != EM_X86_64)
		return -GP_TABLE_unseen;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->ef = ef;
	s->start_ns = clock_mono_ns();
	s->cpu_ns = clock_thread_ns();
	err = pjrt_decode_search_open(s);
	for (size_t i = 0; !err && i < ef->segments_count; i++)
		if (ef->segments[i].executable)
			err = pjrt_decode_segment_search(s, &ef->segments[i]);
	if (!err && s->good > 1)
		err = -GP_TABLE_two;
	if (!err && !s->good)
		err = s->why ? s->why : -GP_TABLE_unseen;
	if (!err)
		*ret = s->slots;
	pjrt_decode_search_close(s);
	free(s);
	return err;
}
