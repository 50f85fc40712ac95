/* SPDX-License-Identifier: Apache-2.0 */
/* top.c - runs gp-bpf top on a terminal: shows frames and reads keys. */
#include "userspace/view/top.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "userspace/base/tty.h"
#include "userspace/view/terminal.h"

#define ONCE_COLS 120 /* width of a frame that is written to a file or a pipe */

struct top {
	struct terminal *terminal;
	struct top_ui ui;
	struct top_state state;
	bool any; /* at least one state was shown */
	struct buffer frame;
};

static void top_redraw(struct top *t)
{
	struct top_frame_options o = {terminal_cols(t->terminal), terminal_rows(t->terminal),
				      terminal_color(t->terminal)};

	buffer_clear(&t->frame);
	top_frame(&t->frame, &t->state, &t->ui, &o);
	terminal_draw(t->terminal, &t->frame);
}

const struct top_frame_options *top_once_options(void)
{
	static struct top_frame_options o;
	int cols = tty_cols(STDOUT_FILENO);

	o = (struct top_frame_options){.cols = cols ? cols : ONCE_COLS,
				       .color = tty_color(STDOUT_FILENO)};
	return &o;
}

int top_open(struct top **ret, const struct top_ui *ui, int in_fd, int out_fd)
{
	struct top *t = calloc(1, sizeof(*t));
	int err = t ? terminal_open(&t->terminal, in_fd, out_fd) : -ENOMEM;

	if (err) {
		free(t);
		return err;
	}
	t->ui = *ui;
	*ret = t;
	return 0;
}

void top_show(struct top *t, struct top_state *s)
{
	if (s) {
		top_state_free(&t->state);
		t->state = *s;
		*s = (struct top_state){0};
		t->any = true;
	}
	top_redraw(t);
}

void top_note(struct top *t, bool bad, const char *text)
{
	top_ui_note(&t->ui, bad, text);
}

int top_key(struct top *t)
{
	unsigned char in[64];
	size_t n = terminal_read(t->terminal, in, sizeof(in));

	if (!n)
		return 0;
	if (top_ui_keys(&t->ui, t->any ? &t->state : NULL, in, n))
		return 'q';
	top_redraw(t);
	return 0;
}

void top_resize(struct top *t)
{
	terminal_resize(t->terminal);
	top_redraw(t);
}

void top_close(struct top *t)
{
	if (!t)
		return;
	terminal_close(t->terminal);
	top_state_free(&t->state);
	buffer_free(&t->frame);
	free(t);
}
