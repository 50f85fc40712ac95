/* SPDX-License-Identifier: Apache-2.0 */
/* event.c - checks that a record, which is untrusted, is valid, and gives access to its fields. */
#include "userspace/ingest/event.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "userspace/base/log.h"

static const struct {
	const char *name;
	size_t len;
} kinds[GP_KIND_MAX] = {
#define X(id, name, payload) [id] = {#name, sizeof(struct gp_rec) + sizeof(payload)},
	GP_KINDS(X)
#undef X
};

#define X(id, name, payload)                                                                       \
	_Static_assert((id) < GP_KIND_MAX, "kind " #name " is out of range");                      \
	_Static_assert(sizeof(struct gp_rec) + sizeof(payload) <= GP_RECORD_MAX, #name);           \
	_Static_assert(sizeof(payload) % 8 == 0, "payload of " #name " breaks alignment");
GP_KINDS(X)
#undef X

#define X(id, name) [id] = #name,
static const char *const groups[] = {GP_GROUPS(X)};
static const char *const insns[] = {GP_INSNS(X)};
static const char *const attach_states[] = {GP_ATTACH_STATES(X)};
#undef X

#define X(id, name, attributes) [id] = {#name, attributes},
static const struct {
	const char *name;
	unsigned attributes;
} causes[] = {GP_LOSS_CAUSES(X)}, roles[] = {GP_ROLES(X)};
#undef X

#define NAME_OF(table, i)                                                                          \
	((i) < sizeof(table) / sizeof((table)[0]) && (table)[i] ? (table)[i] : "?")

int event_decode(const void *buf, size_t len, struct event *ret)
{
	const struct gp_rec *rec = buf;
	size_t want;

	if (len < sizeof(*rec) || (uintptr_t)buf % _Alignof(struct gp_rec))
		return -EBADMSG;
	want = event_length(rec->kind);
	if (!want || rec->len != want || len != want || rec->ts_ns >= GP_TIME_END_NS)
		return -EBADMSG;
	ret->rec = rec;
	ret->payload = rec + 1;
	return 0;
}

size_t event_length(unsigned kind)
{
	return kind < GP_KIND_MAX ? kinds[kind].len : 0;
}

const char *event_kind_name(unsigned kind)
{
	return kind < GP_KIND_MAX && kinds[kind].name ? kinds[kind].name : "?";
}

const char *event_role_name(unsigned role)
{
	return role < sizeof(roles) / sizeof(roles[0]) && roles[role].name ? roles[role].name : "?";
}

bool event_role_uses_device(unsigned role)
{
	return role < sizeof(roles) / sizeof(roles[0]) && roles[role].attributes & GP_ROLE_DEVICE;
}

const char *event_group_name(unsigned group)
{
	return NAME_OF(groups, group);
}

const char *event_loss_name(unsigned cause)
{
	return cause < GP_LOSS_CAUSE_COUNT && causes[cause].name ? causes[cause].name : "?";
}

bool event_loss_of_data(unsigned cause)
{
	return cause < GP_LOSS_CAUSE_COUNT && causes[cause].attributes & GP_LOSS_DATA;
}

bool event_loss_may_hide_marker(unsigned cause)
{
	return cause < GP_LOSS_CAUSE_COUNT && causes[cause].attributes & GP_LOSS_MARKER;
}

const char *event_insn_name(unsigned insn)
{
	return NAME_OF(insns, insn);
}

const char *event_attach_state_name(unsigned attach_state)
{
	return NAME_OF(attach_states, attach_state);
}

char *event_text(char *out, size_t out_len, const char *field, size_t field_len)
{
	return log_escape(out, out_len, field, field_len);
}

void *event_init(void *buf, unsigned kind, __u64 ts_ns, __u32 pid, __u32 probe)
{
	struct gp_rec *rec = buf;
	size_t len = event_length(kind);

	memset(buf, 0, len > sizeof(*rec) ? len : sizeof(*rec));
	rec->ts_ns = ts_ns;
	rec->pid = pid;
	rec->len = (__u16)len;
	rec->kind = (__u16)kind;
	rec->probe = probe;
	return rec + 1;
}
