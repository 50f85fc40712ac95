/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - diagnostics for people and machines, to standard error. Thread-safe. One call, one line:
 * what failed, on what, why, what to do. Text from a watched process must pass through
 * log_escape(). */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_LOGFMT, LOG_JSON };

void log_setup(enum log_level max, enum log_format format);
/* While a terminal shows whole frames, lines for a terminal at standard error wait for
 * log_release(), which writes them: all, or the oldest 32 and the most severe and newest of the
 * others, with a count of the rest. A file or a pipe gets its lines at once. */
void log_hold(void);
void log_release(void);
/* Writes the lines that wait. Async-signal-safe: for a process that crashes, which has left the
 * frames. */
void log_held_write(void);
/* Another destination than standard error; NULL: back. Called with each line, under the log's
 * lock. */
typedef void log_show_fn(void *ctx, enum log_level level, const char *line);
void log_sink(log_show_fn *fn, void *ctx);
/* The same beside the destination; NULL: none. */
void log_show(log_show_fn *fn, void *ctx);
/* fn may write the message anew, under the log's lock; true: it did. */
typedef bool log_name_fn(const char *message, char *out, size_t len);
void log_names(log_name_fn *fn);
void log_write(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)

/* Copies hostile bytes as printable UTF-8: control characters, escapes and invalid sequences become
 * '?'. Stops at NUL or in_len; always terminates. Returns out. */
char *log_escape(char *out, size_t out_len, const char *in, size_t in_len);

/* A descriptor for whole lines of up to PIPE_BUF bytes. A reader that does not read is waited for
 * half a second, then lines are dropped until it does, and a line says how many. */
struct log_pipe {
	int fd;
	bool stalled;
	unsigned lost;
};
void log_pipe_write(struct log_pipe *p, const char *line, size_t len);

#endif
