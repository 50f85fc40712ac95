/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_value.h - captures of a row: a register, a word of the stack, the target of a pointer, a
 * string. The job controls this memory: unreadable values are 0 or empty, and counted. */
#ifndef GP_VALUE_H
#define GP_VALUE_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "bpf/gp_maps.h"
#include "bpf/gp_regs.h"

/* Returns the argument without following it. */
static __always_inline __u64 gp_argument(const struct gp_regs *regs, const struct gp_capture *c)
{
	__u64 value = 0;

	if (c->source == GP_SRC_NONE)
		return 0;
	if (c->source != GP_SRC_STACK)
		value = gp_register(regs, c->source);
	else if (bpf_probe_read_user(&value, sizeof(value), (void *)(regs->sp + c->stack)))
		gp_lose(GP_LOSS_read_fault);
	return value;
}

/* Follows the pointers of a capture. A NULL pointer gives 0 and is not counted as a loss: it means
 * that the value is absent. */
static __always_inline __u64 gp_follow(__u64 value, const struct gp_capture *c)
{
#pragma unroll
	for (int i = 0; i < GP_DEREFS_MAX; i++) {
		bool last = i + 1 == c->derefs;
		__u64 from = value + c->offset[i];
		__u32 size = last ? c->width : sizeof(value);

		if (i >= c->derefs)
			break;
		if (!value)
			return 0;
		value = 0;
		if (size > sizeof(value))
			size = sizeof(value);
		if (bpf_probe_read_user(&value, size, (void *)from)) {
			gp_lose(GP_LOSS_read_fault);
			return 0;
		}
	}
	if (c->width == 4)
		return (__u32)value;
	if (c->width == 2)
		return (__u16)value;
	if (c->width == 1)
		return (__u8)value;
	return value;
}

static __always_inline __u64 gp_value(const struct gp_regs *regs, const struct gp_capture *c)
{
	return c->source == GP_SRC_NONE ? 0 : gp_follow(gp_argument(regs, c), c);
}

/* Returns the value of a capture at the entry of a call, or the pointer to follow after the return.
 */
static __always_inline __u64 gp_value_early(const struct gp_regs *regs, const struct gp_capture *c)
{
	return c->flags & GP_CAPTURE_LATE ? gp_argument(regs, c) : gp_value(regs, c);
}

static __always_inline __u64 gp_value_late(__u64 kept, const struct gp_capture *c)
{
	return c->flags & GP_CAPTURE_LATE ? gp_follow(kept, c) : kept;
}

/* Reads the string of a row. Returns its length with the terminator. Always terminated; empty when
 * it cannot be read. */
static __always_inline __u32 gp_text(const struct gp_regs *regs, const struct gp_row *row,
				     char *text, __u32 size)
{
	__u64 at = gp_value(regs, &row->name);
	long len;

	if (!row->name.derefs) /* The text is in the object to which the argument points. */
		at += row->name.offset[0];

	/* const std::string &: the first word points to the characters, also in short strings and
	 * the old ABI */
	if (row->string == 2 && bpf_probe_read_user(&at, sizeof(at), (void *)at))
		at = 0;
	len = bpf_probe_read_user_str(text, size, (void *)at);
	if (len > 0)
		return len;
	text[0] = 0;
	gp_lose(GP_LOSS_read_fault);
	return 1;
}

#endif
