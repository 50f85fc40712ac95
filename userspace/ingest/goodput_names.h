/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_names.h - assigns numbers to the names in a log (jobs, event types), in order of
 * appearance. Names are raw bytes of the log, JSON-unescaped and cut at GOODPUT_NAME_MAX: escape
 * them before printing. After GOODPUT_NAMES_MAX names, all new names get the number
 * GOODPUT_NAMES_MORE. Not thread-safe. */
#ifndef INGEST_GOODPUT_NAMES_H
#define INGEST_GOODPUT_NAMES_H

#include <stddef.h>
#include <stdint.h>

#define GOODPUT_NAME_MAX   256 /* bytes, with the NUL */
#define GOODPUT_NAMES_MAX  65536
#define GOODPUT_NAMES_MORE 0 /* number of all further names, shown as "(more names)" */

struct goodput_names;
struct goodput_names *goodput_names_new(void); /* NULL: no memory */
void goodput_names_free(struct goodput_names *n);
/* Returns the number of a name, which never changes, and adds the name if it is new;
 * GOODPUT_NAMES_MORE if there are too many names or no memory. */
uint32_t goodput_names_put(struct goodput_names *n, const char *text, size_t len);
const char *goodput_name(const struct goodput_names *n, uint32_t number); /* never NULL */
uint64_t goodput_names_refused(const struct goodput_names *n);

#endif
