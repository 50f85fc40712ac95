/* SPDX-License-Identifier: Apache-2.0 */
/* config_file.h - reads a YAML file as a list of dotted keys and values: a key `marker` in a
 * mapping `steps` becomes "steps.marker", so that the reader needs only a flat table of keys. */
#ifndef BASE_CONFIG_FILE_H
#define BASE_CONFIG_FILE_H

#include <stddef.h>

/* Calls set(ctx, file, line, "steps.marker", value) for each scalar, in order; the items of a
 * sequence share their key. A file may have up to 1 MiB. Returns 0, or -errno after logging the
 * reason. set() may stop the reading: it logs the reason and returns -errno. */
typedef int config_fn(void *ctx, const char *file, int line, const char *key, const char *value);
int config_read(const char *file, config_fn *set, void *ctx);
/* Reads a text in memory as config_read() reads a file. file: the name used in messages. */
int config_read_text(const char *file, const char *text, size_t len, config_fn *set, void *ctx);
/* Reads a file as config_read() does, but accepts a regular file only, because it may be read again
 * at any time (--web-config). config_read() also accepts a pipe, and waits some seconds for its
 * writer (--config). */
int config_read_again(const char *file, config_fn *set, void *ctx);

#endif
