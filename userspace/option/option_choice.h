/* SPDX-License-Identifier: Apache-2.0 */
/* option_choice.h - lists of values, for options that have a fixed set of them. */
#ifndef OPTION_OPTION_CHOICE_H
#define OPTION_OPTION_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/option/option_row.h"

extern const char *const option_log_levels[]; /* NULL-terminated; in the order of enum log_level */
extern const char
	*const option_log_formats[]; /* NULL-terminated; in the order of enum log_format */

/* The i-th value of an option; NULL: there is none. "json:FILE" means json: and a value for FILE;
 * the same for "disruption=ACTION". */
const char *option_choice(const struct option_row *r, unsigned command, size_t i);
/* Whether it takes several values, separated by commas. */
bool option_choice_list(const struct option_row *r);
/* Checks options that allow only listed values. Returns 0, or -EINVAL after one line. */
int options_choices(const struct options *o, unsigned command);
/* The index of a word; -1: not in the list. */
int option_choice_find(const char *const *words, const char *word);

#endif
