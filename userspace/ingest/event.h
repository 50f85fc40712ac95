/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - decodes the bytes of a record into its typed fields. No other code reads raw records.
 * Pure. */
#ifndef INGEST_EVENT_H
#define INGEST_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/gp_abi.h"

/* A decoded record. It points into the caller's bytes, which must be 8-aligned, and owns
 * nothing. */
struct event {
	const struct gp_rec *rec;
	union {
		const void *payload;
#define X(id, name, type) const type *name;
		GP_KINDS(X)
#undef X
	};
};

/* Decodes a record. Returns 0, or -EBADMSG if it is too short or long, misaligned, or has an
 * unknown kind or an impossible time; the caller then counts the record and continues. Strings in
 * the payload may lack a NUL: read them with event_text(). */
int event_decode(const void *buf, size_t len, struct event *ret);

/* Returns the length in bytes of a record of this kind; 0: unknown kind. */
size_t event_length(unsigned kind);
const char *event_kind_name(unsigned kind); /* such as "range_begin"; "?": unknown */
const char *event_role_name(unsigned role);
/* Returns true if a call of a function with this role shows that the process uses an
 * accelerator. */
bool event_role_uses_device(unsigned role);
const char *event_group_name(unsigned group);
const char *event_loss_name(unsigned cause);
/* Return true if a loss of records for this cause may hide measured data (event_loss_of_data) or
 * markers of steps (event_loss_may_hide_marker). */
bool event_loss_of_data(unsigned cause);
bool event_loss_may_hide_marker(unsigned cause);
const char *event_insn_name(unsigned insn);
const char *event_attach_state_name(unsigned state);

/* Copies a text field of a record as printable UTF-8 (see log_escape()). The field may lack a
 * NUL. */
char *event_text(char *out, size_t out_len, const char *field, size_t field_len);
/* Like event_text(), for arrays, whose sizes are taken from their types. */
#define event_copy(out, field) event_text((out), sizeof(out), (field), sizeof(field))

/* Writes the header and a zeroed payload of a record that gp-bpf makes itself. buf must have
 * GP_RECORD_MAX bytes. Returns the payload. */
#define GP_RECORD_MAX 1280
void *event_init(void *buf, unsigned kind, __u64 ts_ns, __u32 pid, __u32 probe);

#endif
