/* SPDX-License-Identifier: Apache-2.0 */
/* frame_rank.h - draws those parts of a live frame that are about one rank. */
#ifndef VIEW_FRAME_RANK_H
#define VIEW_FRAME_RANK_H

#include "userspace/model/snapshot.h"
#include "userspace/text/canvas.h"

/* Importance of a line. If the terminal has too few rows, the least important lines are dropped. */
enum importance {
	IMPORTANCE_ALWAYS,
	IMPORTANCE_MAIN,
	IMPORTANCE_KEY,
	IMPORTANCE_GOOD,
	IMPORTANCE_MORE,
	IMPORTANCE_DETAIL,
	IMPORTANCE_OLD,
	IMPORTANCE_BLANK
};

/* Draws one line about what limits the job of rank r; nothing if that is unknown. */
void frame_verdict(struct canvas *c, const struct snapshot *s, const struct rank_view *r);
void frame_loops(struct canvas *c, const struct rank_view *r, int rows);
void frame_time(struct canvas *c, const struct snapshot *s, const struct rank_view *r);

/* Writes the state of a loop as a word in its colour. */
void frame_state(struct canvas *c, const struct step_state *st);

#endif
