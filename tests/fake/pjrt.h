/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt.h - the PJRT C interface, as far as the stand-ins need it: where each function is in the
 * table, by version, and the arguments that they read (offsets and sizes are those of XLA's header,
 * 0.28 to 0.116). */
#ifndef TESTS_FAKE_PJRT_H
#define TESTS_FAKE_PJRT_H

#include <stddef.h>
#include <stdint.h>

#define PJRT_AT_CLIENT_CREATE  120
#define PJRT_AT_CLIENT_COMPILE 200
#define PJRT_AT_EXECUTE	       480

struct PJRT_Version {
	size_t size;
	void *extension;
	int32_t major, minor;
};

/* Every function takes one pointer to its arguments, which begin so. */
struct PJRT_Args {
	size_t size;
	void *extension;
};

typedef void PJRT_Ready(void *error, void *user_arg);

struct PJRT_OneArg { /* Error_Destroy, Event_Destroy, Event_Await, ...: what it is about */
	struct PJRT_Args head;
	void *it;
};
struct PJRT_Message { /* Error_Message, Executable_Name */
	struct PJRT_Args head;
	void *it;
	const char *text;
	size_t len;
};
struct PJRT_Code { /* Error_GetCode, Event_IsReady */
	struct PJRT_Args head;
	void *it;
	int32_t code;
};
struct PJRT_OnReady {
	struct PJRT_Args head;
	void *event;
	PJRT_Ready *callback;
	void *user_arg;
};
struct PJRT_ClientCreate {
	struct PJRT_Args head;
	void *options;
	size_t options_count;
	void *callbacks[4];
	void *client; /* out, +64 */
	void *rest[2];
};
struct PJRT_Program {
	struct PJRT_Args head;
	const char *code;
	size_t code_size;
	const char *format;
	size_t format_size;
};
struct PJRT_Compile {
	struct PJRT_Args head;
	void *client;
	const struct PJRT_Program *program;
	const char *options;
	size_t options_size;
	void *executable; /* out, +48 */
};
struct PJRT_GetExecutable {
	struct PJRT_Args head;
	void *loaded, *executable;
};
struct PJRT_Options { /* as of 0.104 */
	struct PJRT_Args head;
	void *callbacks[2];
	size_t sends, receives;
	int32_t launch_id; /* +48 */
	void *donatable[2];
	void *context; /* +72 */
	const char *call_location;
	void *rest[4];
};
struct PJRT_Execute {
	struct PJRT_Args head;
	void *executable;
	const struct PJRT_Options *options;
	void *const *const *arguments;
	size_t devices, arguments_count; /* +40, +48 */
	void **const *outputs;
	void **events; /* out, +64 */
	void *device;
};
struct PJRT_ToHost {
	struct PJRT_Args head;
	void *from, *layout, *to;
	size_t to_size;
	void *event; /* out, +48 */
};
struct PJRT_BufferReady {
	struct PJRT_Args head;
	void *buffer, *event; /* out, +24 */
};
struct PJRT_FromHost {
	struct PJRT_Args head;
	void *client;
	const void *data; /* +24 */
	int32_t type;
	const int64_t *dims;
	size_t dims_count;
	void *strides[2];
	int32_t semantics;
	void *device; /* +80 */
	void *rest[2];
	void *event, *buffer; /* out */
};

#endif
