/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_names.h - gives numbers to the names in a log (jobs, event types), in the order in which
 * they first occur. A name consists of bytes from the log, JSON-unescaped and cut at
 * GOODPUT_NAME_MAX: escape it before printing. After GOODPUT_NAMES_MAX names, all further names get
 * the number GOODPUT_NAMES_MORE. Not thread-safe. */
#ifndef INGEST_GOODPUT_NAMES_H
#define INGEST_GOODPUT_NAMES_H

#include <stddef.h>
#include <stdint.h>

#define GOODPUT_NAME_MAX  256 /* bytes, with the NUL */
#define GOODPUT_NAMES_MAX 65536
/* The number of all names beyond the limit, shown as "(more names)". */
#define GOODPUT_NAMES_MORE 0

struct goodput_names;
struct goodput_names *goodput_names_new(void); /* NULL: no memory */
void goodput_names_free(struct goodput_names *n);
/* Returns the number of a name, which never changes; a new name is added. Returns
 * GOODPUT_NAMES_MORE if there are too many names, or no memory. */
uint32_t goodput_names_put(struct goodput_names *n, const char *text, size_t len);
const char *goodput_name(const struct goodput_names *n, uint32_t number); /* never NULL */
uint64_t goodput_names_refused(const struct goodput_names *n);

#endif
