/* SPDX-License-Identifier: Apache-2.0 */
/* option_row.h - the tables behind option.h: a row for each command and each option. */
#ifndef OPTION_OPTION_ROW_H
#define OPTION_OPTION_ROW_H

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

/* The part of --help that lists an option. */
enum option_group {
	OPTION_WATCH,
	OPTION_OUTPUT,
	OPTION_JOB,
	OPTION_ACCOUNTING,
	OPTION_SERVICE,
	OPTION_ADVANCED,
	OPTION_GROUPS
};
#define OPTION_COMMON 0x100 /* added to the group: --help lists the option without =all, too */

struct option_row {
	/* arg: placeholder of the value in --help; "[...]": the value is optional and follows "=";
	 * NULL: no value. */
	const char *name, *arg;
	char letter;
	enum option_type type;
	size_t at;
	int64_t min, max; /* of a number */
	unsigned commands;
	const char *key;  /* key in the configuration file; NULL: not allowed there */
	unsigned group;	  /* enum option_group, and OPTION_COMMON */
	const char *help; /* NULL: made from a table, see option_row_help() */
};

/* All options: used for parsing, --help, --print-config, GP_BPF_* and the configuration file. */
#define OPTION_ROWS 113
extern const struct option_row option_rows[OPTION_ROWS];

/* Where the value of a row is from, for the options that were parsed last. */
enum option_origin { FROM_DEFAULT, FROM_FILE, FROM_ENVIRONMENT, FROM_FLAG };
enum option_origin option_origin(size_t row);
/* line of the option's first value in the file; 0: not in the file */
int option_origin_line(size_t row);
/* For the parser: call option_origin_begin() before the first value, and option_origin_set() for
 * each value. A message about an option ("--price: ...") whose value is from a file or the
 * environment then begins with its origin: "FILE:LINE: job.price: ...", "environment GP_BPF_PRICE:
 * ...". */
void option_origin_begin(unsigned command);
void option_origin_set(size_t row, enum option_origin from);
int option_origin_place(size_t row, const char *file, int line,
			const char *value); /* 0; -1: no memory */
#define OPTION_VARIABLE_MAX 64
char *option_variable(const struct option_row *r, char out[OPTION_VARIABLE_MAX]); /* GP_BPF_... */
/* Returns the help of an option; static. */
const char *option_row_help(const struct option_row *r);
/* Returns true if the next word of a command line is the option's value. */
bool option_takes_word(const struct option_row *r);
/* Returns the length of the part of a value that holds no secret: a URL up to its host
 * (web_public_len()). */
size_t option_value_public_len(const struct option_row *r, const char *value);

#endif
