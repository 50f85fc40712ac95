/* SPDX-License-Identifier: Apache-2.0 */
/* option_choice.h - the values of options whose values are a few words. */
#ifndef OPTION_OPTION_CHOICE_H
#define OPTION_OPTION_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/option/option_row.h"

extern const char *const option_log_levels[];  /* NULL-terminated; in the order of enum log_level */
extern const char *const option_log_formats[]; /* ... of enum log_format */

/* The i-th word of an option; NULL: there is none. "json:FILE" stands for json: and what FILE says;
 * so does "disruption=ACTION". */
const char *option_choice(const struct option_row *r, unsigned command, size_t i);
/* Several words, with commas between them. */
bool option_choice_list(const struct option_row *r);
/* Options that allow these words alone have one of them. -EINVAL after one line. */
int options_choices(const struct options *o, unsigned command);
/* The place of a word, -1: it is none of them. */
int option_choice_find(const char *const *words, const char *word);

#endif
