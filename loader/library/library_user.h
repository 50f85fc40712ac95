/* SPDX-License-Identifier: Apache-2.0 */
/* library_user.h - which process maps which library, in both directions, so that the work for a
 * process that comes or goes depends on its own libraries only. */
#ifndef LOADER_LIBRARY_USER_H
#define LOADER_LIBRARY_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "loader/library/library_private.h"

struct users; /* all processes */

struct users *users_new(void); /* NULL: no memory */
void users_free(struct users *us);

/* Returns true when the process uses the library. */
bool user_has(const struct library *lib, pid_t pid);
/* Adds a user. Returns 0; -EMFILE, once for each process: the process has too many libraries;
 * -EEXIST: the same, but -EMFILE was returned before; -ENOMEM. */
int user_add(struct users *us, struct library *lib, pid_t pid);
/* Returns true when the process uses any library, as far as it was scanned. */
bool user_known(const struct users *us, pid_t pid);
/* Removes the process from the users of the library. */
void user_remove(struct users *us, struct library *lib, pid_t pid);
/* Makes the child a user of its parent's libraries. */
void users_copy(struct users *us, pid_t parent, pid_t child);
/* Iterates over the libraries of a process; start with *pos 0. The library that was returned last
 * may be removed. */
struct library *user_next(const struct users *us, pid_t pid, size_t *pos);
/* Returns the pid of a process that uses the library, 0: none. */
pid_t user_any(const struct library *lib);
/* Call when a reader could not open a file that the process maps, because the file was deleted or
 * replaced. Returns true, once, if this has happened too often: from then on the process does not
 * count as a user. */
bool user_swapped(struct users *us, pid_t pid);
/* Frees the entry of a process that is gone. Call after its last library was removed. */
void user_forget(struct users *us, pid_t pid);

/* Makes a process that maps the library one of its users. Logs a process that has too many
 * libraries. */
void library_enter(struct libraries *ls, struct library *lib, pid_t pid);
/* If the library has no user, records the time from which it has none. */
void library_idle(struct libraries *ls, struct library *lib);

#endif
