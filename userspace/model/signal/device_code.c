/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/signal/device_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/grow.h"
#include "userspace/ingest/event.h"

const char *const fault_name[FAULT_COUNT] = {
#define X(id, name) [FAULT_##id] = #name,
	FAULT_KINDS(X)
#undef X
};

_Static_assert((int)FAULT_device == GP_FAULT_device &&
		       (int)FAULT_communicator == GP_FAULT_communicator &&
		       (int)FAULT_memory == GP_FAULT_memory && (int)FAULT_COUNT == GP_FAULT_COUNT,
	       "kinds of faults are those of the probe files");

int device_codes_add(struct device_codes *cs, const struct gp_code *c)
{
	struct gp_code *code, is = *c;

	if (c->kind >= GP_FAULT_COUNT)
		return 0;
	event_copy(is.runtime, c->runtime);
	event_copy(is.name, c->name);
	for (uint32_t i = 0; i < cs->count; i++) {
		if ((uint32_t)cs->code[i].code != (uint32_t)is.code ||
		    strcmp(cs->code[i].runtime, is.runtime) != 0)
			continue;
		cs->code[i] = is;
		return 0;
	}
	if (cs->count == DEVICE_CODES)
		return 0;
	code = grow_add(cs->code, cs->count, cs->cap, DEVICE_CODES);
	if (!code)
		return -ENOMEM;
	*code = is;
	return 0;
}

void device_codes_clear(struct device_codes *cs)
{
	free(cs->code);
	*cs = (struct device_codes){0};
}

const struct gp_code *device_codes_find(const struct device_codes *cs, const char *runtime,
					int64_t code)
{
	for (uint32_t i = 0; i < cs->count; i++)
		if ((uint32_t)cs->code[i].code == (uint32_t)code &&
		    !strcmp(cs->code[i].runtime, runtime))
			return &cs->code[i];
	return NULL;
}

void device_codes_archive(struct archive *a, struct device_codes *cs)
{
	archive_items(a, cs->code, cs->count, cs->cap, DEVICE_CODES);
	for (uint32_t i = 0; i < cs->count; i++) {
		archive_field(a, cs->code[i].code);
		archive_below(a, &cs->code[i].kind, GP_FAULT_COUNT);
		archive_fields(a, &cs->code[i], runtime, name);
	}
}
