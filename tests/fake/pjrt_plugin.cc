// SPDX-License-Identifier: Apache-2.0
/* A PJRT plugin without a device: GetPjrtApi() and, behind the table that it returns, one thread that
 * "computes". Made with several compilers, which fill the table in as many ways, and as several versions
 * (PJRT_MINOR).
 *
 *   FAKE_PJRT_EXECUTE_US=N   an execution takes so long (default 0), one behind the other
 *   FAKE_PJRT_COMPILE_US=N   so does a compilation
 *   FAKE_PJRT_FAIL=N:CODE    the Nth call of Execute returns an error of that code
 *   FAKE_PJRT_BREAK=N:CODE   the Nth execution ends in one */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/fake/pjrt.h"

#ifndef PJRT_MINOR
#define PJRT_MINOR 104
#endif

struct PJRT_Error {
	int code;
	char text[64];
};

/* Arguments are of types of their own, outside of the namespace: the functions' symbols have both in them. */
#define ARGS(name, type)                                                                                     \
	struct PJRT_##name##_Args : type {                                                                   \
	};
ARGS(Error_Destroy, PJRT_OneArg)
ARGS(Error_Message, PJRT_Message)
ARGS(Error_GetCode, PJRT_Code)
ARGS(Plugin_Initialize, PJRT_Args)
ARGS(Event_Destroy, PJRT_OneArg)
ARGS(Event_IsReady, PJRT_Code)
ARGS(Event_Await, PJRT_OneArg)
ARGS(Event_OnReady, PJRT_OnReady)
ARGS(Client_Create, PJRT_ClientCreate)
ARGS(Client_Destroy, PJRT_OneArg)
ARGS(Client_Compile, PJRT_Compile)
ARGS(Client_BufferFromHostBuffer, PJRT_FromHost)
ARGS(Executable_Destroy, PJRT_OneArg)
ARGS(Executable_Name, PJRT_Message)
ARGS(LoadedExecutable_Destroy, PJRT_OneArg)
ARGS(LoadedExecutable_GetExecutable, PJRT_GetExecutable)
ARGS(LoadedExecutable_Execute, PJRT_Execute)
ARGS(Buffer_Destroy, PJRT_OneArg)
ARGS(Buffer_ToHostBuffer, PJRT_ToHost)
ARGS(Buffer_ReadyEvent, PJRT_BufferReady)
#define DONE(name)
#define NONE(name)	  ARGS(name, PJRT_Args)
#define OWN(name, what)	  what(name)
#define GIVEN(name, what) what(name)
#include "tests/fake/pjrt_slots.h"
#undef NONE
#undef OWN
#undef GIVEN

namespace pjrt
{

/* ---- the device: one thread that ends what was begun, in order ------------------------------------- */

struct Event {
	Event *next;
	uint64_t ready_ns;
	bool ready, dropped;
	PJRT_Error *error;
	PJRT_Ready *callback;
	void *user_arg;
};

struct Device {
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
	Event *first = nullptr, *last = nullptr;
	bool started = false;
	uint64_t free_ns = 0;
	unsigned executions = 0;
};
static Device device;

static uint64_t now_ns()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void wait_until(uint64_t ns)
{
	timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR)
		;
}

static long setting(const char *name)
{
	const char *text = getenv(name);

	return text ? atol(text) : 0;
}

static PJRT_Error *error_new(int code, const char *text)
{
	PJRT_Error *e = (PJRT_Error *)calloc(1, sizeof(*e));

	e->code = code;
	snprintf(e->text, sizeof(e->text), "%s", text);
	return e;
}

/* N:CODE: an error for the Nth. */
static PJRT_Error *error_due(const char *name, unsigned n)
{
	const char *text = getenv(name), *code = text ? strchr(text, ':') : nullptr;

	return code && strtoul(text, nullptr, 10) == n ? error_new(atoi(code + 1), name) : nullptr;
}

static void *device_run(void *)
{
	pthread_mutex_lock(&device.lock);
	for (;;) {
		Event *e = device.first;

		if (!e) {
			pthread_cond_wait(&device.changed, &device.lock);
			continue;
		}
		pthread_mutex_unlock(&device.lock);
		wait_until(e->ready_ns);
		pthread_mutex_lock(&device.lock);
		device.first = e->next;
		e->ready = true;
		pthread_cond_broadcast(&device.changed);
		if (e->callback) {
			pthread_mutex_unlock(&device.lock);
			e->callback(e->error, e->user_arg);
			pthread_mutex_lock(&device.lock);
		}
		if (e->dropped)
			free(e);
	}
	return nullptr;
}

static Event *event_new(uint64_t ready_ns, PJRT_Error *error)
{
	Event *e = (Event *)calloc(1, sizeof(*e));
	pthread_t thread;

	e->ready_ns = ready_ns;
	e->error = error;
	if (!device.started && !pthread_create(&thread, nullptr, device_run, nullptr))
		device.started = true;
	if (device.first)
		device.last->next = e;
	else
		device.first = e;
	device.last = e;
	pthread_cond_broadcast(&device.changed);
	return e;
}

/* ---- the functions --------------------------------------------------------------------------------- */

struct Executable {
	char name[64];
};

/* As in MLIR bytecode: the program's name stands behind "num_replicas". */
static void program_name(const PJRT_Program *p, char *name, size_t len)
{
	static const char before[] = "num_replicas";
	const char *at = (const char *)memmem(p->code, p->code_size, before, sizeof(before));

	snprintf(name, len, "%s", at ? at + sizeof(before) : "");
}

/* As in XLA, each first has the size of its arguments checked, by another function that is told their type.
 */
__attribute__((noinline)) static PJRT_Error *check_size(const char *type, size_t least, const PJRT_Args *a)
{
	return a->size < least ? error_new(3, type) : nullptr;
}

#define CALL(name)                                                                                           \
	static PJRT_Error *do_##name(PJRT_##name##_Args *a);                                                 \
	PJRT_Error *PJRT_##name(PJRT_##name##_Args *a)                                                       \
	{                                                                                                    \
		PJRT_Error *error = check_size("PJRT_" #name "_Args", sizeof(PJRT_Args), (PJRT_Args *)a);    \
                                                                                                             \
		return error ? error : do_##name(a);                                                         \
	}                                                                                                    \
	static PJRT_Error *do_##name(PJRT_##name##_Args *a)

CALL(Error_Destroy)
{
	free(a->it);
	return nullptr;
}

CALL(Error_Message)
{
	a->text = ((PJRT_Error *)a->it)->text;
	a->len = strlen(a->text);
	return nullptr;
}

CALL(Error_GetCode)
{
	a->code = ((PJRT_Error *)a->it)->code;
	return nullptr;
}

CALL(Plugin_Initialize)
{
	a->extension = nullptr;
	return nullptr;
}

CALL(Event_Destroy)
{
	Event *e = (Event *)a->it;

	pthread_mutex_lock(&device.lock);
	e->dropped = true;
	if (e->ready)
		free(e);
	pthread_mutex_unlock(&device.lock);
	return nullptr;
}

CALL(Event_IsReady)
{
	a->code = ((Event *)a->it)->ready;
	return nullptr;
}

CALL(Event_Await)
{
	Event *e = (Event *)a->it;

	pthread_mutex_lock(&device.lock);
	while (!e->ready)
		pthread_cond_wait(&device.changed, &device.lock);
	pthread_mutex_unlock(&device.lock);
	return e->error;
}

CALL(Event_OnReady)
{
	Event *e = (Event *)a->event;
	bool ready;

	pthread_mutex_lock(&device.lock);
	ready = e->ready;
	e->callback = a->callback;
	e->user_arg = a->user_arg;
	pthread_mutex_unlock(&device.lock);
	if (ready)
		a->callback(e->error, a->user_arg);
	return nullptr;
}

CALL(Client_Create)
{
	a->client = calloc(1, 64);
	return nullptr;
}

CALL(Client_Destroy)
{
	free(a->it);
	return nullptr;
}

CALL(Client_Compile)
{
	Executable *e = (Executable *)calloc(1, sizeof(*e));

	program_name(a->program, e->name, sizeof(e->name));
	wait_until(now_ns() + 1000u * (uint64_t)setting("FAKE_PJRT_COMPILE_US"));
	a->executable = e;
	return nullptr;
}

CALL(Client_BufferFromHostBuffer)
{
	a->buffer = calloc(1, 64);
	a->event = nullptr;
	return nullptr;
}

CALL(Executable_Destroy)
{
	a->it = nullptr; /* the loaded one is the one */
	return nullptr;
}

CALL(Executable_Name)
{
	a->text = ((Executable *)a->it)->name;
	a->len = strlen(a->text);
	return nullptr;
}

CALL(LoadedExecutable_Destroy)
{
	free(a->it);
	return nullptr;
}

CALL(LoadedExecutable_GetExecutable)
{
	a->executable = a->loaded;
	return nullptr;
}

CALL(LoadedExecutable_Execute)
{
	uint64_t long_ns = 1000u * (uint64_t)setting("FAKE_PJRT_EXECUTE_US"), now = now_ns();
	PJRT_Error *error;
	unsigned n;

	pthread_mutex_lock(&device.lock);
	n = ++device.executions;
	error = error_due("FAKE_PJRT_FAIL", n);
	if (!error) {
		device.free_ns = (device.free_ns > now ? device.free_ns : now) + long_ns;
		for (size_t i = 0; a->events && i < a->devices; i++)
			a->events[i] = event_new(device.free_ns, error_due("FAKE_PJRT_BREAK", n));
	}
	pthread_mutex_unlock(&device.lock);
	return error;
}

CALL(Buffer_Destroy)
{
	free(a->it);
	return nullptr;
}

CALL(Buffer_ToHostBuffer)
{
	pthread_mutex_lock(&device.lock);
	a->event = event_new(device.free_ns, nullptr);
	pthread_mutex_unlock(&device.lock);
	return nullptr;
}

CALL(Buffer_ReadyEvent)
{
	pthread_mutex_lock(&device.lock);
	a->event = event_new(device.free_ns, nullptr);
	pthread_mutex_unlock(&device.lock);
	return nullptr;
}

/* What nobody calls: each another function. */
static PJRT_Error *unimplemented(const char *name)
{
	return error_new(12, name);
}
#define NONE(name)                                                                                           \
	CALL(name)                                                                                           \
	{                                                                                                    \
		(void)a;                                                                                     \
		return unimplemented(#name);                                                                 \
	}
#define OWN(name, what)	  what(name)
#define GIVEN(name, what) what(name)
#include "tests/fake/pjrt_slots.h"
#undef OWN
#undef GIVEN

/* ---- the table ------------------------------------------------------------------------------------- */

struct PJRT_Api {
	size_t size;
	void *extension;
	PJRT_Version version;
#define OWN(name, what)	  PJRT_Error *(*name)(PJRT_##name##_Args *);
#define GIVEN(name, what) PJRT_Error *(*name)(PJRT_##name##_Args *);
#include "tests/fake/pjrt_slots.h"
#undef OWN
#undef GIVEN
};

static_assert(offsetof(PJRT_Api, LoadedExecutable_Execute) == PJRT_AT_EXECUTE, "as in the header");

#ifndef PJRT_INLINED /* in the real ones it is in another file */
__attribute__((noinline))
#endif
#define OWN(name, what)
#define GIVEN(name, what) PJRT_Error *(*name)(PJRT_##name##_Args *),
PJRT_Api
CreatePjrtApi(
#include "tests/fake/pjrt_slots.h"
	void *extension)
#undef OWN
#undef GIVEN
#define OWN(name, what)	  PJRT_##name,
#define GIVEN(name, what) name,
{
	return PJRT_Api{
		sizeof(PJRT_Api),
		extension,
		{sizeof(PJRT_Version), nullptr, 0, PJRT_MINOR},
#include "tests/fake/pjrt_slots.h"
	};
}
#undef OWN
#undef GIVEN

} /* namespace pjrt */

#define OWN(name, what)
#define GIVEN(name, what) pjrt::PJRT_##name,
extern "C" __attribute__((visibility("default"))) const pjrt::PJRT_Api *GetPjrtApi()
{
	static pjrt::PJRT_Api api = pjrt::CreatePjrtApi(
#include "tests/fake/pjrt_slots.h"
		nullptr);
	return &api;
}
