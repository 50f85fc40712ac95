/* SPDX-License-Identifier: Apache-2.0 */
/* marker_call.c - reads the arguments of a call from its record, and adds signals for the call. */
#include "userspace/model/signal/marker_private.h"

void call_emit(struct call *c, struct signal *s)
{
	s->tid = c->tid;
	s->ts_ns = c->ts_ns;
	if (!s->begin_ns)
		s->begin_ns = s->ts_ns;
	if (!s->text)
		s->text = "";
	if (c->out->count < MARKER_SIGNALS)
		c->out->signal[c->out->count++] = *s;
}

uint64_t call_begin_ns(const struct call *c)
{
	const struct gp_rec *rec = c->ev->rec;
	uint64_t dur_ns = rec->kind == GP_KIND_call ? c->ev->call->dur_ns : 0;

	return dur_ns < rec->ts_ns ? rec->ts_ns - dur_ns : rec->ts_ns;
}

uint64_t call_arg(const struct call *c, unsigned i)
{
	const struct event *ev = c->ev;

	switch (ev->rec->kind) {
	case GP_KIND_call:
		return i < GP_ARGS ? ev->call->arg[i] : 0;
	case GP_KIND_hit:
		return i < 2 ? ev->hit->arg[i] : 0;
	case GP_KIND_named:
		return i < 2 ? ev->named->arg[i] : 0;
	default:
		return 0;
	}
}

void call_simple(struct call *c, enum signal_kind kind, uint64_t ident, uint64_t count)
{
	struct signal s = {.kind = kind, .ident = ident, .count = count};

	call_emit(c, &s);
}
