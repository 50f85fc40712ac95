/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - decodes bytes to typed records; no other file does. Pure. */
#ifndef INGEST_EVENT_H
#define INGEST_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/gp_abi.h"

/* A decoded record: points into the caller's bytes (8-aligned), owns nothing. */
struct event {
	const struct gp_rec *rec;
	union {
		const void *payload;
#define X(id, name, type) const type *name;
		GP_KINDS(X)
#undef X
	};
};

/* Decodes a record. Returns 0, or -EBADMSG (too short or long, unknown kind, misaligned, impossible
 * time): the caller counts that and continues. Strings in the payload may lack a NUL: read them
 * with event_text(). */
int event_decode(const void *buf, size_t len, struct event *ret);

/* Returns the length in bytes of a record of this kind; 0: unknown kind. */
size_t event_length(unsigned kind);
const char *event_kind_name(unsigned kind); /* "range_begin"; "?" if unknown */
const char *event_role_name(unsigned role);
/* Returns true if a call of this role shows that the process uses a device. */
bool event_role_uses_device(unsigned role);
const char *event_group_name(unsigned group);
const char *event_loss_name(unsigned cause);
/* Return true if, after a loss of this cause, measured data is missing, or a marker of a step may
 * be missing. */
bool event_loss_of_data(unsigned cause);
bool event_loss_may_hide_marker(unsigned cause);
const char *event_insn_name(unsigned insn);
const char *event_attach_state_name(unsigned state);

/* Copies a text field of a record as printable UTF-8 (log_escape()); the field need not be
 * terminated. */
char *event_text(char *out, size_t out_len, const char *field, size_t field_len);
/* The same where both are arrays. */
#define event_copy(out, field) event_text((out), sizeof(out), (field), sizeof(field))

/* Begins a record of user space: writes a header and a zeroed payload of this kind to buf
 * (GP_RECORD_MAX bytes suffice). Returns the payload. */
#define GP_RECORD_MAX 1280
void *event_init(void *buf, unsigned kind, __u64 ts_ns, __u32 pid, __u32 probe);

#endif
