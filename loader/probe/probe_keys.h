/* SPDX-License-Identifier: Apache-2.0 */
/* probe_keys.h - line numbers of the keys in a probe file, which libcyaml does not give, so that an
 * error found later can name its line. It parses the text first, so it reports syntax errors. */
#ifndef LOADER_PROBE_KEYS_H
#define LOADER_PROBE_KEYS_H

#include <stddef.h>

struct probe_keys; /* opaque */

/* Returns 0, or -EINVAL after logging "PATH:LINE: ...". */
int probe_keys_read(struct probe_keys **ret, const char *path, const char *text, size_t len);
void probe_keys_free(struct probe_keys *k);

/* Returns the line of a key in entry i of the list `probes` (i < 0: of the file). Without such a
 * key, or with NULL: the line where the entry begins. Never 0. */
size_t probe_keys_line(const struct probe_keys *k, int i, const char *key);
/* Returns the line of the first key of that name after a position; the line of the position when
 * there is none. */
size_t probe_keys_line_after(const struct probe_keys *k, const char *key, size_t line,
			     size_t column);

#endif
