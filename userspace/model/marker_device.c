/* SPDX-License-Identifier: Apache-2.0 */
/* marker_device.c - from calls of device runtimes and communicators to signals. */
#include <string.h>

#include "userspace/model/device_code.h"
#include "userspace/model/marker_internal.h"

static void feed_sync(struct call *c)
{
	struct signal s = {
		.kind = SIGNAL_SYNC,
		.begin_ns = call_begin_ns(c),
		.tainted = marker_call_failed(c->ev, c->probe),
		.origin = c->probe->id,
	};

	call_emit(c, &s);
}

static void feed_launch(struct call *c)
{
	call_simple(c, SIGNAL_LAUNCH, call_arg(c, 0),
		    c->ev->rec->kind == GP_KIND_counter ? c->ev->counter->count : 1);
}

static void feed_collective(struct call *c)
{
	uint64_t count = call_arg(c, 0),
		 each = device_type_bytes(c->probe->runtime, call_arg(c, 1));
	struct signal s = {
		.kind = SIGNAL_COLLECTIVE,
		.ident = call_arg(c, 2),
		.begin_ns = call_begin_ns(c),
		.origin = c->probe->id,
	};

	if (each && count <= UINT64_MAX / each)
		s.count = count * each;
	call_emit(c, &s);
}

static void feed_copy(struct call *c, uint32_t role)
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

/* cuda.h, nccl.h: 0, or a small number that names the error; 7 is ncclInProgress. PJRT returns a
 * pointer to the error, OpenCL one to what was made. */
bool marker_init_failed(const struct event *ev, const struct gp_probe *probe)
{
	bool comm = probe->role == GP_ROLE_comm_init;
	int32_t ret;

	if (ev->rec->kind != GP_KIND_call)
		return false;
	ret = (int32_t)ev->call->ret;
	if (!strcmp(probe->runtime, "pjrt"))
		return ev->call->ret;
	if (!strcmp(probe->runtime, "level_zero") || !strcmp(probe->runtime, "neuron"))
		return ret;
	if (!strcmp(probe->runtime, "opencl"))
		return !ev->call->ret;
	return ret > 0 && ret < 1000 && !(comm && ret == 7);
}

static void feed_init(struct call *c)
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

/* ---- faults
 * -------------------------------------------------------------------------------------- */

static void feed_fault(struct call *c, int64_t code, uint64_t bytes)
{
	const struct device_code *known = device_code_find(c->probe->runtime, code);
	struct signal s = {.kind = SIGNAL_ERROR, .ident = (uint64_t)code, .count = bytes};

	if (!known)
		return;
	s.text = known->name;
	s.fault = known->kind;
	s.origin = c->probe->id;
	call_emit(c, &s);
}

/* It may come of an error, and of a program that ends: what follows tells. */
static void feed_abort(struct call *c)
{
	struct signal s = {
		.kind = SIGNAL_ERROR,
		.fault = FAULT_communicator,
		.text = "a communicator was aborted",
		.origin = c->probe->id,
	};

	call_emit(c, &s);
}

static bool role_returns_code(uint32_t role)
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
	return ev->rec->kind == GP_KIND_call && role_returns_code(probe->role) &&
	       !device_work_done(probe->runtime, ev->call->ret);
}

void marker_fault(struct call *c, uint32_t role)
{
	const struct gp_call *call = c->ev->call;

	if (!role_returns_code(role) || !call->ret)
		return;
	if (!strcmp(c->probe->runtime,
		    "pjrt")) /* a pointer: what it points to is told by its own row */
		return;
	if (role == GP_ROLE_device_init && !strcmp(c->probe->runtime, "opencl")) /* a pointer */
		return;
	feed_fault(c, (int32_t)call->ret, role == GP_ROLE_alloc ? call->arg[0] : 0);
}

bool marker_device(struct call *c, uint32_t role)
{
	switch (role) {
	case GP_ROLE_sync:
		feed_sync(c);
		return true;
	case GP_ROLE_copy:
	case GP_ROLE_copy_in:
	case GP_ROLE_copy_out:
		feed_copy(c, role);
		return true;
	case GP_ROLE_device_init:
	case GP_ROLE_comm_init:
		feed_init(c);
		return true;
	case GP_ROLE_launch:
		feed_launch(c);
		return true;
	case GP_ROLE_collective:
		feed_collective(c);
		return true;
	case GP_ROLE_comm_abort:
		feed_abort(c);
		return true;
	case GP_ROLE_comm_error:
		feed_fault(c, (int32_t)call_arg(c, 1), 0);
		return true;
	case GP_ROLE_error: /* of PJRT: the code of an error that somebody asked for */
		if (!strcmp(c->probe->runtime, "pjrt"))
			feed_fault(c, (int32_t)call_arg(c, 0), 0);
		return true;
	default:
		return false;
	}
}
