/* SPDX-License-Identifier: Apache-2.0 */
/* completion.h - computes completions of command lines for the shells' completion scripts, from the
 * tables of commands and options. The answer is a list of lines. Each is a replacement for the last
 * word, optionally followed by a tab and a description. The last line, ":KIND N[ TEXT]", says what
 * else may be completed. KIND is words (nothing else), file, dir, pid (these replace what follows
 * the first N bytes of the last word), or command (word N begins the command line of another
 * program). TEXT describes the expected value. After a word that ends with = or : the shell adds no
 * space. */
#ifndef COMMAND_COMPLETION_H
#define COMMAND_COMPLETION_H

#include "userspace/base/buffer.h"

/* Appends the answer. words: the words after the program's name, of which the last, possibly empty,
 * is being typed. */
void completion_answer(struct buffer *out, int count, char **words);
/* Returns the completion script for bash, zsh or fish; NULL: another shell. */
const char *completion_script(const char *shell);

#endif
