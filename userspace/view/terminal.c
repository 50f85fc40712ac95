/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/view/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "userspace/base/file.h"
#include "userspace/base/log.h"
#include "userspace/base/tty.h"

/* TERM_ENTER switches to the alternate screen without a cursor; TERM_LEAVE switches back.
 * Between SYNC_BEGIN and SYNC_END (mode 2026) the terminal collects changes, and then shows them
 * at once. */
#define TERM_ENTER "\033[?1049h\033[?25l\033[H\033[2J"
#define TERM_CLEAR "\033[2J"
#define TERM_LEAVE "\033[0m\033[?25h\033[?1049l"
#define SYNC_BEGIN "\033[?2026h"
#define SYNC_END   "\033[?2026l"

/* time limit when the terminal is restored, if it accepts no output (^S, a stuck connection) */
#define LEAVE_WAIT_MS 500

struct terminal {
	int in_fd, out_fd;
	bool keys, color;
	/* The terminal shows the alternate screen. It is entered with the first frame, so that
	 * errors at the start stay visible. */
	bool entered;
	bool clear; /* erase the screen before the next frame */
	struct termios before;
	int cols, rows;
	struct buffer screen, out; /* screen: the lines that the terminal shows now */
};

static void terminal_size(struct terminal *t)
{
	struct winsize w;

	t->cols = 80;
	t->rows = 24;
	if (ioctl(t->out_fd, TIOCGWINSZ, &w) || !w.ws_col || !w.ws_row)
		return;
	t->cols = w.ws_col;
	t->rows = w.ws_row;
}

/* Returns true if the process is in the foreground. In the background, the kernel stops a process
 * that sets or reads the terminal. */
static bool terminal_foreground(const struct terminal *t)
{
	return isatty(t->in_fd) && tcgetpgrp(t->in_fd) == getpgrp();
}

/* Sets the terminal to return single keys without echo. ^C remains a signal, because it must also
 * reach the job of `run`. ^Z is disabled, because it would leave the terminal in the alternate
 * screen. */
static void terminal_raw(struct terminal *t)
{
	struct termios raw;

	if (!terminal_foreground(t) || tcgetattr(t->in_fd, &t->before))
		return;
	raw = t->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	raw.c_cc[VSUSP] = _POSIX_VDISABLE;
	t->keys = !tcsetattr(t->in_fd, TCSANOW, &raw);
}

static void terminal_write(struct terminal *t, const char *data, size_t len)
{
	/* An error needs no handling: if the terminal is gone, SIGHUP ends the process. */
	file_write_all(t->out_fd, data, len);
}

/* Waits up to wait_ms until the terminal accepts output; returns true if it does.
 * Async-signal-safe. */
static bool terminal_ready(const struct terminal *t, int wait_ms)
{
	struct pollfd p = {.fd = t->out_fd, .events = POLLOUT};

	return poll(&p, 1, wait_ms) > 0;
}

/* Restores the terminal. Async-signal-safe. Resumes output stopped by ^S, because the terminal
 * would otherwise stay in the alternate screen. */
static void terminal_leave(struct terminal *t)
{
	bool ready = !t->entered || terminal_ready(t, LEAVE_WAIT_MS);

	if (!ready && terminal_foreground(t))
		tcflow(t->out_fd, TCOON);
	if (t->entered && (ready || terminal_ready(t, 0)))
		terminal_write(t, TERM_LEAVE, strlen(TERM_LEAVE));
	if (t->keys)
		tcsetattr(t->in_fd, TCSANOW, &t->before);
}

/* Signals of a crash, after which the terminal is restored and waiting log lines are written. */
static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define CRASHES (sizeof(crashes) / sizeof(crashes[0]))
static struct sigaction crash_before[CRASHES];
static struct terminal *crash_terminal;
static pid_t crash_pid; /* process that opened the terminal; 0: none */
/* stack for the signal handler, which must also work after a stack overflow */
static char crash_stack[64 << 10];
static stack_t crash_stack_before;

static void terminal_on_crash(int signo)
{
	/* A helper process, which inherits the handler, must not touch the terminal. */
	if (getpid() == crash_pid) {
		terminal_leave(crash_terminal);
		log_held_write();
	}
	for (size_t i = 0; i < CRASHES; i++)
		sigaction(crashes[i], &crash_before[i], NULL);
	raise(signo); /* end the process as if there were no handler, with a core dump if enabled */
}

/* Installs a handler that restores t after a crash; t NULL: removes the handler. */
static void terminal_crash_watch(struct terminal *t)
{
	const struct sigaction watch = {.sa_handler = terminal_on_crash, .sa_flags = SA_ONSTACK};
	const stack_t stack = {.ss_sp = crash_stack, .ss_size = sizeof(crash_stack)};

	sigaltstack(t ? &stack : &crash_stack_before, t ? &crash_stack_before : NULL);
	crash_terminal = t;
	crash_pid = t ? getpid() : 0;
	for (size_t i = 0; i < CRASHES; i++)
		sigaction(crashes[i], t ? &watch : &crash_before[i], t ? &crash_before[i] : NULL);
}

/* Gets the line at offset *at and advances *at; returns the length of the line. After the last
 * line, lines are empty. */
static size_t terminal_next_line(const struct buffer *b, size_t *at, const char **ret_line)
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

static void terminal_difference(struct terminal *t, const struct buffer *frame)
{
	size_t at_new = 0, at_old = 0;

	for (int row = 1; row <= t->rows; row++) {
		const char *fresh, *stale;
		size_t n = terminal_next_line(frame, &at_new, &fresh);
		size_t m = terminal_next_line(&t->screen, &at_old, &stale);

		if (n == m && !memcmp(fresh, stale, n))
			continue;
		/* Erase before writing: after a line as wide as the terminal, erasing would remove
		 * its last column. */
		buffer_printf(&t->out, "\033[%d;1H\033[K", row);
		buffer_add(&t->out, fresh, n);
	}
}

int terminal_open(struct terminal **ret, int in_fd, int out_fd)
{
	struct terminal *t;

	if (!tty_escapes(out_fd)) {
		log_error(
			"the live view needs a terminal, and TERM must be set to a type other than \"dumb\"");
		return -ENOTTY;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->in_fd = in_fd;
	t->out_fd = out_fd;
	t->color = tty_color(out_fd);
	terminal_size(t);
	terminal_crash_watch(t);
	*ret = t;
	return 0;
}

int terminal_cols(const struct terminal *t)
{
	return t->cols;
}

int terminal_rows(const struct terminal *t)
{
	return t->rows;
}

bool terminal_color(const struct terminal *t)
{
	return t->color;
}

void terminal_draw(struct terminal *t, const struct buffer *frame)
{
	/* Skip the frame if the terminal accepts no output (^S), so that the watch continues. */
	if (frame->failed || !terminal_ready(t, 0))
		return;
	buffer_clear(&t->out);
	buffer_add(&t->out, SYNC_BEGIN, strlen(SYNC_BEGIN));
	if (t->clear)
		buffer_add(&t->out, TERM_CLEAR, strlen(TERM_CLEAR));
	terminal_difference(t, frame);
	if (t->out.failed || t->out.len == strlen(SYNC_BEGIN))
		return;
	if (!t->entered) {
		log_hold();
		t->entered = true;
		terminal_raw(t);
		terminal_write(t, TERM_ENTER, strlen(TERM_ENTER));
	}
	buffer_add(&t->out, SYNC_END, strlen(SYNC_END));
	if (t->out.failed)
		return;
	terminal_write(t, t->out.data, t->out.len);
	t->clear = false;
	buffer_clear(&t->screen);
	if (frame->data)
		buffer_add(&t->screen, frame->data, frame->len);
}

void terminal_resize(struct terminal *t)
{
	terminal_size(t);
	buffer_clear(&t->screen);
	t->clear = true;
}

size_t terminal_read(struct terminal *t, unsigned char *out, size_t len)
{
	struct pollfd p = {.fd = t->in_fd, .events = POLLIN};
	ssize_t n = 0;

	if (t->keys || (!t->entered && terminal_foreground(t) && poll(&p, 1, 0) > 0))
		n = read(t->in_fd, out, len);

	return n > 0 ? (size_t)n : 0;
}

void terminal_close(struct terminal *t)
{
	if (!t)
		return;
	terminal_crash_watch(NULL);
	terminal_leave(t);
	log_release();
	buffer_free(&t->screen);
	buffer_free(&t->out);
	free(t);
}
