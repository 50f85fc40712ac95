/* SPDX-License-Identifier: Apache-2.0 */
/* option_help.h - messages about commands and options that do not exist. */
#ifndef OPTION_OPTION_HELP_H
#define OPTION_OPTION_HELP_H

/* Returns the arguments of gp-bpf that list the options of a command, such as "run --help". The
 * text is static. */
const char *option_command_help(unsigned command);
/* Logs that the command has no such option, and which one the user may have meant. word: as typed,
 * with its dashes; may have a value after "=". */
void option_unknown(unsigned command, const char *word);

#endif
