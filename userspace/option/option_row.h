/* SPDX-License-Identifier: Apache-2.0 */
/* option_row.h - the tables of commands and options: each command and each option is a row. Used by
 * the files that implement option.h. */
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

/* the section of --help that lists the option */
enum option_group {
	OPTION_WATCH,
	OPTION_OUTPUT,
	OPTION_JOB,
	OPTION_ACCOUNTING,
	OPTION_SERVICE,
	OPTION_ADVANCED,
	OPTION_GROUPS
};
#define OPTION_COMMON 0x100 /* flag in `group`: --help lists the option also without =all */

struct option_row {
	/* arg: name of the value in --help. "[...]": the value is optional and follows "="; NULL:
	 * the option has no value. */
	const char *name, *arg;
	char letter;
	enum option_type type;
	size_t at;
	int64_t min, max; /* limits of a number */
	unsigned commands;
	const char *key;  /* key in the configuration file; NULL: the option is not allowed there */
	unsigned group;	  /* an enum option_group, possibly with OPTION_COMMON */
	const char *help; /* text for --help; NULL: option_row_help() makes it from another table */
};

/* All options. The table is used for parsing, --help, --print-config, environment variables and the
 * configuration file. */
#define OPTION_ROWS 113
extern const struct option_row option_rows[OPTION_ROWS];

/* Source of an option's value. The functions below return sources for the options that were parsed
 * last. */
enum option_origin { FROM_DEFAULT, FROM_FILE, FROM_ENVIRONMENT, FROM_FLAG };
enum option_origin option_origin(size_t row);
/* Returns the line of the option's first value in the configuration file; 0: it is not in the
 * file. */
int option_origin_line(size_t row);
/* Called by the parser: option_origin_begin() before the first value, option_origin_set() for
 * each value. If a message is about an option ("--price: ...") whose value is not from a flag,
 * the log line then begins with the source: "FILE:LINE: job.price: ...", "environment
 * GP_BPF_PRICE: ...". */
void option_origin_begin(unsigned command);
void option_origin_set(size_t row, enum option_origin from);
int option_origin_place(size_t row, const char *file, int line,
			const char *value); /* 0; -1: no memory */
#define OPTION_VARIABLE_MAX 64
char *option_variable(const struct option_row *r, char out[OPTION_VARIABLE_MAX]); /* GP_BPF_... */
/* Returns the help text of an option, which is static. */
const char *option_row_help(const struct option_row *r);
/* Returns true if the option's value is the next word of the command line. */
bool option_takes_word(const struct option_row *r);
/* Returns how many bytes at the beginning of a value may be shown, because they have no secrets: a
 * URL up to its host (web_public_len()). */
size_t option_value_public_len(const struct option_row *r, const char *value);

#endif
