/* SPDX-License-Identifier: Apache-2.0 */
/* device_code.h - tables of the error codes of device runtimes and communication libraries. The
 * probe files list the return codes that report a fault; these functions find the entry of a
 * code. */
#ifndef MODEL_DEVICE_CODE_H
#define MODEL_DEVICE_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"

/* Kinds of faults. The names are used as kinds of health events, as causes of disruptions and in
 * labels of metrics. */
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

/* Maximum number of codes kept for all runtimes. Faults with other codes get no name. */
#define DEVICE_CODES 2048

/* The codes that report a fault, from the probe files. */
struct device_codes {
	struct gp_code *code;
	uint32_t count, cap;
};
/* Adds a copy of *c. It replaces an entry with the same runtime and code. Entries of an unknown
 * kind, or beyond DEVICE_CODES, are ignored. Returns 0 or -ENOMEM. */
int device_codes_add(struct device_codes *cs, const struct gp_code *c);
void device_codes_clear(struct device_codes *cs);
/* Returns the entry of the code, or NULL if the code does not report a fault. The entry is valid
 * until the table changes. */
const struct gp_code *device_codes_find(const struct device_codes *cs, const char *runtime,
					int64_t code);
void device_codes_archive(struct archive *a, struct device_codes *cs);

#endif
