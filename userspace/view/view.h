/* SPDX-License-Identifier: Apache-2.0 */
/* view.h - output for users during a watch: the live view on a terminal, otherwise plain lines.
 * Both are made only from snapshots and facts. Single-threaded. */
#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "userspace/base/buffer.h"
#include "userspace/model/job/fact.h"
#include "userspace/model/snapshot.h"

/* Writes one frame of the live view: at most `rows` lines of at most `cols` columns (cols >= 80),
 * without trailing spaces or cursor movement. Pure, so that it can be tested. log: the last line
 * that was logged; may be NULL. */
void live_frame(struct buffer *out, const struct snapshot *s, int cols, int rows, bool color,
		const char *log);

struct live; /* the live view on a terminal; see terminal.h */
int live_open(struct live **ret, int in_fd, int out_fd);
void live_draw(struct live *l,
	       const struct snapshot
		       *s); /* draws a frame with one write(2); unchanged lines are not redrawn */
/* Returns a pressed key; 0: none. Arrows, j and k select a process and are not returned. ^C remains
 * a signal. Never blocks. */
int live_key(struct live *l);
void live_resize(struct live *l);
/* Shows the line at the bottom of the next frame. */
void live_log(struct live *l, const char *line);
void live_close(struct live *l); /* restores the terminal, frees l; l may be NULL */

/* Write lines for a pipe: one for each event (state, checkpoint, disruption, loss), and one for
 * each running loop every ten seconds. */
void plain_fact(FILE *out, const struct fact *f);
/* Like plain_fact(), for a log that another program also writes to: lines begin with "gp-bpf: ",
 * and only the result of the search for steps is written. */
void plain_event(FILE *out, const struct fact *f);
void plain_snapshot(FILE *out, const struct snapshot *s);

#endif
