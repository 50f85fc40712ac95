/* SPDX-License-Identifier: Apache-2.0 */
/* marker_device.c - turns calls of device runtimes and communication libraries into signals. */

#include "userspace/model/signal/device_code.h"
#include "userspace/model/signal/marker_private.h"

static void marker_feed_sync(struct call *c)
{
	struct signal s = {
		.kind = SIGNAL_SYNC,
		.begin_ns = call_begin_ns(c),
		.tainted = marker_call_failed(c->ev, c->probe),
		.origin = c->probe->id,
	};

	call_emit(c, &s);
}

static void marker_feed_launch(struct call *c)
{
	call_simple(c, SIGNAL_LAUNCH, call_arg(c, 0),
		    c->ev->rec->kind == GP_KIND_counter ? c->ev->counter->count : 1);
}

static void marker_feed_collective(struct call *c)
{
	struct signal s = {
		.kind = SIGNAL_COLLECTIVE,
		.ident = call_arg(c, 2),
		.pair = c->probe->flags & GP_PROBE_PAIR,
		.begin_ns = call_begin_ns(c),
		.origin = c->probe->id,
	};

	call_emit(c, &s);
}

static void marker_feed_copy(struct call *c, uint32_t role)
{
	uint64_t way = call_arg(c, 1);
	struct signal s = {
		.kind = SIGNAL_COPY,
		.begin_ns = call_begin_ns(c),
		.count = call_arg(c, 0),
		.ident = role == GP_ROLE_copy_in    ? COPY_IN
			 : role == GP_ROLE_copy_out ? COPY_OUT
			 : way <= COPY_ON_DEVICE    ? way
						    : COPY_UNKNOWN,
	};

	call_emit(c, &s);
}

/* Returns the error code in the low 32 bits of value. The probe file says whether codes of the
 * runtime are signed. */
static int64_t marker_device_code(const struct gp_probe *probe, int64_t value)
{
	return probe->returns == GP_RETURNS_unsigned ? (int64_t)(uint32_t)value : (int32_t)value;
}

/* Returns the return value of the call: a code or a pointer, as the probe file says. */
static int64_t marker_return_value(const struct event *ev, const struct gp_probe *probe)
{
	int64_t ret = ev->call->ret;

	return probe->returns == GP_RETURNS_signed || probe->returns == GP_RETURNS_unsigned
		       ? marker_device_code(probe, ret)
		       : ret;
}

static bool marker_return_fails(const struct event *ev, const struct gp_probe *probe)
{
	int64_t ret = marker_return_value(ev, probe);

	switch (probe->returns) {
	case GP_RETURNS_signed:
	case GP_RETURNS_unsigned:
		for (int i = 0; i < probe->noks; i++)
			if (ret >= probe->ok[i][0] && ret <= probe->ok[i][1])
				return false;
		return probe->noks || ret;
	case GP_RETURNS_error:
		return ret;
	case GP_RETURNS_object:
		return !ret;
	default:
		return false;
	}
}

bool marker_init_failed(const struct event *ev, const struct gp_probe *probe)
{
	return ev->rec->kind == GP_KIND_call && marker_return_fails(ev, probe);
}

static void marker_feed_init(struct call *c)
{
	bool comm = c->probe->role == GP_ROLE_comm_init;
	struct signal s = {.kind = SIGNAL_INIT, .ident = comm, .begin_ns = c->ev->rec->ts_ns};

	if (c->ev->rec->kind != GP_KIND_call)
		return;
	s.tainted = marker_init_failed(c->ev, c->probe);
	if (comm && (int32_t)call_arg(c, 0) > 0 && (int32_t)call_arg(c, 1) >= 0 &&
	    (int32_t)call_arg(c, 1) < (int32_t)call_arg(c, 0)) {
		s.count = (uint32_t)call_arg(c, 0);
		s.number = (uint32_t)call_arg(c, 1);
	}
	s.begin_ns -= c->ev->call->dur_ns < s.begin_ns ? c->ev->call->dur_ns : 0;
	call_emit(c, &s);
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* Emits a SIGNAL_ERROR for a code other than 0. rank_fault.c decides whether it is a fault. */
static void marker_feed_fault(struct call *c, int64_t code, uint64_t bytes)
{
	struct signal s = {
		.kind = SIGNAL_ERROR,
		.ident = (uint64_t)code,
		.count = bytes,
		.origin = c->probe->id,
	};

	if (code)
		call_emit(c, &s);
}

/* Emits a SIGNAL_ERROR for an aborted communicator. The reason is an error, or the end of the
 * program; later signals show which. */
static void marker_feed_abort(struct call *c)
{
	struct signal s = {
		.kind = SIGNAL_ERROR,
		.fault = FAULT_communicator,
		.text = "a communicator was aborted",
		.origin = c->probe->id,
	};

	call_emit(c, &s);
}

static bool marker_device_role_returns_code(uint32_t role)
{
	switch (role) {
	case GP_ROLE_device_init:
	case GP_ROLE_compile:
	case GP_ROLE_launch:
	case GP_ROLE_graph_launch:
	case GP_ROLE_execute:
	case GP_ROLE_sync:
	case GP_ROLE_copy:
	case GP_ROLE_collective:
	case GP_ROLE_comm_init:
	case GP_ROLE_error:
	case GP_ROLE_alloc:
	case GP_ROLE_copy_in:
	case GP_ROLE_copy_out:
	case GP_ROLE_capture:
		return true;
	default:
		return false;
	}
}

bool marker_call_failed(const struct event *ev, const struct gp_probe *probe)
{
	return ev->rec->kind == GP_KIND_call && marker_device_role_returns_code(probe->role) &&
	       marker_return_fails(ev, probe);
}

void marker_fault(struct call *c, uint32_t role)
{
	const struct gp_call *call = c->ev->call;

	/* Does nothing if the call returns a pointer to an error: another probe row reports its
	 * code. */
	if (!marker_device_role_returns_code(role) ||
	    (c->probe->returns != GP_RETURNS_signed && c->probe->returns != GP_RETURNS_unsigned))
		return;
	marker_feed_fault(c, marker_return_value(c->ev, c->probe),
			  role == GP_ROLE_alloc ? call->arg[0] : 0);
}

bool marker_device(struct call *c, uint32_t role)
{
	switch (role) {
	case GP_ROLE_sync:
		marker_feed_sync(c);
		return true;
	case GP_ROLE_copy:
	case GP_ROLE_copy_in:
	case GP_ROLE_copy_out:
		marker_feed_copy(c, role);
		return true;
	case GP_ROLE_device_init:
	case GP_ROLE_comm_init:
		marker_feed_init(c);
		return true;
	case GP_ROLE_launch:
		marker_feed_launch(c);
		return true;
	case GP_ROLE_collective:
		marker_feed_collective(c);
		return true;
	case GP_ROLE_comm_abort:
		marker_feed_abort(c);
		return true;
	case GP_ROLE_comm_error:
		marker_feed_fault(c, marker_device_code(c->probe, (int64_t)call_arg(c, 1)), 0);
		return true;
	/* the process asks the runtime for the code of an error that occurred */
	case GP_ROLE_error:
		if (c->probe->returns == GP_RETURNS_error)
			marker_feed_fault(c, marker_device_code(c->probe, (int64_t)call_arg(c, 0)),
					  0);
		return true;
	default:
		return false;
	}
}
