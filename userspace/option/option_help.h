/* SPDX-License-Identifier: Apache-2.0 */
/* option_help.h - error messages about commands and options that do not exist. */
#ifndef OPTION_OPTION_HELP_H
#define OPTION_OPTION_HELP_H

/* Returns the words after "gp-bpf" that print the options of a command, such as "run --help". The
 * text is static. */
const char *option_command_help(unsigned command);
/* Logs that the command has no such option, and suggests the one that the user may have meant.
 * word: as typed, with dashes, and possibly with a value after "=". */
void option_unknown(unsigned command, const char *word);

#endif
