/* SPDX-License-Identifier: Apache-2.0 */
/* top.h - gp-bpf top: its keys and its terminal. */
#ifndef VIEW_TOP_H
#define VIEW_TOP_H

#include <stddef.h>

#include "userspace/view/top_frame.h"
#include "userspace/view/top_state.h"

/* ---- keys; pure ------------------------------------------------------------------------------ */

/* sort: a name of top_job_sorts, otherwise -EINVAL. filter: NULL: all jobs; -EINVAL after logging
 * one line if it is invalid. */
int top_ui_init(struct top_ui *ui, const char *sort, const char *filter);
/* Handles keys as sent by a terminal. Returns true if the user wants to quit. s NULL: no state
 * yet. */
bool top_ui_keys(struct top_ui *ui, const struct top_state *s, const unsigned char *in, size_t len);
void top_ui_note(struct top_ui *ui, bool bad, const char *text); /* shows a note; "": none */

/* ---- on a terminal --------------------------------------------------------------------------- */

/* Returns options for a single frame, for example for a file. */
const struct top_frame_options *top_once_options(void);

struct top;
int top_open(struct top **ret, const struct top_ui *ui, int in_fd, int out_fd);
void top_close(struct top *t); /* restores the terminal; t may be NULL */
void top_show(struct top *t,
	      struct top_state *s); /* takes the content of s; NULL: redraws the present state */
void top_note(struct top *t, bool bad, const char *text); /* shows a note in the next frame */
int top_key(struct top *t); /* returns 'q': quit; 0: continue; never blocks */
void top_resize(struct top *t);

#endif
