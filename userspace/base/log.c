/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/file.h"
#include "userspace/base/clock.h"
#include "userspace/base/tty.h"
#include "userspace/base/utf8.h"

#define LOG_MESSAGE_MAX 1024
/* Longest line: a message in which each byte is escaped as two, and time, level and format around
 * it. */
#define LOG_LINE_MAX (2 * LOG_MESSAGE_MAX + 128)
/* If standard error is a pipe or terminal that is not read, wait this long (ms) for its reader;
 * then drop lines. */
#define LOG_WAIT_MS 500
#define LOG_HELD    64 /* most lines that wait while a terminal shows a live view (log_hold()) */
/* When lines that wait must be dropped, this number of the oldest ones is kept */
#define LOG_HELD_FIRST 32

static struct {
	pthread_mutex_t lock;
	enum log_level max;
	enum log_format format;
	bool held;
	log_show_fn *sink, *show;
	void *sink_ctx, *show_ctx;
	log_name_fn *name;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .max = LOG_INFO};

/* Lines that wait for log_release(). Static, because log_held_write() reads them in a signal
 * handler. */
static struct {
	enum log_level level[LOG_HELD];
	char line[LOG_HELD][LOG_LINE_MAX + 1];
	volatile int count;
	unsigned dropped;
} held;

static const struct {
	const char *name, *text, *colour;
} levels[] = {
	[LOG_ERROR] = {"error", "", "\033[31m"},
	[LOG_WARN] = {"warning", "warning: ", "\033[33m"},
	[LOG_INFO] = {"info", "", ""},
	[LOG_DEBUG] = {"debug", "debug: ", "\033[2m"},
};

void log_setup(enum log_level max, enum log_format format)
{
	pthread_mutex_lock(&state.lock);
	state.max = max;
	state.format = format;
	pthread_mutex_unlock(&state.lock);
}

void log_names(log_name_fn *fn)
{
	pthread_mutex_lock(&state.lock);
	state.name = fn;
	pthread_mutex_unlock(&state.lock);
}

void log_sink(log_show_fn *fn, void *ctx)
{
	pthread_mutex_lock(&state.lock);
	state.sink = fn;
	state.sink_ctx = ctx;
	pthread_mutex_unlock(&state.lock);
}

void log_show(log_show_fn *fn, void *ctx)
{
	pthread_mutex_lock(&state.lock);
	state.show = fn;
	state.show_ctx = ctx;
	pthread_mutex_unlock(&state.lock);
}

void log_hold(void)
{
	pthread_mutex_lock(&state.lock);
	state.held = true;
	pthread_mutex_unlock(&state.lock);
}

/* Returns the length of the UTF-8 character at s if it may be printed; 0: it may not. */
static size_t log_sequence(const char *s, size_t len)
{
	uint32_t c;
	size_t n = utf8_decode(s, len, &c);

	return n && utf8_columns(c) >= 0 ? n : 0;
}

/* Returns the length of the printable ASCII text at s. Checked first, because nearly all text is
 * ASCII. */
static size_t log_ascii(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && s[n] >= 0x20 && s[n] < 0x7f)
		n++;
	return n;
}

char *log_escape(char *out, size_t out_len, const char *in, size_t in_len)
{
	size_t n, left, at = 0;

	if (!out_len)
		return out;
	for (size_t i = 0; i < in_len && in[i] && at + 1 < out_len; i += n) {
		left = in_len - i;
		n = log_ascii(in + i, left < out_len - 1 - at ? left : out_len - 1 - at);
		if (!n)
			n = log_sequence(in + i, left);
		if (!n) {
			out[at++] = '?';
			n = 1;
			continue;
		}
		if (at + n >= out_len)
			break;
		memcpy(out + at, in + i, n);
		at += n;
	}
	out[at] = '\0';
	return out;
}

/* Copies a text and escapes quotes and backslashes, as logfmt and JSON require. Control characters
 * were removed before. */
static void log_quote(char *out, const char *in)
{
	while (*in) {
		if (*in == '"' || *in == '\\')
			*out++ = '\\';
		*out++ = *in++;
	}
	*out = '\0';
}

static void log_line(char *line, size_t len, enum log_level level, const char *message, bool colour)
{
	char quoted[2 * LOG_MESSAGE_MAX], time[CLOCK_TEXT_MAX];

	if (state.format == LOG_TEXT) {
		colour = colour && *levels[level].colour && tty_color(STDERR_FILENO);
		snprintf(line, len, "%sgp-bpf: %s%s%s", colour ? levels[level].colour : "",
			 levels[level].text, colour ? "\033[0m" : "", message);
		return;
	}
	log_quote(quoted, message);
	clock_rfc3339(time, clock_real_ns());
	snprintf(line, len,
		 state.format == LOG_JSON ? "{\"time\":\"%s\",\"level\":\"%s\",\"msg\":\"%s\"}"
					  : "time=%s level=%s msg=\"%s\"",
		 time, levels[level].name, quoted);
}

/* Async-signal-safe. */
static bool log_pipe_put(struct log_pipe *p, const char *text, size_t len)
{
	while (len) {
		ssize_t n = file_write_ready(p->fd, text, len, p->stalled ? 0 : LOG_WAIT_MS);

		if (n == -EAGAIN) {
			p->stalled = true;
			return false;
		}
		if (n <= 0)
			return true; /* the descriptor is closed or broken, so lines are dropped */
		text += n;
		len -= (size_t)n;
	}
	p->stalled = false;
	return true;
}

void log_pipe_write(struct log_pipe *p, const char *line, size_t len)
{
	char message[96], text[256];
	size_t at;

	if (p->lost) {
		snprintf(message, sizeof(message),
			 "%s%u line%s dropped here, because the reader did not read",
			 p->fd == STDERR_FILENO ? "standard error: " : "", p->lost,
			 p->lost == 1 ? " was" : "s were");
		log_line(text, sizeof(text) - 1, LOG_WARN, message, false);
		at = strlen(text);
		text[at++] = '\n';
		if (!log_pipe_put(p, text, at)) {
			p->lost++;
			return;
		}
		p->lost = 0;
	}
	if (!log_pipe_put(p, line, len))
		p->lost++;
}

static void log_emit(const char *line)
{
	static struct log_pipe standard_error = {.fd = STDERR_FILENO};
	char text[LOG_LINE_MAX + 1];
	int len = snprintf(text, sizeof(text), "%s\n", line);

	log_pipe_write(&standard_error, text,
		       (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1);
}

/* Returns the index of the waiting line that is dropped for a new one: the least severe, if
 * possible not one of the LOG_HELD_FIRST oldest. */
static int log_victim(void)
{
	int victim = 0;

	for (int i = 1; i < LOG_HELD; i++)
		if (held.level[i] > held.level[victim] ||
		    (victim < LOG_HELD_FIRST && held.level[i] == held.level[victim]))
			victim = i;
	return victim;
}

static void log_keep(enum log_level level, const char *line)
{
	int at = held.count;

	if (at == LOG_HELD) {
		held.dropped++;
		at = log_victim();
		if (level > held.level[at])
			return;
		for (; at + 1 < LOG_HELD; at++) {
			held.level[at] = held.level[at + 1];
			memcpy(held.line[at], held.line[at + 1], sizeof(held.line[at]));
		}
	}
	held.level[at] = level;
	snprintf(held.line[at], sizeof(held.line[at]), "%s", line);
	held.count = at + 1;
}

void log_held_write(void)
{
	struct log_pipe out = {.fd = STDERR_FILENO};

	for (int i = 0; i < held.count; i++)
		if (log_pipe_put(&out, held.line[i], strlen(held.line[i])))
			log_pipe_put(&out, "\n", 1);
	held.count = 0;
}

void log_release(void)
{
	unsigned dropped;

	pthread_mutex_lock(&state.lock);
	state.held = false;
	for (int i = 0; i < held.count; i++)
		log_emit(held.line[i]);
	held.count = 0;
	dropped = held.dropped;
	held.dropped = 0;
	pthread_mutex_unlock(&state.lock);
	if (dropped)
		log_warn(
			"%u more messages were dropped while the live view was shown; to keep all messages, use 2>FILE",
			dropped);
}

/* Writes a line to its destinations. While standard error is a terminal that shows a live view, the
 * line waits, because the view would overwrite it. */
static void log_deliver(enum log_level level, const char *message)
{
	char line[LOG_LINE_MAX];

	log_line(line, sizeof(line), level, message, false);
	if (state.show)
		state.show(state.show_ctx, level, line);
	if (state.sink) {
		state.sink(state.sink_ctx, level, line);
		return;
	}
	log_line(line, sizeof(line), level, message, true);
	if (state.held && isatty(STDERR_FILENO))
		log_keep(level, line);
	else
		log_emit(line);
}

/* Messages may begin with an option. If the user set this option in the configuration file or
 * environment, replaces the option by the name used there. */
static const char *log_named(const char *message, char *out, size_t len)
{
	return state.name && state.name(message, out, len) ? out : message;
}

void log_write(enum log_level level, const char *fmt, ...)
{
	char raw[LOG_MESSAGE_MAX], named[LOG_MESSAGE_MAX], message[LOG_MESSAGE_MAX];
	int saved = errno, len;
	va_list ap;

	va_start(ap, fmt);
	pthread_mutex_lock(&state.lock);
	if (level <= state.max) {
		len = vsnprintf(raw, sizeof(raw), fmt, ap);
		log_escape(message, sizeof(message), log_named(raw, named, sizeof(named)),
			   len < 0 ? 0 : sizeof(raw));
		log_deliver(level, message);
	}
	pthread_mutex_unlock(&state.lock);
	va_end(ap);
	errno = saved;
}
