/* SPDX-License-Identifier: Apache-2.0 */
/* bundle_mask_config.c - masks the output of --print-config, line by line. */
#include <string.h>

#include "userspace/command/bundle_mask.h"

/* Settings that contain text of the user, or commands with arguments. */
static const char *const hidden_settings[] = {"hooks", "exclude"};
static const char *const name_settings[] = {"allow",	 "deny",    "hook_user", "project",
					    "node_name", "cluster", "perf_tag",	 "session_tag"};

static bool config_is_of(const char *const *keys, size_t n, const char *key, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(keys[i]) == len && !memcmp(keys[i], key, len))
			return true;
	return false;
}

/* Returns the length of the line up to the end of its value. Two spaces and '#' end the value, if a
 * note about its origin ("flag") follows. */
static size_t config_value_end(const char *line, size_t from, size_t len)
{
	for (size_t i = len; i > from + 2; i--)
		if (line[i - 1] == '#' && line[i - 2] == ' ' && line[i - 3] == ' ')
			return i - 3;
	return len;
}

/* Masks one line: a key with its value, or an item of a list, which belongs to the key before.
 * Either may end in a note about its origin. */
static size_t config_line(struct mask *m, struct buffer *out, const char *line, size_t len,
			  const char **ret_key, size_t *ret_key_len)
{
	size_t at = strspn(line, "# "), end, masked;
	bool item = at + 1 < len && line[at] == '-' && line[at + 1] == ' ', quotes;

	if (!item && *line == '#')
		return mask_text(m, out, line, len);
	if (item) {
		at += 2;
	} else {
		*ret_key = line + at;
		*ret_key_len = strcspn(line + at, ":\n");
		at += *ret_key_len + 1;
		at += at < len && line[at] == ' ';
	}
	end = at < len ? config_value_end(line, at, len) : len;
	if (at >= end)
		return mask_text(m, out, line, len);
	quotes = end > at + 1 && line[at] == '"' && line[end - 1] == '"';
	buffer_add(out, line, at);
	if (config_is_of(hidden_settings, sizeof(hidden_settings) / sizeof(hidden_settings[0]),
			 *ret_key, *ret_key_len)) {
		buffer_add(out, MASKED, strlen(MASKED));
		masked = 1;
	} else if (config_is_of(name_settings, sizeof(name_settings) / sizeof(name_settings[0]),
				*ret_key, *ret_key_len)) {
		masked = mask_name(m, out, line + at + quotes, end - at - 2 * quotes);
	} else {
		masked = mask_text(m, out, line + at, end - at);
	}
	buffer_add(out, line + end, len - end);
	return masked;
}

size_t mask_config(struct mask *m, struct buffer *out, const char *text, size_t len)
{
	const char *key = "";
	size_t masked = 0, key_len = 0;

	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;

		masked += config_line(m, out, text, n, &key, &key_len);
		buffer_add(out, "\n", 1);
		n += end != NULL;
		text += n;
		len -= n;
	}
	return masked;
}
