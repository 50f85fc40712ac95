/* SPDX-License-Identifier: Apache-2.0 */
/* option_help.h - what the parser says about commands and options that do not exist. */
#ifndef OPTION_OPTION_HELP_H
#define OPTION_OPTION_HELP_H

/* The arguments of gp-bpf that list the options of a command: "run --help". The text is static. */
const char *option_command_help(unsigned command);
/* Logs one line: that the command has no such option, and what the user may have meant. word: as
 * typed, with its dashes; it may have a value after "=". */
void option_unknown(unsigned command, const char *word);

#endif
