/* SPDX-License-Identifier: Apache-2.0 */
/* config_file.h - reads a YAML file as dotted keys: nested mappings are flattened, so that a reader
 * needs only a table of keys. */
#ifndef BASE_CONFIG_FILE_H
#define BASE_CONFIG_FILE_H

#include <stddef.h>

/* Calls set(ctx, file, line, "steps.marker", value) for each scalar, in order; the items of a
 * sequence share their key. A file may have up to 1 MiB. Returns 0, or -errno after one logged
 * line; set() returns -errno to stop, having logged. */
typedef int config_fn(void *ctx, const char *file, int line, const char *key, const char *value);
int config_read(const char *file, config_fn *set, void *ctx);
/* Like config_read(), for a text in memory; file: the name used in messages. */
int config_read_text(const char *file, const char *text, size_t len, config_fn *set, void *ctx);
/* Like config_read(), for a file that may be read again at any time (--web-config): it must be a
 * regular file. config_read() also waits some seconds for the writer of a pipe (--config). */
int config_read_again(const char *file, config_fn *set, void *ctx);

#endif
