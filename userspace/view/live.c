/* SPDX-License-Identifier: Apache-2.0 */
/* The live view's terminal: whole frames, of which only changed lines are written. */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "userspace/base/log.h"
#include "userspace/view/frame.h"
#include "userspace/view/view.h"

/* Alternate screen, no cursor; and back. 2026: the terminal shows what lies between at once. */
#define TERM_ENTER "\033[?1049h\033[?25l\033[H\033[2J"
#define TERM_LEAVE "\033[0m\033[?25h\033[?1049l"
#define SYNC_BEGIN "\033[?2026h"
#define SYNC_END   "\033[?2026l"

#define LOG_LINE_MAX 512

struct live {
	int in_fd, out_fd;
	bool open, keys, color;
	struct termios before;
	int cols, rows;
	bool chosen; /* by a key: stays with that process */
	uint32_t pid;
	uint64_t start_ns;
	struct snapshot *shown;
	struct buffer frame, screen, out; /* screen: what the terminal shows now */
	char log[LOG_LINE_MAX];
};

static void live_size(struct live *l)
{
	struct winsize w;

	l->cols = 80;
	l->rows = 24;
	if (ioctl(l->out_fd, TIOCGWINSZ, &w) || !w.ws_col || !w.ws_row)
		return;
	l->cols = w.ws_col;
	l->rows = w.ws_row;
}

/* Keys one by one, unechoed. ^C stays a signal: it is as much for the job of `run` as for us. ^Z would
 * leave the terminal in the alternate screen. */
static void live_raw(struct live *l)
{
	struct termios t;

	/* From the background, setting a terminal stops the process. */
	if (!isatty(l->in_fd) || tcgetpgrp(l->in_fd) != getpgrp() || tcgetattr(l->in_fd, &l->before))
		return;
	t = l->before;
	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	t.c_cc[VMIN] = 0;
	t.c_cc[VTIME] = 0;
	t.c_cc[VSUSP] = _POSIX_VDISABLE;
	l->keys = !tcsetattr(l->in_fd, TCSANOW, &t);
}

static void live_write(struct live *l, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(l->out_fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* a terminal that is gone ends us by SIGHUP */
		data += n;
		len -= (size_t)n;
	}
}

int live_open(struct live **ret, int in_fd, int out_fd)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	struct live *l;

	if (!isatty(out_fd)) {
		log_error("the live view needs a terminal");
		return -ENOTTY;
	}
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->in_fd = in_fd;
	l->out_fd = out_fd;
	l->color = !(no_color && *no_color) && !(term && !strcmp(term, "dumb"));
	live_raw(l);
	live_size(l);
	live_write(l, TERM_ENTER, strlen(TERM_ENTER));
	l->open = true;
	*ret = l;
	return 0;
}

/* Takes the next line off *at; its length. Past the end: empty lines. */
static size_t live_next_line(const struct buffer *b, size_t *at, const char **ret_line)
{
	const char *end;
	size_t len;

	*ret_line = "";
	if (!b->data || *at >= b->len)
		return 0;
	*ret_line = b->data + *at;
	end = memchr(*ret_line, '\n', b->len - *at);
	len = end ? (size_t)(end - *ret_line) : b->len - *at;
	*at += len + 1;
	return len;
}

static void live_difference(struct live *l)
{
	size_t at_new = 0, at_old = 0;

	for (int row = 1; row <= l->rows; row++) {
		const char *fresh, *stale;
		size_t n = live_next_line(&l->frame, &at_new, &fresh);
		size_t m = live_next_line(&l->screen, &at_old, &stale);

		if (n == m && !memcmp(fresh, stale, n))
			continue;
		/* Erased first: behind a line that is full, the erase would take its last column. */
		buffer_printf(&l->out, "\033[%d;1H\033[K", row);
		buffer_add(&l->out, fresh, n);
	}
}

static uint32_t live_selected(const struct live *l)
{
	for (uint32_t i = 0; l->chosen && i < l->shown->nranks; i++) {
		if (l->shown->ranks[i].pid == l->pid && l->shown->ranks[i].start_mono_ns == l->start_ns)
			return i;
	}
	return frame_first(l->shown);
}

static void live_redraw(struct live *l)
{
	struct frame_options o = {l->cols, l->rows, 0, l->color, l->log};
	struct pollfd p = {.fd = l->out_fd, .events = POLLOUT};
	struct buffer swap;

	/* A terminal that is held (^S) must not hold up the observation. */
	if (!l->open || !l->shown || poll(&p, 1, 0) <= 0)
		return;
	o.selected = live_selected(l);
	buffer_clear(&l->frame);
	frame_draw(&l->frame, l->shown, &o);
	buffer_clear(&l->out);
	buffer_add(&l->out, SYNC_BEGIN, strlen(SYNC_BEGIN));
	live_difference(l);
	if (l->frame.failed || l->out.failed || l->out.len == strlen(SYNC_BEGIN))
		return;
	buffer_add(&l->out, SYNC_END, strlen(SYNC_END));
	if (l->out.failed)
		return;
	live_write(l, l->out.data, l->out.len);
	swap = l->screen;
	l->screen = l->frame;
	l->frame = swap;
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
	int key = 0;
	ssize_t n;

	if (!l->keys)
		return 0;
	n = read(l->in_fd, in, sizeof(in));
	for (ssize_t i = 0; i < n; i++) {
		if (in[i] == '\033' && i + 2 < n && (in[i + 1] == '[' || in[i + 1] == 'O')) {
			live_move(l, in[i + 2] == 'A' ? -1 : in[i + 2] == 'B' ? 1 : 0);
			i += 2;
		} else if (in[i] == 'k' || in[i] == 'j') {
			live_move(l, in[i] == 'k' ? -1 : 1);
		} else if (key != 'q') { /* typed ahead of other keys, it still ends */
			key = in[i];
		}
	}
	return key;
}

void live_resize(struct live *l)
{
	live_size(l);
	buffer_clear(&l->screen);
	live_write(l, "\033[2J", 4);
	live_redraw(l);
}

void live_log(struct live *l, const char *line)
{
	log_escape(l->log, sizeof(l->log), line, strlen(line)); /* shown with the next frame */
}

void live_close(struct live *l)
{
	if (!l || !l->open)
		return;
	l->open = false;
	live_write(l, TERM_LEAVE, strlen(TERM_LEAVE));
	if (l->keys)
		tcsetattr(l->in_fd, TCSANOW, &l->before);
	snapshot_unref(l->shown);
	buffer_free(&l->frame);
	buffer_free(&l->screen);
	buffer_free(&l->out);
	free(l);
}
