/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/utf8.h"

#define LOG_MESSAGE_MAX 1024
#define LOG_LINE_MAX	(2 * LOG_MESSAGE_MAX + 128) /* every byte quoted, and the frame around it */

static struct {
	pthread_mutex_t lock;
	enum log_level max;
	enum log_format format;
	void (*sink)(void *ctx, enum log_level level, const char *line);
	void *ctx;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .max = LOG_INFO};

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

void log_sink(void (*fn)(void *ctx, enum log_level level, const char *line), void *ctx)
{
	pthread_mutex_lock(&state.lock);
	state.sink = fn;
	state.ctx = ctx;
	pthread_mutex_unlock(&state.lock);
}

/* Length of the printable sequence at s, 0 if it is none. */
static size_t log_sequence(const char *s, size_t len)
{
	uint32_t c;
	size_t n = utf8_decode(s, len, &c);

	return n && utf8_columns(c) >= 0 ? n : 0;
}

/* Length of the printable ASCII at s, which is nearly all there is. */
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

/* Both machine formats quote the same way once control characters are gone. */
static void log_quote(char *out, const char *in)
{
	while (*in) {
		if (*in == '"' || *in == '\\')
			*out++ = '\\';
		*out++ = *in++;
	}
	*out = '\0';
}

static void log_line(char *line, size_t len, enum log_level level, const char *message)
{
	char quoted[2 * LOG_MESSAGE_MAX], time[CLOCK_TEXT_MAX];
	bool colour;

	if (state.format == LOG_TEXT) {
		colour = !state.sink && *levels[level].colour && isatty(STDERR_FILENO) &&
			 !getenv("NO_COLOR");
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

static void log_emit(char *line)
{
	size_t len = strlen(line), done = 0;
	ssize_t n;

	line[len++] = '\n';
	while (done < len) {
		n = write(STDERR_FILENO, line + done, len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
}

void log_write(enum log_level level, const char *fmt, ...)
{
	char raw[LOG_MESSAGE_MAX], message[LOG_MESSAGE_MAX], line[LOG_LINE_MAX + 1];
	int saved = errno, len;
	va_list ap;

	va_start(ap, fmt);
	pthread_mutex_lock(&state.lock);
	if (level <= state.max) {
		len = vsnprintf(raw, sizeof(raw), fmt, ap);
		log_escape(message, sizeof(message), raw, len < 0 ? 0 : sizeof(raw));
		log_line(line, LOG_LINE_MAX, level, message);
		if (state.sink)
			state.sink(state.ctx, level, line);
		else
			log_emit(line);
	}
	pthread_mutex_unlock(&state.lock);
	va_end(ap);
	errno = saved;
}
