/* SPDX-License-Identifier: Apache-2.0 */
/* option_choice.h - the possible values of options that accept only certain values; used for checks
 * and completion. */
#ifndef OPTION_OPTION_CHOICE_H
#define OPTION_OPTION_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/option/option_row.h"

extern const char *const option_log_levels[]; /* NULL-terminated, in the order of enum log_level */
extern const char
	*const option_log_formats[]; /* NULL-terminated, in the order of enum log_format */

/* Returns the i-th possible value of an option; NULL: the option has at most i values. In values
 * such as "json:FILE" and "disruption=ACTION", the user replaces the part in capitals. */
const char *option_choice(const struct option_row *r, unsigned command, size_t i);
/* Returns true if the option accepts a list of values, separated by commas. */
bool option_choice_list(const struct option_row *r);
/* Checks the options whose values are all listed. Returns 0, or -EINVAL after logging one line. */
int options_choices(const struct options *o, unsigned command);
/* Returns the index of `word` in a NULL-terminated list; -1: it is not in the list. */
int option_choice_find(const char *const *words, const char *word);

#endif
