/* SPDX-License-Identifier: Apache-2.0 */
/* probe_keys.h - where the keys of a probe file stand, which libcyaml does not tell, so that an
 * error found later can name its line. Also the first to see the text: syntax errors are told here.
 */
#ifndef LOADER_PROBE_KEYS_H
#define LOADER_PROBE_KEYS_H

#include <stddef.h>

struct probe_keys; /* opaque */

/* 0, or -EINVAL after logging "PATH:LINE: ...". */
int probe_keys_read(struct probe_keys **ret, const char *path, const char *text, size_t len);
void probe_keys_free(struct probe_keys *k);

/* Line of a key of entry i of the list `probes` (i < 0: of the file). Without such a key, or with
 * NULL: the line on which the entry starts. Never 0. */
size_t probe_keys_line(const struct probe_keys *k, int i, const char *key);
/* Line of the first key of that name after a place; the place's own when there is none. */
size_t probe_keys_line_after(const struct probe_keys *k, const char *key, size_t line,
			     size_t column);

#endif
