/* SPDX-License-Identifier: Apache-2.0 */
/* top.h - gp-bpf top: what its keys do, and its terminal. */
#ifndef VIEW_TOP_H
#define VIEW_TOP_H

#include <stddef.h>

#include "userspace/view/top_frame.h"
#include "userspace/view/top_state.h"

/* ---- keys; pure ------------------------------------------------------------------------------ */

/* sort: a name of top_job_sorts, else -EINVAL; filter: -EINVAL after one line; NULL: none. */
int top_ui_init(struct top_ui *ui, const char *sort, const char *filter);
/* Keys as a terminal sends them. True: the user has had enough. s may be NULL: nothing is known
 * yet. */
bool top_ui_keys(struct top_ui *ui, const struct top_state *s, const unsigned char *in, size_t len);
void top_ui_note(struct top_ui *ui, bool bad, const char *text); /* "": none */

/* ---- on a terminal --------------------------------------------------------------------------- */

/* How a frame is drawn that is not on a terminal of ours, or not to stay there. */
const struct top_frame_options *top_once_options(void);

struct top;
int top_open(struct top **ret, const struct top_ui *ui, int in_fd, int out_fd);
void top_close(struct top *t); /* restores the terminal; NULL is fine */
void top_show(struct top *t,
	      struct top_state *s); /* takes what s holds; NULL: what there is, anew */
void top_note(struct top *t, bool bad, const char *text); /* seen when it is shown the next time */
int top_key(struct top *t); /* 'q': that is the end; 0: go on. Never blocks. */
void top_resize(struct top *t);

#endif
