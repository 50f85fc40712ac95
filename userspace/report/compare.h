/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - a comparison of a run with its peers, as text and JSON. */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H

#include "userspace/base/buffer.h"
#include "userspace/store/compare.h"

/* Appends lines of at most 100 columns, except for long names, which are not shortened. */
void compare_text(struct buffer *out, const struct store_comparison *c);
/* Writes the result of the comparison as one sentence. */
void compare_sentence(char *out, size_t len, const struct store_comparison *c);
/* Writes the comparison as JSON. key: name of the member in the open object; NULL: append an array
 * element. */
void compare_json(struct buffer *out, const char *key, const struct store_comparison *c);

#endif
