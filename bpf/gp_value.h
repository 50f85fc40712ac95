/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_value.h - captures the values of a row: a register, a word of the stack, the target of a
 * pointer, or a string. The job controls this memory. A value that cannot be read is 0 or "", and
 * is counted as a loss. */
#ifndef GP_VALUE_H
#define GP_VALUE_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "bpf/gp_maps.h"
#include "bpf/gp_regs.h"

/* Returns the register or word of the stack, without following pointers. */
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

/* Follows the pointers of a capture. A NULL pointer gives 0. It is not counted as a loss, because
 * it means that there is no value. */
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

/* Returns the captured value when a call is entered. If the pointers must be followed after the
 * return, returns the first pointer. */
static __always_inline __u64 gp_value_early(const struct gp_regs *regs, const struct gp_capture *c)
{
	return c->flags & GP_CAPTURE_LATE ? gp_argument(regs, c) : gp_value(regs, c);
}

static __always_inline __u64 gp_value_late(__u64 kept, const struct gp_capture *c)
{
	return c->flags & GP_CAPTURE_LATE ? gp_follow(kept, c) : kept;
}

/* Reads the string of a row into text, which is always NUL-terminated. Returns its length with the
 * NUL. Text is "" if the string cannot be read. */
static __always_inline __u32 gp_text(const struct gp_regs *regs, const struct gp_row *row,
				     char *text, __u32 size)
{
	__u64 at = gp_value(regs, &row->name);
	long len;

	if (!row->name.derefs) /* no pointer to follow: the text is within the object */
		at += row->name.offset[0];

	/* const std::string &: the first word points to the characters, even if the string is short
	 * or of the old ABI */
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
