/* SPDX-License-Identifier: Apache-2.0 */
/* option_origin.c - records the source of each option's value (flag, environment or file), so that
 * messages about the option can name it. */
#include <pthread.h>
#include <string.h>

#include "userspace/base/grow.h"
#include "userspace/base/log.h"
#include "userspace/option/option_row.h"

/* number of bytes of a value that are stored, to find the line of a value that a message quotes */
#define VALUE_MAX 96

struct place { /* the position of a value in the configuration file */
	size_t row;
	int line;
	char value[VALUE_MAX];
};

/* Sources of the values of the options that were parsed last. Protected by lock, because any thread
 * may log. */
static struct {
	pthread_mutex_t lock;
	enum option_origin from[OPTION_ROWS];
	unsigned command;
	char file[512];
	struct place *places;
	uint32_t count, cap;
} origins = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum option_origin option_origin(size_t row)
{
	return origins.from[row];
}

void option_origin_set(size_t row, enum option_origin from)
{
	pthread_mutex_lock(&origins.lock);
	origins.from[row] = from;
	pthread_mutex_unlock(&origins.lock);
}

int option_origin_line(size_t row)
{
	for (uint32_t i = 0; i < origins.count; i++)
		if (origins.places[i].row == row)
			return origins.places[i].line;
	return 0;
}

int option_origin_place(size_t row, const char *file, int line, const char *value)
{
	struct place *places;

	pthread_mutex_lock(&origins.lock);
	places = grow_items(origins.places, &origins.cap, origins.count + 1, UINT32_MAX,
			    sizeof(*places));
	if (places) {
		origins.places = places;
		places += origins.count++;
		*places = (struct place){.row = row, .line = line};
		snprintf(places->value, sizeof(places->value), "%s", value);
		snprintf(origins.file, sizeof(origins.file), "%s", file);
	}
	pthread_mutex_unlock(&origins.lock);
	return places ? 0 : -1;
}

char *option_variable(const struct option_row *r, char out[OPTION_VARIABLE_MAX])
{
	snprintf(out, OPTION_VARIABLE_MAX, "GP_BPF_%s", r->name);
	for (char *p = out; *p; p++)
		*p = *p == '-' ? '_' : *p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p;
	return out;
}

/* Finds the value of an option that a message quotes. text: the message after the option's name.
 * Returns the value that has most bytes in common with the beginning of text, or else one that
 * contains the text up to its first colon, or else the option's first value. */
static const struct place *origin_place_of(size_t row, const char *text)
{
	const struct place *best = NULL;
	char word[VALUE_MAX];
	size_t most = 0;

	text += strspn(text, ": '");
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(text, ":"), text);
	for (uint32_t i = 0; i < origins.count; i++) {
		const struct place *p = &origins.places[i];
		size_t n = 0;

		if (p->row != row)
			continue;
		while (p->value[n] && p->value[n] == text[n])
			n++;
		n = n || !strstr(p->value, word) ? 2 * n + !p->value[n] : 1;
		if (best && n <= most)
			continue;
		best = p;
		most = n;
	}
	return best;
}

/* Writes the source of the value of the option that a message names ("--price: 'x' is..."). Returns
 * false if the message names no option, or if the option was set by a flag. */
static bool option_origin_name_place(const char *message, char *out, size_t len)
{
	char variable[OPTION_VARIABLE_MAX];
	const struct place *p;
	size_t n, row = 0;

	if (strncmp(message, "--", 2) != 0)
		return false;
	message += 2;
	n = strcspn(message, ": ");
	while (row < OPTION_ROWS &&
	       (!(option_rows[row].commands & origins.command) ||
		strncmp(option_rows[row].name, message, n) || option_rows[row].name[n]))
		row++;
	if (row == OPTION_ROWS)
		return false;
	p = origins.from[row] == FROM_FILE ? origin_place_of(row, message + n) : NULL;
	if (p)
		snprintf(out, len, "%s:%d: %s%s", origins.file, p->line, option_rows[row].key,
			 message + n);
	else if (origins.from[row] == FROM_ENVIRONMENT)
		snprintf(out, len, "environment %s%s", option_variable(&option_rows[row], variable),
			 message + n);
	return p || origins.from[row] == FROM_ENVIRONMENT;
}

static bool option_origin_on_message(const char *message, char *out, size_t len)
{
	bool named;

	pthread_mutex_lock(&origins.lock);
	named = option_origin_name_place(message, out, len);
	pthread_mutex_unlock(&origins.lock);
	return named;
}

void option_origin_begin(unsigned command)
{
	pthread_mutex_lock(&origins.lock);
	memset(origins.from, 0, sizeof(origins.from));
	origins.command = command;
	origins.count = 0;
	pthread_mutex_unlock(&origins.lock);
	log_names(option_origin_on_message);
}
