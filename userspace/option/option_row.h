/* SPDX-License-Identifier: Apache-2.0 */
/* option_row.h - the rows behind option.h: one for each command and one for each option. */
#ifndef GP_OPTION_ROW_H
#define GP_OPTION_ROW_H

#include <stddef.h>

#include "userspace/option/option.h"

enum option_type {
	OPTION_FLAG,
	OPTION_STRING,
	OPTION_LIST,
	OPTION_NUMBER,
	OPTION_DURATION,
	OPTION_PERCENT,
	OPTION_SIZE,
	OPTION_REAL
};

struct option_row {
	const char *name, *arg;
	char letter;
	enum option_type type;
	size_t at;
	int64_t min, max; /* of a number */
	unsigned commands;
	const char *key; /* in the config file; NULL: not there */
	const char *help;
};

/* Every option there is: parsing, --help, --print-config, GP_BPF_* and the config file read this.
 */
#define OPTION_ROWS 110
extern const struct option_row option_rows[OPTION_ROWS];

/* Where a row's value is from, of the options that were parsed last. */
enum option_origin { FROM_DEFAULT, FROM_FILE, FROM_ENVIRONMENT, FROM_FLAG };
enum option_origin option_origin(size_t row);
/* How much of a value may be told: of a URL its host (web_told()). */
size_t option_value_told(const struct option_row *r, const char *value);

#endif
