/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - diagnostics on standard error, for people or machines. Thread-safe. Each call logs one
 * line: object, what failed, reason, what to do. Text from a watched process must pass through
 * log_escape(). */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_LOGFMT, LOG_JSON };

void log_setup(enum log_level max, enum log_format format);
/* While a terminal shows whole frames, lines for this terminal wait for log_release(), which writes
 * all lines, or the oldest 32 and the newest and most severe others with a count of the rest. Lines
 * for a file or a pipe are written at once. */
void log_hold(void);
void log_release(void);
/* Writes the waiting lines. Async-signal-safe: for a crash handler, after the terminal shows its
 * normal screen again. */
void log_held_write(void);
/* Sends lines to fn instead of standard error; NULL: back to standard error. fn is called under the
 * log's lock. */
typedef void log_show_fn(void *ctx, enum log_level level, const char *line);
void log_sink(log_show_fn *fn, void *ctx);
/* Sends lines to fn in addition to the destination; NULL: stops this. */
void log_show(log_show_fn *fn, void *ctx);
/* fn may replace the message and then returns true. Called under the log's lock. */
typedef bool log_name_fn(const char *message, char *out, size_t len);
void log_names(log_name_fn *fn);
void log_write(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)

/* Copies hostile bytes as printable UTF-8: control characters, escape sequences and invalid bytes
 * become '?'. Stops at NUL or in_len; always terminates. Returns out. */
char *log_escape(char *out, size_t out_len, const char *in, size_t in_len);

/* Writes whole lines of up to PIPE_BUF bytes to a descriptor. Waits half a second for a reader;
 * then lines are dropped until it reads again, and a line reports their number. */
struct log_pipe {
	int fd;
	bool stalled;
	unsigned lost;
};
void log_pipe_write(struct log_pipe *p, const char *line, size_t len);

#endif
