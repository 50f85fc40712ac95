/* SPDX-License-Identifier: Apache-2.0 */
/* completion.c - computes the completions of a command line. */
#include "userspace/command/completion.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/probe/probe_file.h"
#include "userspace/base/log.h"
#include "userspace/option/option_choice.h"
#include "userspace/option/option_probe.h"
#include "userspace/store/job_names.h"
#include "userspace/store/store.h"

struct completion {
	struct buffer *out;
	unsigned command;
	const char *word;		/* the word to complete */
	const struct option_row *wants; /* option whose value is being typed; NULL: none */
	int operands;			/* number of operands before the word to complete */
	bool closed;			/* "--" came before: no more options */
	const char *store, *state_dir, *probes;
	bool ended; /* the last line of the answer, ":KIND ...", was written */
};

/* ---- lines ----------------------------------------------------------------------------------- */

static bool completion_is_plain(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

/* Appends a completion if it begins with the word to complete. keep: number of bytes at the start
 * of the word that text does not replace. */
static void completion_put(struct completion *c, size_t keep, const char *text, size_t len,
			   const char *help)
{
	size_t rest = strlen(c->word + keep);

	if (strncmp(text, c->word + keep, len < rest ? len : rest) != 0 || len < rest)
		return;
	buffer_add(c->out, c->word, keep);
	buffer_add(c->out, text, len);
	if (help)
		buffer_printf(c->out, "\t%s", help);
	buffer_add(c->out, "\n", 1);
}

static void completion_put_end(struct completion *c, const char *kind, size_t n,
			       const struct option_row *r)
{
	if (c->ended)
		return;
	c->ended = true;
	buffer_printf(c->out, ":%s %zu", kind, n);
	if (r)
		buffer_printf(c->out, " %s: %s", r->arg, option_row_help(r));
	buffer_add(c->out, "\n", 1);
}

static const char *completion_kind_of(const char *arg)
{
	return !strcmp(arg, "FILE")   ? "file"
	       : !strcmp(arg, "DIR")  ? "dir"
	       : !strcmp(arg, "PATH") ? "dir"
	       : !strcmp(arg, "PID")  ? "pid"
				      : "words";
}

/* ---- values ---------------------------------------------------------------------------------- */

struct job_ctx {
	struct completion *c;
	size_t keep;
};

static void completion_put_job(void *ctx, const char *name)
{
	struct job_ctx *j = ctx;

	/* The name comes from the job, and a control character would break the line format. */
	if (*name && completion_is_plain(name))
		completion_put(j->c, j->keep, name, strlen(name), NULL);
}

static void completion_put_jobs(struct completion *c, size_t keep)
{
	const char *store = c->store ? c->store : getenv("GP_BPF_STORE");
	const char *dir = c->state_dir ? c->state_dir : getenv("GP_BPF_STATE_DIR");
	char path[PATH_MAX];

	if ((!store || !*store || !strcmp(store, "default")) &&
	    store_default_path(path, dir && *dir ? dir : NULL))
		return;
	store_job_names(store && *store && strcmp(store, "default") != 0 ? store : path,
			completion_put_job, &(struct job_ctx){c, keep});
}

static void completion_discard_log(void *ctx, enum log_level level, const char *line)
{
	(void)ctx;
	(void)level;
	(void)line;
}

/* Appends the probes that --marker accepts: those that report each hit. */
static void completion_put_probes(struct completion *c, size_t keep)
{
	struct options o = {.probes = (char *)c->probes};
	struct probe_table *t = NULL;

	/* Keep errors in probe files off the user's command line. */
	log_sink(completion_discard_log, NULL);
	if (option_probes(&o, &t))
		t = NULL;
	log_sink(NULL, NULL);
	for (size_t i = 0; t && i < probe_table_count(t); i++) {
		const struct probe_row *r = probe_table_row(t, i);

		if (option_marks(r))
			completion_put(c, keep, r->id, strlen(r->id),
				       completion_is_plain(r->why) ? r->why : NULL);
	}
	probe_table_free(t);
}

/* Returns the offset of the part that the user replaces, such as FILE in "json:FILE"; the length of
 * `choice` if there is no such part. */
static size_t completion_choice_open(const char *choice)
{
	size_t len = strcspn(choice, ":=");

	return choice[len] && choice[len + 1] >= 'A' && choice[len + 1] <= 'Z' ? len + 1
									       : strlen(choice);
}

/* Completes the value of an option. The value begins at offset `keep` of the word. */
static void completion_put_value(struct completion *c, const struct option_row *r, size_t keep)
{
	const char *choice, *value = c->word + keep, *comma;
	size_t item = keep, open, first = strcspn(value, "=");

	if (option_choice_list(r))
		for (comma = strchr(value, ','); comma && comma < value + first;
		     comma = strchr(comma + 1, ','))
			item = (size_t)(comma + 1 - c->word);
	for (size_t i = 0; (choice = option_choice(r, c->command, i)); i++) {
		open = completion_choice_open(choice);
		if (choice[open] && !strncmp(c->word + item, choice, open)) {
			completion_put_end(c, completion_kind_of(choice + open), item + open, r);
			return;
		}
		completion_put(c, item, choice, open, NULL);
	}
	if (!strcmp(r->name, "compare"))
		completion_put_jobs(c, keep);
	if (!strcmp(r->name, "marker"))
		completion_put_probes(c, keep);
	completion_put_end(c, completion_kind_of(r->arg), keep, r);
}

/* ---- words before the one being typed -------------------------------------------------------- */

/* Finds an option as getopt_long() does: by its full name, or by a prefix that only one option
 * has. */
static const struct option_row *completion_find_long(unsigned command, const char *name, size_t len)
{
	const struct option_row *found = NULL;

	for (size_t i = 0; i < OPTION_ROWS; i++) {
		const struct option_row *r = &option_rows[i];

		if (!(r->commands & command) || strncmp(r->name, name, len) != 0)
			continue;
		if (!r->name[len])
			return r;
		if (found)
			return NULL;
		found = r;
	}
	return found;
}

static const struct option_row *completion_find_letter(unsigned command, char letter)
{
	for (size_t i = 0; i < OPTION_ROWS; i++)
		if (option_rows[i].commands & command && option_rows[i].letter == letter)
			return &option_rows[i];
	return NULL;
}

static void completion_note_option(struct completion *c, const struct option_row *r,
				   const char *value)
{
	if (!strcmp(r->name, "store"))
		c->store = value;
	else if (!strcmp(r->name, "state-dir"))
		c->state_dir = value;
	else if (!strcmp(r->name, "probes"))
		c->probes = value;
}

static void completion_read_option(struct completion *c, const char *word)
{
	const struct option_row *r;
	size_t len;

	if (word[1] == '-') {
		len = strcspn(word + 2, "=");
		r = completion_find_long(c->command, word + 2, len);
		if (r && option_takes_word(r) && !word[2 + len])
			c->wants = r;
		else if (r && r->arg)
			completion_note_option(c, r, word + 3 + len);
		return;
	}
	for (const char *letter = word + 1; *letter; letter++) {
		r = completion_find_letter(c->command, *letter);
		if (!r)
			return;
		if (option_takes_word(r)) {
			c->wants = letter[1] ? NULL : r;
			return;
		}
	}
}

/* Handles one word before the word to complete. Returns true if the command line of another program
 * begins with it. foreign: the command accepts the command line of another program. */
static bool completion_read_word(struct completion *c, const char *word, bool foreign)
{
	if (c->wants) {
		completion_note_option(c, c->wants, word);
		c->wants = NULL;
	} else if (!c->closed && !strcmp(word, "--")) {
		c->closed = true;
	} else if (!c->closed && word[0] == '-' && word[1]) {
		completion_read_option(c, word);
	} else {
		c->operands++;
		return foreign;
	}
	return false;
}

/* ---- the word being typed -------------------------------------------------------------------- */

static void completion_put_options(struct completion *c)
{
	char name[64];

	for (size_t i = 0; i < OPTION_ROWS; i++) {
		if (!(option_rows[i].commands & c->command))
			continue;
		snprintf(name, sizeof(name), "--%s", option_rows[i].name);
		completion_put(c, 0, name, strlen(name), option_row_help(&option_rows[i]));
	}
}

static void completion_put_operands(struct completion *c, enum operand operand, int at)
{
	static const char *const shells[] = {"bash", "zsh", "fish"};

	if (operand == OPERAND_COMMAND)
		completion_put_end(c, "command", (size_t)at, NULL);
	else if (operand == OPERAND_FILES || (operand == OPERAND_FILE && !c->operands))
		completion_put_end(c, "file", 0, NULL);
	else if (operand == OPERAND_JOB && !c->operands)
		completion_put_jobs(c, 0);
	else if (operand == OPERAND_SHELL && !c->operands)
		for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
			completion_put(c, 0, shells[i], strlen(shells[i]), NULL);
}

static void completion_put_word(struct completion *c, enum operand operand, int at)
{
	size_t len = strcspn(c->word, "=");
	const struct option_row *r;

	if (c->wants) {
		completion_put_value(c, c->wants, 0);
	} else if (!c->closed && !strncmp(c->word, "--", 2) && c->word[len]) {
		r = completion_find_long(c->command, c->word + 2, len - 2);
		if (r && r->arg)
			completion_put_value(c, r, len + 1);
	} else if (!c->closed && *c->word == '-') {
		completion_put_options(c);
	} else {
		completion_put_operands(c, operand, at);
	}
}

static void completion_put_commands(struct completion *c)
{
	for (int i = 0; i < COMMANDS; i++)
		completion_put(c, 0, command_rows[i].name, strlen(command_rows[i].name),
			       command_rows[i].help);
}

void completion_answer(struct buffer *out, int count, char **words)
{
	struct completion c = {.out = out, .command = CMD_PID, .word = words[count - 1]};
	const struct command_row *row = &command_rows[0];
	int at = 0;

	for (int i = 1; i < COMMANDS && count > 1; i++)
		if (!strcmp(words[0], command_rows[i].name)) {
			row = &command_rows[i];
			at = 1;
		}
	c.command = row->bit;
	if (count == 1 && *c.word != '-') {
		completion_put_commands(&c);
	} else if (at || *words[0] == '-') {
		while (at < count - 1 &&
		       !completion_read_word(&c, words[at], row->operand == OPERAND_COMMAND))
			at++;
		if (at < count - 1)
			completion_put_end(&c, "command", (size_t)at, NULL);
		else
			completion_put_word(&c, row->operand, at);
	}
	completion_put_end(&c, "words", 0, NULL);
}
