/* SPDX-License-Identifier: Apache-2.0 */
/* program_object.h - the name and the content of a compiled program, read from the objects that
 * XLA's client for the CPU keeps of it for as long as it can be run: the executable, its HloModule,
 * the instructions of that and their metadata. Objects are recognised by the names of their C++
 * types (RTTI), so no offset and no symbol of a version is needed: seen with jaxlib 0.10.2; another
 * layout gives no name. All memory is hostile: what is read is bounded. */
#ifndef IDENTITY_PROGRAM_OBJECT_H
#define IDENTITY_PROGRAM_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/identity/program_name.h"

/* handle: address of the object that a call to run the program names, or of a structure that points
 * to one. Returns 0 with *ret filled; -ENOENT: there is no such program. */
int program_object_scan(program_read *read, void *ctx, uint64_t handle, struct program_name *ret);

#endif
