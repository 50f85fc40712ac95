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
/* Another destination than standard error (the live view keeps the last lines itself); NULL: back.
 */
void log_sink(void (*fn)(void *ctx, enum log_level level, const char *line), void *ctx);
void log_write(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)

/* Copies hostile bytes as printable UTF-8: control characters, escapes and invalid sequences become
 * '?'. Stops at NUL or in_len; always terminates. Returns out. */
char *log_escape(char *out, size_t out_len, const char *in, size_t in_len);

#endif
