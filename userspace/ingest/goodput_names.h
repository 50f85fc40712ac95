/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_names.h - names in a log (jobs, event types) as small numbers, in order of appearance.
 * Names are the log's own bytes (JSON-unescaped, cut at GOODPUT_NAME_MAX): whoever shows them
 * escapes them. Bounded: beyond GOODPUT_NAMES_MAX names every new one is GOODPUT_NAMES_MORE, and
 * counted. Not thread-safe. */
#ifndef INGEST_GOODPUT_NAMES_H
#define INGEST_GOODPUT_NAMES_H

#include <stddef.h>
#include <stdint.h>

#define GOODPUT_NAME_MAX   256 /* bytes, with the end */
#define GOODPUT_NAMES_MAX  65536
#define GOODPUT_NAMES_MORE 0 /* shown as "(more names)" */

struct goodput_names;
struct goodput_names *goodput_names_new(void); /* NULL: no memory */
void goodput_names_free(struct goodput_names *n);
/* Its number, which stays. GOODPUT_NAMES_MORE when there are too many, or no memory. */
uint32_t goodput_names_put(struct goodput_names *n, const char *text, size_t len);
const char *goodput_name(const struct goodput_names *n, uint32_t number); /* never NULL */
uint64_t goodput_names_refused(const struct goodput_names *n);

#endif
