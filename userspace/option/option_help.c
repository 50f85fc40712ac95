/* SPDX-License-Identifier: Apache-2.0 */
/* option_help.c - prints --help, and suggests names for mistyped commands and options. */
#include "userspace/option/option_help.h"

#include <string.h>
#include <unistd.h>

#include "userspace/base/log.h"
#include "userspace/base/tty.h"
#include "userspace/option/option_row.h"

#define HELP_COLS     80
#define HELP_COLS_MIN 50
#define HELP_LEFT     28 /* width of the column with option names, left of the help texts */
#define WORD_MAX      40 /* limit in bytes of words for which a similar name is searched */

/* ---- --help ---------------------------------------------------------------------------------- */

const char *option_command_help(unsigned command)
{
	static char text[32];

	for (int i = 1; i < COMMANDS; i++) {
		if (command_rows[i].bit == command) {
			snprintf(text, sizeof(text), "%s --help", command_rows[i].name);
			return text;
		}
	}
	return "--pid PID --help";
}

bool option_takes_word(const struct option_row *r)
{
	return r->arg && *r->arg != '[';
}

/* Writes a help text in the columns from HELP_LEFT to cols. */
static void help_put_wrapped(FILE *out, const char *text, int cols)
{
	int room = cols - HELP_LEFT;

	while (*text) {
		size_t len = strlen(text), next = len;

		if (len > (size_t)room) {
			for (len = (size_t)room; len && text[len] != ' '; len--)
				;
			if (!len)
				len = strcspn(text, " ");
			next = len + strspn(text + len, " ");
		}
		fprintf(out, "%.*s\n", (int)len, text);
		text += next;
		if (*text)
			fprintf(out, "%*s", HELP_LEFT, "");
	}
}

static void help_put_row(FILE *out, const struct option_row *r, int cols)
{
	char left[48];
	int n = snprintf(left, sizeof(left), "  %s--%s%s%s",
			 r->letter ? (char[]){'-', r->letter, ',', ' ', 0} : "    ", r->name,
			 option_takes_word(r) ? " " : "", r->arg ? r->arg : "");

	fputs(left, out);
	if (n > HELP_LEFT - 2)
		fprintf(out, "\n%*s", HELP_LEFT, "");
	else
		fprintf(out, "%*s", HELP_LEFT - n, "");
	help_put_wrapped(out, option_row_help(r), cols);
}

void options_help(FILE *out, unsigned command, bool all)
{
	static const char *const title[OPTION_GROUPS] = {[OPTION_WATCH] = "what to watch",
							 [OPTION_OUTPUT] = "output",
							 [OPTION_JOB] = "job",
							 [OPTION_ACCOUNTING] = "accounting",
							 [OPTION_SERVICE] = "service",
							 [OPTION_ADVANCED] = "advanced"};
	int cols = tty_cols(fileno(out)), hidden = 0;

	cols = !cols ? HELP_COLS : cols < HELP_COLS_MIN ? HELP_COLS_MIN : cols;
	for (int i = 0; i < COMMANDS; i++)
		if (command_rows[i].bit == command)
			fprintf(out, "usage: gp-bpf %s %s\n\n%s\n", command_rows[i].name,
				command_rows[i].args, command_rows[i].help);
	for (unsigned group = 0; group < OPTION_GROUPS; group++) {
		bool any = false;

		for (size_t i = 0; i < OPTION_ROWS; i++) {
			const struct option_row *r = &option_rows[i];

			if (!(r->commands & command) || (r->group & ~OPTION_COMMON) != group)
				continue;
			if (!all && !(r->group & OPTION_COMMON)) {
				hidden++;
				continue;
			}
			if (!any)
				fprintf(out, "\n%s:\n", title[group]);
			any = true;
			help_put_row(out, r, cols);
		}
	}
	if (hidden)
		fprintf(out, "\n%d more options: gp-bpf %s=all\n", hidden,
			option_command_help(command));
}

void options_help_commands(FILE *out)
{
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  gp-bpf %s %s\n%*s%s\n", command_rows[i].name, command_rows[i].args,
			HELP_LEFT, "", command_rows[i].help);
}

/* ---- suggestions ----------------------------------------------------------------------------- */

static size_t help_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Returns the distance of two words: how many letters must be inserted, removed, replaced, or
 * exchanged with their neighbour, to change a to b (optimal string alignment distance). */
static size_t help_distance(const char *a, size_t a_len, const char *b)
{
	size_t row[3][WORD_MAX + 1], b_len = strlen(b), *before = row[0], *last = row[1],
				     *now = row[2], *free_row;

	if (a_len > WORD_MAX || b_len > WORD_MAX)
		return SIZE_MAX;
	for (size_t k = 0; k <= b_len; k++)
		last[k] = k;
	for (size_t i = 1; i <= a_len; i++) {
		now[0] = i;
		for (size_t k = 1; k <= b_len; k++) {
			now[k] = help_min(help_min(last[k], now[k - 1]) + 1,
					  last[k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				now[k] = help_min(now[k], before[k - 2] + 1);
		}
		free_row = before;
		before = last;
		last = now;
		now = free_row;
	}
	return last[b_len];
}

/* the name most similar to a mistyped word; NULL: none is similar */
struct nearest {
	const char *name;
	size_t distance;
};

static void help_consider(struct nearest *n, const char *word, size_t len, const char *name)
{
	size_t distance = help_distance(word, len, name), most = len < 5 ? 1 : len < 9 ? 2 : 3;

	if (distance <= most && (!n->name || distance < n->distance))
		*n = (struct nearest){name, distance};
}

void option_unknown(unsigned command, const char *word)
{
	const char *name = word + strspn(word, "-"), *help = option_command_help(command);
	size_t len = strcspn(name, "=");
	struct nearest near = {0};

	for (size_t i = 0; i < OPTION_ROWS; i++)
		if (option_rows[i].commands & command)
			help_consider(&near, name, len, option_rows[i].name);
	if (near.name) {
		log_error("unknown option %s; did you mean --%s? See gp-bpf %s", word, near.name,
			  help);
		return;
	}
	for (size_t i = 0; i < OPTION_ROWS; i++) {
		if (strncmp(option_rows[i].name, name, len) != 0 || option_rows[i].name[len])
			continue;
		for (int k = 0; k < COMMANDS; k++) {
			if (!(option_rows[i].commands & command_rows[k].bit))
				continue;
			log_error("unknown option %s; it is an option of gp-bpf %s, see gp-bpf %s",
				  word, command_rows[k].name, help);
			return;
		}
	}
	log_error("unknown option %s; see gp-bpf %s", word, help);
}

void option_command_unknown(const char *word)
{
	struct nearest near = {0};

	if (*word && word[strspn(word, "0123456789")] == '\0') {
		log_error("unknown command '%s'; to watch process %s: gp-bpf --pid %s", word, word,
			  word);
		return;
	}
	for (int i = 1; i < COMMANDS; i++)
		help_consider(&near, word, strlen(word), command_rows[i].name);
	if (near.name)
		log_error("unknown command '%s'; did you mean gp-bpf %s? See gp-bpf --help", word,
			  near.name);
	else if (!access(word, X_OK) || strchr(word, '.'))
		log_error("unknown command '%s'; to start a program under gp-bpf: gp-bpf run -- %s",
			  word, word);
	else
		log_error("unknown command '%s'; see gp-bpf --help", word);
}
