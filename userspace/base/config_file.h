/* SPDX-License-Identifier: Apache-2.0 */
/* config_file.h - a YAML file, flattened: nested mappings become dotted keys, so that a table of
 * keys is all that a reader needs. */
#ifndef BASE_CONFIG_FILE_H
#define BASE_CONFIG_FILE_H

#include <stddef.h>

/* Calls set(ctx, file, line, "steps.marker", value) for each scalar, in order; items of a sequence
 * share their key. A file has a MiB at most. -errno after one line; set() returns -errno to stop,
 * having logged. */
typedef int config_fn(void *ctx, const char *file, int line, const char *key, const char *value);
int config_read(const char *file, config_fn *set, void *ctx);
/* The same of a text; file: what it is called. */
int config_read_text(const char *file, const char *text, size_t len, config_fn *set, void *ctx);
/* The file of --web-config, which may be read at any time: a regular file. config_read(), of
 * --config, waits some seconds for a pipe's writer, too. */
int config_read_again(const char *file, config_fn *set, void *ctx);

#endif
