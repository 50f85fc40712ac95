/* SPDX-License-Identifier: Apache-2.0 */
/* completion.h - completes command lines for the scripts that shells load, from the table of
 * commands and options. The answer consists of lines. Each is a replacement for the whole last word
 * and, after a tab, its description. The last line ":KIND N[ TEXT]" says what else is possible.
 * KIND is words (nothing else), file, dir, pid (each after the first N bytes of the last word) or
 * command (another command line, which begins at word N). TEXT describes the expected value. After
 * a word that ends in = or : the shell adds no space. */
#ifndef COMMAND_COMPLETION_H
#define COMMAND_COMPLETION_H

#include "userspace/base/buffer.h"

/* words: those after the program's name; the last word, possibly empty, is being typed. */
void completion_answer(struct buffer *out, int count, char **words);
/* Returns the script for bash, zsh or fish; NULL for any other shell. */
const char *completion_script(const char *shell);

#endif
