/* SPDX-License-Identifier: Apache-2.0 */
/* live.c - the live view on a terminal, in which the user can select a process. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/view/frame.h"
#include "userspace/view/terminal.h"
#include "userspace/view/view.h"

#define LOG_LINE_MAX 512

struct live {
	struct terminal *terminal;
	/* the user selected the process (pid, start_ns) with the keyboard; it stays selected */
	bool chosen;
	uint32_t pid;
	uint64_t start_ns;
	struct snapshot *shown;
	struct buffer frame;
	char log[LOG_LINE_MAX];
};

int live_open(struct live **ret, int in_fd, int out_fd)
{
	struct live *l = calloc(1, sizeof(*l));
	int err = l ? terminal_open(&l->terminal, in_fd, out_fd) : -ENOMEM;

	if (err) {
		free(l);
		return err;
	}
	*ret = l;
	return 0;
}

static uint32_t live_selected(const struct live *l)
{
	for (uint32_t i = 0; l->chosen && i < l->shown->nranks; i++) {
		if (l->shown->ranks[i].pid == l->pid &&
		    l->shown->ranks[i].start_mono_ns == l->start_ns)
			return i;
	}
	return frame_first(l->shown);
}

static void live_redraw(struct live *l)
{
	struct frame_options o = {terminal_cols(l->terminal), terminal_rows(l->terminal), 0,
				  terminal_color(l->terminal), l->log};

	if (!l->shown)
		return;
	o.selected = live_selected(l);
	buffer_clear(&l->frame);
	frame_draw(&l->frame, l->shown, &o);
	terminal_draw(l->terminal, &l->frame);
}

void live_draw(struct live *l, const struct snapshot *s)
{
	struct snapshot *own = snapshot_ref((struct snapshot *)(uintptr_t)s);

	snapshot_unref(l->shown);
	l->shown = own;
	live_redraw(l);
}

static void live_move(struct live *l, int by)
{
	uint32_t at;

	if (!l->shown || !l->shown->nranks)
		return;
	at = live_selected(l);
	if (by < 0 && at)
		at--;
	else if (by > 0 && at + 1 < l->shown->nranks)
		at++;
	l->chosen = true;
	l->pid = l->shown->ranks[at].pid;
	l->start_ns = l->shown->ranks[at].start_mono_ns;
	live_redraw(l);
}

int live_key(struct live *l)
{
	unsigned char in[64];
	size_t n = terminal_read(l->terminal, in, sizeof(in));
	int key = 0;

	for (size_t i = 0; i < n; i++) {
		if (in[i] == '\033' && i + 2 < n && (in[i + 1] == '[' || in[i + 1] == 'O')) {
			live_move(l, in[i + 2] == 'A' ? -1 : in[i + 2] == 'B' ? 1 : 0);
			i += 2;
		} else if (in[i] == 'k' || in[i] == 'j') {
			live_move(l, in[i] == 'k' ? -1 : 1);
			/* If 'q' was pressed, ignore the keys after it. */
		} else if (key != 'q') {
			key = in[i];
		}
	}
	return key;
}

void live_resize(struct live *l)
{
	terminal_resize(l->terminal);
	live_redraw(l);
}

void live_log(struct live *l, const char *line)
{
	log_escape(l->log, sizeof(l->log), line, strlen(line)); /* the next frame shows this line */
}

void live_close(struct live *l)
{
	if (!l)
		return;
	terminal_close(l->terminal);
	snapshot_unref(l->shown);
	buffer_free(&l->frame);
	free(l);
}
