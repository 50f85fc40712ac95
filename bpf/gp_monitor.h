/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_monitor.h - a walk through one event of torch.monitor (torch::monitor::Event). Measured on
 * torch 2.15 and 1.13, x86-64, libstdc++: name, a std::string; time since 1970 in ns; an
 * unordered_map, of which the third word is the first node and the fourth the number of nodes. A
 * node: the next one; the key, a std::string; the value, as large as a std::string, and behind it a
 * byte that says what it is. A std::string begins with the pointer to its text; it is four words,
 * or one in the ABI before C++11, which wheels up to torch 2.5 have.
 *
 * All of it is the job's, and may change under us: every pointer is only read through, and the walk
 * ends by itself. What cannot be read is told as such: an entry of type GP_MONITOR_NONE, the last
 * one. */
#ifndef GP_MONITOR_H
#define GP_MONITOR_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "bpf/gp_abi.h"

#define GP_STRING_BYTES	    32
#define GP_STRING_OLD_BYTES 8
/* No text is as long as the nanoseconds since 1970 are many: 2^56 is a day of 1972. */
#define GP_STRING_LONGEST (1ull << 56)

struct gp_walk {
	__u64 name;    /* where the text is */
	__u64 node;    /* the next one */
	__u64 wall_ns; /* of the event */
	__u32 string;  /* bytes of a std::string here */
	__u32 count;   /* of nodes, as the map says */
};

static __always_inline bool gp_walk_begin(struct gp_walk *w, __u64 event)
{
	__u64 head[9], count;

	if (bpf_probe_read_user(head, sizeof(head), (void *)event))
		return false;
	w->name = head[0];
	if (head[1] < GP_STRING_LONGEST) {
		w->string = GP_STRING_BYTES;
		w->wall_ns = head[4];
		w->node = head[7];
		count = head[8];
	} else {
		w->string = GP_STRING_OLD_BYTES;
		w->wall_ns = head[1];
		w->node = head[4];
		count = head[5];
	}
	w->count = count < 0xffff ? count : 0xffff;
	return true;
}

static __always_inline bool gp_walk_text(char *text, __u32 size, __u64 at)
{
	if (bpf_probe_read_user_str(text, size, (void *)at) > 0)
		return true;
	text[0] = 0;
	return false;
}

/* Fills type, value, key and text from the node, and steps to the next one; false: it cannot be
 * read. */
static __always_inline bool gp_walk_entry(struct gp_walk *w, struct gp_monitor *entry)
{
	__u64 head[2], value, at = w->node + sizeof(head[0]) + w->string;
	__u8 type;

	entry->key[0] = entry->text[0] = 0;
	entry->value = 0;
	entry->type = GP_MONITOR_NONE;
	if (!w->node || bpf_probe_read_user(head, sizeof(head), (void *)w->node) ||
	    bpf_probe_read_user(&value, sizeof(value), (void *)at) ||
	    bpf_probe_read_user(&type, sizeof(type), (void *)(at + w->string)) ||
	    !gp_walk_text(entry->key, sizeof(entry->key), head[1]))
		return false;
	if (type > GP_MONITOR_BOOL - GP_MONITOR_TEXT)
		return false;
	if (!type && !gp_walk_text(entry->text, sizeof(entry->text), value))
		return false;
	w->node = head[0];
	entry->type = GP_MONITOR_TEXT + type;
	if (type)
		entry->value = entry->type == GP_MONITOR_BOOL ? (__u8)value : value;
	return true;
}

#endif
