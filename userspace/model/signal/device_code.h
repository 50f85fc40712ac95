/* SPDX-License-Identifier: Apache-2.0 */
/* device_code.h - tables of error codes of device runtimes and communication libraries.
 *
 * The probe files list which return codes report a fault; this module finds the entry of a code.
 * Pure: no clock, no I/O. */
#ifndef MODEL_DEVICE_CODE_H
#define MODEL_DEVICE_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"

/* Kinds of faults. The names appear as kinds of health events, causes of disruptions and labels. */
#define FAULT_KINDS(X)                                                                             \
	X(device, device_error)		    /* the device or its driver */                         \
	X(communicator, communicator_error) /* the library through which ranks communicate */      \
	X(memory, out_of_memory)	    /* device memory */

enum fault_kind {
#define X(id, name) FAULT_##id,
	FAULT_KINDS(X)
#undef X
		FAULT_COUNT
};
extern const char *const fault_name[FAULT_COUNT];

#define DEVICE_CODES 2048 /* codes kept of all runtimes together; further codes get no name */

/* Codes that report a fault, as the probe files list them. */
struct device_codes {
	struct gp_code *code;
	uint32_t count, cap;
};
/* Adds *c, a copy; replaces the entry with the same runtime and code. Entries of an unknown kind,
 * or beyond DEVICE_CODES, are ignored. Returns 0 or -ENOMEM. */
int device_codes_add(struct device_codes *cs, const struct gp_code *c);
void device_codes_clear(struct device_codes *cs);
/* Returns the entry of this code, valid until the table changes; NULL when the code reports no
 * fault. */
const struct gp_code *device_codes_find(const struct device_codes *cs, const char *runtime,
					int64_t code);
void device_codes_archive(struct archive *a, struct device_codes *cs);

#endif
