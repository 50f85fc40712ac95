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

/* Returns the i-th value of an option; NULL after the last. In "json:FILE" and "disruption=ACTION"
 * the part in capitals stands for a value of the user. */
const char *option_choice(const struct option_row *r, unsigned command, size_t i);
/* Returns true if the option takes several values, separated by commas. */
bool option_choice_list(const struct option_row *r);
/* Checks options that allow only listed values. Returns 0, or -EINVAL after logging one line. */
int options_choices(const struct options *o, unsigned command);
/* Returns the index of a word in the list; -1: not listed. */
int option_choice_find(const char *const *words, const char *word);

#endif
