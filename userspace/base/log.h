/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - writes diagnostic lines to standard error, for people or machines. Thread-safe. Each call
 * logs one line: object, what failed, reason, what to do. Text from a watched process must pass
 * through log_escape() before. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_LOGFMT, LOG_JSON };

void log_setup(enum log_level max, enum log_format format);
/* log_hold(): from now on, keeps lines in memory if standard error is a terminal, because a live
 * view is shown on it. log_release(): writes these lines. If there were too many, it writes only
 * the oldest 32, the newest and most severe of the others, and the number of the rest. */
void log_hold(void);
void log_release(void);
/* Writes the lines that log_hold() keeps. Async-signal-safe: for a crash handler, after the live
 * view was removed from the terminal. */
void log_held_write(void);
/* Sends lines to fn instead of standard error; NULL: to standard error again. fn is called with the
 * log's lock held. */
typedef void log_show_fn(void *ctx, enum log_level level, const char *line);
void log_sink(log_show_fn *fn, void *ctx);
/* Also sends each line to fn; NULL: no longer. */
void log_show(log_show_fn *fn, void *ctx);
/* Sets a function that may replace a message by another text; then it returns true. It is called
 * with the log's lock held. */
typedef bool log_name_fn(const char *message, char *out, size_t len);
void log_names(log_name_fn *fn);
void log_write(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)

/* Copies text that may come from an attacker as printable UTF-8: control characters, escape
 * sequences and invalid bytes become '?'. Stops at NUL or in_len; always terminates out. Returns
 * out. */
char *log_escape(char *out, size_t out_len, const char *in, size_t in_len);

/* Writes whole lines, each of up to PIPE_BUF bytes, to a descriptor. If it is not read for half a
 * second, lines are dropped until it is read again; then a line reports their number. */
struct log_pipe {
	int fd;
	bool stalled;
	unsigned lost;
};
void log_pipe_write(struct log_pipe *p, const char *line, size_t len);

#endif
