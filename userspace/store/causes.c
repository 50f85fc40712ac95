/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/store/causes.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/log.h"

#define DIGITS_MAX 18 /* digits of a number that is read; a step never loses more than 31 years */

const char *causes_write(char out[CAUSES_TEXT_MAX], const struct time_causes *l)
{
	char line[LINES_TEXT_MAX];
	size_t at = 0;

	*out = '\0';
	for (int i = 0; l && l->lost_ns && i < TIME_CAUSE_COUNT; i++) {
		const char *of = time_causes_line(l, (enum time_cause)i);

		if (!l->ns[i])
			continue;
		log_escape(line, sizeof(line), of, strlen(of));
		at += (size_t)snprintf(out + at, CAUSES_TEXT_MAX - at, "%s %llu%s%s\n",
				       time_cause_name[i], (unsigned long long)l->ns[i],
				       *line ? " " : "", line);
	}
	return out;
}

static enum time_cause causes_find(const char *name, size_t len)
{
	for (int i = 0; i < TIME_CAUSE_COUNT; i++)
		if (strlen(time_cause_name[i]) == len && !memcmp(time_cause_name[i], name, len))
			return (enum time_cause)i;
	return TIME_CAUSE_unknown;
}

/* Reads digits. Returns their number; 0: there are none, or too many. */
static size_t causes_number(const char *text, size_t len, uint64_t *ret)
{
	size_t n = 0;

	*ret = 0;
	while (n < len && text[n] >= '0' && text[n] <= '9') {
		if (n == DIGITS_MAX)
			return 0;
		*ret = *ret * 10 + (uint64_t)(text[n++] - '0');
	}
	return n;
}

static void causes_line_set(struct time_causes *ret, enum time_cause c, const char *line,
			    size_t len)
{
	char *to = time_causes_line_of(ret, c);

	if (to)
		log_escape(to, LINES_TEXT_MAX, line, len);
}

/* Reads one line. Returns false if it is damaged. */
static bool causes_read_line(struct time_causes *ret, const char *text, size_t len)
{
	const char *blank = memchr(text, ' ', len);
	size_t at = blank ? (size_t)(blank - text) : 0, digits;
	enum time_cause c;
	uint64_t ns;

	if (!at)
		return false;
	c = causes_find(text, at);
	digits = causes_number(text + at + 1, len - at - 1, &ns);
	at += 1 + digits;
	if (!digits || (at < len && text[at] != ' '))
		return false;
	ret->ns[c] += ns;
	ret->lost_ns += ns;
	if (at < len)
		causes_line_set(ret, c, text + at + 1, len - at - 1);
	return true;
}

void causes_read(struct time_causes *ret, const char *text, size_t len)
{
	int lines = 0;

	*ret = (struct time_causes){0};
	for (size_t at = 0, n; at < len; at += n + 1) {
		const char *end = memchr(text + at, '\n', len - at);

		n = end ? (size_t)(end - text) - at : len - at;
		/* the sum of this many numbers cannot overflow */
		if (lines++ == TIME_CAUSE_COUNT || !causes_read_line(ret, text + at, n)) {
			*ret = (struct time_causes){0};
			return;
		}
	}
}
