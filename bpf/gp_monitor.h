/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_monitor.h - reads an event of torch.monitor (torch::monitor::Event) from the memory of the
 * process.
 *
 * Layout of an event, as measured on torch 2.15 and 1.13 (x86-64, libstdc++): the name, a
 * std::string; the time, ns since 1970; an unordered_map of entries. The third word of the map
 * points to the first node, and the fourth is the number of nodes. A node is: pointer to the next
 * node; the key, a std::string; the value, as large as a std::string; a byte with the value's type.
 * A std::string begins with the pointer to its text. It has four words, or one word in the ABI
 * before C++11, which wheels up to torch 2.5 use.
 *
 * The job controls this memory and may change it at any time. So pointers are used only for bounded
 * reads, and the loop is bounded. An entry that cannot be read is sent as type GP_MONITOR_NONE, and
 * ends the event. */
#ifndef GP_MONITOR_H
#define GP_MONITOR_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "bpf/gp_abi.h"

#define GP_STRING_BYTES	    32
#define GP_STRING_OLD_BYTES 8
/* By this limit, the length of a string is distinguished from a time in ns. No text has 2^56 bytes,
 * and 2^56 ns after 1970 is in 1972. */
#define GP_STRING_LONGEST (1ull << 56)

/* State of reading an event: its next node, and what is known of the whole event */
struct gp_walk {
	__u64 name;    /* address of the text of the event's name */
	__u64 node;    /* address of the next node */
	__u64 wall_ns; /* time of the event */
	__u32 string;  /* size of a std::string: GP_STRING_BYTES or GP_STRING_OLD_BYTES */
	__u32 count;   /* number of nodes that the std::map claims to have */
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

/* Fills type, value, key and text of the entry from the present node, and goes to the next node.
 * Returns false if the node cannot be read. */
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
