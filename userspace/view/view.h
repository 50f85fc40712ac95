/* SPDX-License-Identifier: Apache-2.0 */
/* view.h - output for people during a run: the live view on a terminal, else plain lines. Made only
 * from snapshots and facts. Single-threaded. */
#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "userspace/base/buffer.h"
#include "userspace/model/job/fact.h"
#include "userspace/model/snapshot.h"

/* Writes one frame of the live view: at most `rows` lines of at most `cols` columns (cols >= 80),
 * without trailing spaces and cursor movement. Pure, so that it can be tested. log: the last
 * diagnostic; may be NULL. */
void live_frame(struct buffer *out, const struct snapshot *s, int cols, int rows, bool color,
		const char *log);

struct live; /* owns the terminal: alternate screen, raw keys, resize */
int live_open(struct live **ret, int in_fd, int out_fd);
void live_draw(
	struct live *l,
	const struct snapshot *s); /* one write(2) a frame; unchanged lines are not redrawn */
/* Returns a key; 0: none. Arrows, j and k select a process and are not returned. ^C remains a
 * signal. Never blocks. */
int live_key(struct live *l);
void live_resize(struct live *l);
void live_log(struct live *l, const char *line); /* the last line is shown at the bottom */
void live_close(struct live *l);		 /* restores the terminal, frees l; l may be NULL */

/* Prints lines for a pipe: one for each event (state, checkpoint, disruption, loss), and one every
 * ten seconds for a running loop. */
void plain_fact(FILE *out, const struct fact *f);
/* Like plain_fact(), for a log shared with another program: each line begins with "gp-bpf: ", and
 * of the search for steps only the result is printed. */
void plain_event(FILE *out, const struct fact *f);
void plain_snapshot(FILE *out, const struct snapshot *s);

#endif
