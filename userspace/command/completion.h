/* SPDX-License-Identifier: Apache-2.0 */
/* completion.h - what may stand next on a command line: asked by the scripts that shells load,
 * answered from the table of commands and options, so that no list of them is kept elsewhere.
 *
 * The answer is lines: what may stand in place of the last word, whole, and after a tab what it is;
 * at the end one line ":KIND N[ TEXT]" of what else may. KIND is words (nothing else), file, dir,
 * pid (each after the first N bytes of the last word) or command (a command line of its own, from
 * word N on). TEXT says for people what is wanted. What ends in = or : goes on without a space. */
#ifndef COMMAND_COMPLETION_H
#define COMMAND_COMPLETION_H

#include "userspace/base/buffer.h"

/* The words behind the program's name; the last one, maybe empty, is being written. */
void completion_answer(struct buffer *out, int count, char **words);
/* The script of bash, zsh or fish; NULL: of no other. */
const char *completion_script(const char *shell);

#endif
