/* SPDX-License-Identifier: Apache-2.0 */
/* probe_row.c - converts a row of a probe file for the kernel side. */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bpf/gp_private.h"
#include "loader/probe/probe_file.h"

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

/* Argument passing. System V AMD64 psABI 3.2.3: rdi rsi rdx rcx r8 r9, the rest from 8(%rsp), as
 * the return address is at 0. AAPCS64 6.8.2: x0-x7, the rest from [sp]. */
struct convention {
	int machine;
	int registers;	  /* registers for integer arguments */
	int stack_first;  /* bytes from sp to the first stack argument */
	bool sret_shifts; /* the hidden result pointer takes an argument register (arm64: x8
			     instead) */
};

static const struct convention conventions[] = {
	{EM_X86_64, 6, 8, true},
	{EM_AARCH64, 8, 0, false},
};

#define STACK_SLOTS_MAX 64

static int probe_row_locate_argument(const struct convention *cv, const struct probe_row *row,
				     int arg, int pushed_bytes, struct gp_capture *ret)
{
	int position = arg + (row->abi == PROBE_ABI_CXX_SRET && cv->sret_shifts);

	if (arg < 0 || position >= cv->registers + STACK_SLOTS_MAX || pushed_bytes < 0 ||
	    pushed_bytes > 4096)
		return -EINVAL;
	ret->source = (uint8_t)position;
	ret->stack = 0;
	if (position >= cv->registers) {
		ret->source = GP_SRC_STACK;
		ret->stack = (int16_t)(cv->stack_first + 8 * (position - cv->registers) +
				       pushed_bytes);
	}
	return 0;
}

static int probe_row_capture_arg(const struct convention *cv, const struct probe_capture *c)
{
	return cv->machine == EM_AARCH64 ? c->arg_arm64 : c->arg;
}

static int probe_row_compile_capture(const struct convention *cv, const struct probe_row *row,
				     const struct probe_capture *c, int pushed_bytes,
				     struct gp_capture *ret)
{
	struct gp_capture out = {.derefs = (uint8_t)c->derefs, .width = (uint8_t)c->width};
	int err = probe_row_locate_argument(cv, row, probe_row_capture_arg(cv, c), pushed_bytes,
					    &out);

	if (err)
		return err;
	if (c->derefs < 0 || c->derefs > GP_DEREFS_MAX)
		return -EINVAL;
	for (int i = 0; i < GP_DEREFS_MAX; i++) {
		if (c->offset[i] < INT16_MIN || c->offset[i] > INT16_MAX)
			return -EINVAL;
		out.offset[i] = (int16_t)c->offset[i];
	}
	if (c->width != 1 && c->width != 2 && c->width != 4 && c->width != 8)
		return -EINVAL;
	out.flags = (c->late ? GP_CAPTURE_LATE : 0) |
		    (c->as == PROBE_AS_TENSOR ? GP_CAPTURE_TENSOR : 0) |
		    (c->as == PROBE_AS_LIST ? GP_CAPTURE_LIST : 0);
	*ret = out;
	return 0;
}

static int probe_row_compile_captures(const struct convention *cv, const struct probe_row *row,
				      int pushed_bytes, struct gp_row *out)
{
	int err = 0;

	if (row->string != PROBE_STRING_NONE)
		err = probe_row_compile_capture(cv, row, &row->text, pushed_bytes, &out->name);
	for (int i = 0; i < row->captures && !err; i++)
		if (probe_row_capture_arg(cv, &row->capture[i]) != PROBE_ARG_NONE)
			err = probe_row_compile_capture(cv, row, &row->capture[i], pushed_bytes,
							&out->arg[i]);
	if (row->has_only && !err)
		err = probe_row_compile_capture(cv, row, &row->only, pushed_bytes, &out->only);
	return err;
}

/* Sets the prefixes of names. Only their first eight bytes count, as the kernel side compares them
 * as one word. */
static int probe_row_compile_keep(const struct probe_row *row, struct gp_row *out)
{
	for (int i = 0; row->keep[i]; i++) {
		size_t len = strnlen(row->keep[i], sizeof(out->keep[i].value));

		if (i == GP_KEEP || !len)
			return -EINVAL;
		memcpy(&out->keep[i].value, row->keep[i], len);
		memset(&out->keep[i].mask, 0xff, len);
		out->nkeep = (uint8_t)(i + 1);
	}
	return 0;
}

/* Returns true for rows whose hits allow rows with `once` to be sent again. */
static bool row_arms(const struct probe_row *row)
{
	return row->role == GP_ROLE_backward ||
	       (row->role == GP_ROLE_range_begin && !row->anonymous);
}

int probe_row_compile_for(int machine, const struct probe_row *row, int pushed_bytes,
			  struct gp_row *ret)
{
	const struct gp_capture none = {.source = GP_SRC_NONE};
	const struct convention *cv = conventions;
	struct gp_row out = {0};
	int err;

	while (cv->machine != machine)
		if (++cv == conventions + sizeof(conventions) / sizeof(conventions[0]))
			return -EINVAL;
	out.probe = row->hash;
	out.max_hz = row->max_hz;
	out.flags = (row->count ? GP_ROW_COUNT : 0) | (row->may_block ? GP_ROW_MAY_BLOCK : 0) |
		    (row->anonymous ? GP_ROW_ANON : 0) | (row->wake ? GP_ROW_WAKE : 0) |
		    (row->only_names ? GP_ROW_KEPT_ONLY : 0) | (row->once ? GP_ROW_ONCE : 0) |
		    (row_arms(row) ? GP_ROW_ARMS : 0);
	out.nargs = (uint8_t)row->captures;
	out.unless_of = (uint8_t)row->unless_of;
	out.nunless = (uint8_t)row->unless_count;
	memcpy(out.unless, row->unless, sizeof(out.unless));
	out.string = row->string == PROBE_STRING_STD ? 2 : row->string == PROBE_STRING_CHARS;
	out.name = out.only = none;
	for (int i = 0; i < GP_ARGS; i++)
		out.arg[i] = none;
	out.only_value = row->only_value;
	err = probe_row_compile_captures(cv, row, pushed_bytes, &out);
	if (!err)
		err = probe_row_compile_keep(row, &out);
	if (!err)
		*ret = out;
	return err;
}

int probe_row_compile(const struct probe_row *row, int pushed_bytes, struct gp_row *ret)
{
	return probe_row_compile_for(MACHINE, row, pushed_bytes, ret);
}

void probe_row_record(const struct probe_row *row, struct gp_probe *ret)
{
	*ret = (struct gp_probe){
		.role = (__u16)row->role,
		.group = (__u16)row->group,
		.flags = GP_PROBE_WHOLE | (row->count ? GP_PROBE_COUNTED : 0) |
			 (row->returns ? GP_PROBE_RETURNS : 0) |
			 (row->verified ? 0 : GP_PROBE_UNVERIFIED) |
			 (row->anonymous ? GP_PROBE_ANON_RANGE : 0) |
			 (row->texts[0] ? GP_PROBE_TABLE : 0) |
			 (row->object ? GP_PROBE_OBJECT : 0) | (row->pair ? GP_PROBE_PAIR : 0) |
			 (row->between_ranks ? GP_PROBE_RANKS : 0),
		.returns = (__u8)row->result,
		.noks = (__u8)row->noks,
	};
	snprintf(ret->id, sizeof(ret->id), "%s", row->id);
	snprintf(ret->runtime, sizeof(ret->runtime), "%s", row->runtime);
	memcpy(ret->ok, row->ok, sizeof(ret->ok));
}

void probe_row_formula(const struct probe_row *row, struct gp_formula *ret)
{
	*ret = (struct gp_formula){0};
	snprintf(ret->text, sizeof(ret->text), "%s", row->operations);
}
