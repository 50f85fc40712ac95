/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - a run beside its peers, in words and as JSON. */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H

#include "userspace/base/buffer.h"
#include "userspace/store/compare.h"

/* Lines of at most 100 columns, but for long names: nothing is cut. */
void compare_text(struct buffer *out, const struct store_comparison *c);
/* The answer alone, as one sentence. */
void compare_sentence(char *out, size_t len, const struct store_comparison *c);
/* key: of an object in what is open; NULL: an element. */
void compare_json(struct buffer *out, const char *key, const struct store_comparison *c);

#endif
