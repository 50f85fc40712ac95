/* SPDX-License-Identifier: Apache-2.0 */
/* library_user.h - who maps which library, both ways, so that the cost of a process that comes or
 * goes is that of its own libraries. */
#ifndef LOADER_LIBRARY_USER_H
#define LOADER_LIBRARY_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "loader/library_private.h"

struct users; /* all processes */

struct users *users_new(void); /* NULL: no memory */
void users_free(struct users *us);

bool user_has(const struct library *lib, pid_t pid);
/* -EMFILE: the process has too many libraries already; -EEXIST: and that was told before; -ENOMEM.
 */
int user_add(struct users *us, struct library *lib, pid_t pid);
/* Takes the process from the library. */
void user_remove(struct users *us, struct library *lib, pid_t pid);
/* The child gets what the parent has. */
void users_copy(struct users *us, pid_t parent, pid_t child);
/* for (size_t i = 0; (lib = user_next(us, pid, &i));) ... the current one may be removed. */
struct library *user_next(const struct users *us, pid_t pid, size_t *pos);
/* Any user of the library, 0: it has none. */
pid_t user_any(const struct library *lib);
/* What the process had mapped was gone, or another file, when it was to be read. Who does that too
 * often (true, once) is no user of anything from then on. */
bool user_swapped(struct users *us, pid_t pid);
/* The process is gone, after its last library. */
void user_forget(struct users *us, pid_t pid);

#endif
