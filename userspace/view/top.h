/* SPDX-License-Identifier: Apache-2.0 */
/* top.h - the keys of gp-bpf top, and its frames on a terminal. */
#ifndef VIEW_TOP_H
#define VIEW_TOP_H

#include <stddef.h>

#include "userspace/view/top_frame.h"
#include "userspace/view/top_state.h"

/* ---- keys; pure ------------------------------------------------------------------------------ */

/* Sets the choices of the user to those of the command line. sort: a name in top_job_sorts. filter:
 * NULL: all jobs. Returns 0; -EINVAL: sort is not such a name, or (after logging one line) the
 * filter is invalid. */
int top_ui_init(struct top_ui *ui, const char *sort, const char *filter);
/* Handles keys as the terminal sends them. Returns true if the user wants to quit. s: the state
 * that is shown; NULL: none yet. */
bool top_ui_keys(struct top_ui *ui, const struct top_state *s, const unsigned char *in, size_t len);
/* shows text in the bottom line; "": removes it */
void top_ui_note(struct top_ui *ui, bool bad, const char *text);

/* ---- on a terminal --------------------------------------------------------------------------- */

/* Returns the options for a frame that is printed once, for example to a file. */
const struct top_frame_options *top_once_options(void);

struct top;
int top_open(struct top **ret, const struct top_ui *ui, int in_fd, int out_fd);
void top_close(struct top *t); /* restores the terminal and frees t, which may be NULL */
void top_show(struct top *t,
	      struct top_state
		      *s); /* draws s and takes its content; NULL: draws the current state again */
/* shows text in the bottom line of the next frame */
void top_note(struct top *t, bool bad, const char *text);
int top_key(struct top *t); /* returns 'q' to quit, 0 to continue; never blocks */
void top_resize(struct top *t);

#endif
