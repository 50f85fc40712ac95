/* SPDX-License-Identifier: Apache-2.0 */
/* program_object.h - finds the name and content of a compiled program in the objects that XLA's CPU
 * client keeps while the program can be run: the executable, its HloModule, the module's
 * instructions and their metadata.
 *
 * Objects are recognised by the names of their C++ types (RTTI), so that no offsets or symbols of a
 * certain version are needed. Tested with jaxlib 0.10.2; if objects have another layout, no name is
 * found. All memory is untrusted, and reads are limited. */
#ifndef IDENTITY_PROGRAM_OBJECT_H
#define IDENTITY_PROGRAM_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/identity/program_name.h"

/* Reads the name and content of a program. handle: address of the object that is passed to the call
 * that runs the program, or of a structure that points to that object. Returns 0 with *ret filled;
 * -ENOENT: there is no program at handle. */
int program_object_scan(program_read *read, void *ctx, uint64_t handle, struct program_name *ret);

#endif
