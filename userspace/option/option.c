/* SPDX-License-Identifier: Apache-2.0 */
/* option.c - parses the options of the command line, the environment and the configuration file. */
#include "userspace/option/option.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/config_file.h"
#include "userspace/base/log.h"
#include "userspace/cloud/web.h"
#include "userspace/base/exit_code.h"
#include "userspace/export/export.h"
#include "userspace/option/option_choice.h"
#include "userspace/option/option_help.h"

#define NODE_LISTEN "127.0.0.1:9847"
/* getopt_long() returns LONG_FIRST + row for a long option, and the letter of a short one:
 * LONG_FIRST is greater than any letter. */
#define LONG_FIRST 256

static int option_list_add(struct option_list *list, const char *value)
{
	if (list->count == OPTION_LIST_MAX)
		return -E2BIG;
	list->item[list->count] = strdup(value);
	if (!list->item[list->count])
		return -ENOMEM;
	list->count++;
	return 0;
}

static void option_list_clear(struct option_list *list)
{
	while (list->count)
		free(list->item[--list->count]);
}

static int option_row_flag(const char *value, bool *ret)
{
	if (!value || !strcmp(value, "1") || !strcmp(value, "true") || !strcmp(value, "yes"))
		*ret = true;
	else if (!strcmp(value, "0") || !strcmp(value, "false") || !strcmp(value, "no"))
		*ret = false;
	else
		return -EINVAL;
	return 0;
}

/* Sets an option, unless a stronger source has set it. Flags are strongest, then the environment,
 * then the file. */
static int option_row_set(struct options *o, const struct option_row *r, enum option_origin from,
			  const char *value)
{
	size_t row = (size_t)(r - option_rows);
	void *at = (char *)o + r->at;
	char *copy;

	if (option_origin(row) > from)
		return 0;
	if (option_origin(row) < from && r->type == OPTION_LIST)
		option_list_clear(at);
	option_origin_set(row, from);
	switch (r->type) {
	case OPTION_FLAG:
		return option_row_flag(value, at);
	case OPTION_LIST:
		return option_list_add(at, value);
	case OPTION_NUMBER:
		return option_number(value, r->min, r->max, at);
	case OPTION_DURATION:
		return option_duration(value, at) || !*(int64_t *)at ? -EINVAL : 0;
	case OPTION_PERCENT:
		return option_percent(value, at);
	case OPTION_SIZE:
		return option_size(value, at) || *(int64_t *)at < r->min ? -EINVAL : 0;
	case OPTION_REAL:
		return option_real(value, at);
	case OPTION_STRING:
		copy = strdup(value ? value : "");
		if (!copy)
			return -ENOMEM;
		free(*(char **)at);
		*(char **)at = copy;
		return 0;
	}
	return -EINVAL;
}

static const char *option_row_wants(const struct option_row *r)
{
	static char text[80];

	switch (r->type) {
	case OPTION_NUMBER:
		snprintf(text, sizeof(text), "a whole number of %lld or more", (long long)r->min);
		if (r->max < INT_MAX)
			snprintf(text, sizeof(text), "a whole number from %lld to %lld",
				 (long long)r->min, (long long)r->max);
		return text;
	case OPTION_DURATION:
		return "a duration above 0, like 500ms, 10s, 5m or 2h";
	case OPTION_PERCENT:
		return "a percentage from 0 to 100, in steps of 0.0001";
	case OPTION_SIZE:
		return "a size of at least 1M, like 64M or 1G";
	case OPTION_REAL:
		return "a number above 0, like 4096, 3.2e15 or 1.5P";
	case OPTION_FLAG:
		return "true or false";
	default:
		snprintf(text, sizeof(text), "one of at most %d values", OPTION_LIST_MAX);
		return text;
	}
}

struct file_ctx {
	struct options *o;
	unsigned command;
	bool version;
	/* incomplete items of the keys `ranges` and `exclude`, of which the first lines have been
	 * read */
	struct option_range_file range;
	struct option_exclude_file exclude;
};

/* Returns the row of a configuration key; if there are several, prefers a row that this command
 * has. OPTION_ROWS: the key is unknown. */
static size_t option_row_of_key(const char *key, unsigned command)
{
	size_t found = OPTION_ROWS;

	for (size_t i = 0; i < OPTION_ROWS; i++) {
		if (!option_rows[i].key || strcmp(option_rows[i].key, key))
			continue;
		if (option_rows[i].commands & command)
			return i;
		found = found == OPTION_ROWS ? i : found;
	}
	return found;
}

static int option_set_key(struct file_ctx *c, const char *file, int line, const char *key,
			  const char *value)
{
	size_t row = option_row_of_key(key, c->command);
	const struct option_row *r = &option_rows[row];

	if (row == OPTION_ROWS) {
		log_error("%s:%d: unknown key '%s'; gp-bpf node --print-config lists all", file,
			  line, key);
		return -EINVAL;
	}
	if (!*value) {
		log_error("%s:%d: %s: missing value; set one, or remove the key", file, line, key);
		return -EINVAL;
	}
	if (r->type != OPTION_LIST && option_origin_line(row)) {
		log_error("%s:%d: %s: set twice; line %d sets it already", file, line, key,
			  option_origin_line(row));
		return -EINVAL;
	}
	if (option_origin_place(row, file, line, value))
		return -ENOMEM;
	if (option_row_set(c->o, r, FROM_FILE, value)) {
		log_error("%s:%d: %s: '%s' is not %s", file, line, key, value, option_row_wants(r));
		return -EINVAL;
	}
	if (!(r->commands & c->command))
		log_warn("%s:%d: %s has no effect here; see gp-bpf %s", file, line, key,
			 option_command_help(c->command));
	return 0;
}

static int option_set_from_file(void *ctx, const char *file, int line, const char *key,
				const char *value)
{
	struct file_ctx *c = ctx;
	char range[OPTION_RANGE_MAX], exclude[OPTION_EXCLUDE_MAX];
	int whole;

	if (!strcmp(key, "ranges.match") || !strcmp(key, "ranges.bucket")) {
		whole = options_range_file(&c->range, strchr(key, '.') + 1, value, range,
					   sizeof(range));
		if (whole < 0)
			log_error(
				"%s:%d: ranges: expected items like {match: \"validation*\", bucket: EVAL}",
				file, line);
		return whole <= 0 ? whole : option_set_from_file(ctx, file, line, "ranges", range);
	}
	if (!strcmp(key, "exclude.from") || !strcmp(key, "exclude.to") ||
	    !strcmp(key, "exclude.why")) {
		whole = options_exclude_file(&c->exclude, strchr(key, '.') + 1, value, exclude,
					     sizeof(exclude));
		if (whole < 0)
			log_error(
				"%s:%d: exclude: expected items like {from: 2026-11-21T12:00:00Z, to: 2026-11-21T14:00:00Z, why: maintenance}, from before to; also epoch seconds, 2h (ago) and now",
				file, line);
		return whole <= 0 ? whole
				  : option_set_from_file(ctx, file, line, "exclude", exclude);
	}
	if (!strcmp(key, "version")) {
		c->version = true;
		if (!strcmp(value, "1"))
			return 0;
		log_error("%s:%d: unknown version %s; this gp-bpf reads version 1", file, line,
			  value);
		return -EINVAL;
	}
	return option_set_key(c, file, line, key, value);
}

static int options_file(struct options *o, unsigned command)
{
	struct file_ctx c = {.o = o, .command = command};
	int err = config_read(o->config, option_set_from_file, &c);

	if (!err && (*c.range.match || *c.range.bucket)) {
		log_error("%s: ranges: the last item has no %s", o->config,
			  *c.range.match ? "bucket" : "match");
		err = -EINVAL;
	}
	if (!err && (*c.exclude.from || *c.exclude.to || *c.exclude.why)) {
		log_error("%s: exclude: the last item has no %s", o->config,
			  !*c.exclude.from ? "from"
			  : !*c.exclude.to ? "to"
					   : "why");
		err = -EINVAL;
	}
	if (!err && !c.version) {
		log_error("%s:1: version: missing; begin the file with the line 'version: 1'",
			  o->config);
		err = -EINVAL;
	}
	return err;
}

static int option_set_from_environment(struct options *o, unsigned command)
{
	char name[OPTION_VARIABLE_MAX];
	const char *value;

	for (size_t i = 0; i < OPTION_ROWS; i++) {
		if (!(option_rows[i].commands & command))
			continue;
		value = getenv(option_variable(&option_rows[i], name));
		if (!value || !*value)
			continue;
		if (option_row_set(o, &option_rows[i], FROM_ENVIRONMENT, value)) {
			log_error("environment %s: '%s' is not %s", name, value,
				  option_row_wants(&option_rows[i]));
			return -EINVAL;
		}
	}
	return 0;
}

/* Logs an unknown or misused option. getopt_long() has set optopt: 0 for an unknown long option,
 * the letter for an unknown short option, LONG_FIRST + row for a known option that was given a
 * value but takes none. */
static int option_flag_unknown(unsigned command, char **argv)
{
	const char *help = option_command_help(command);

	if (optopt >= LONG_FIRST)
		log_error("%s takes no value; see gp-bpf %s", argv[optind - 1], help);
	else if (optopt)
		log_error("unknown option -%c; see gp-bpf %s", optopt, help);
	else
		option_unknown(command, argv[optind - 1]);
	return -EINVAL;
}

static int option_set_from_flags(struct options *o, unsigned command, int argc, char **argv)
{
	struct option longs[OPTION_ROWS + 1] = {0};
	/* '+' makes getopt_long() stop at the first operand. Only `run` and `record` use it,
	 * because a command line with options of its own follows them. */
	char shorts[2 * OPTION_ROWS + 3] = "+:";
	char *first = shorts + !(command & (CMD_RUN | CMD_RECORD));
	size_t ns = 2, map[OPTION_ROWS];
	int n = 0, c, index;

	for (size_t i = 0; i < OPTION_ROWS; i++) {
		if (!(option_rows[i].commands & command))
			continue;
		map[n] = i;
		longs[n++] = (struct option){option_rows[i].name,
					     option_takes_word(&option_rows[i]) ? required_argument
					     : option_rows[i].arg		? optional_argument
										: no_argument,
					     NULL, LONG_FIRST + (int)i};
		if (option_rows[i].letter) {
			shorts[ns++] = option_rows[i].letter;
			if (option_takes_word(&option_rows[i]))
				shorts[ns++] = ':';
		}
	}
	shorts[ns] = 0;
	opterr = 0;
	optind = 0; /* 0 (not 1) resets getopt_long() completely */
	while ((c = getopt_long(argc, argv, first, longs, &index)) != -1) {
		const struct option_row *r = NULL;

		if (c == ':') {
			log_error("%s needs a value; see gp-bpf %s", argv[optind - 1],
				  option_command_help(command));
			return -EINVAL;
		}
		for (int i = 0; i < n && c != '?'; i++)
			if (c == LONG_FIRST + (int)map[i] ||
			    (option_rows[map[i]].letter && c == option_rows[map[i]].letter))
				r = &option_rows[map[i]];
		if (!r)
			return option_flag_unknown(command, argv);
		if (option_row_set(o, r, FROM_FLAG, optarg)) {
			log_error("--%s: '%s' is not %s", r->name, optarg ? optarg : "",
				  option_row_wants(r));
			return -EINVAL;
		}
	}
	o->argv = argv + optind;
	o->argc = argc - optind;
	return 0;
}

static void option_set_logging(const struct options *o, enum log_level usual)
{
	int level = o->log_level ? option_choice_find(option_log_levels, o->log_level) : (int)usual;
	int format = o->log_format ? option_choice_find(option_log_formats, o->log_format)
				   : LOG_TEXT;

	log_setup((enum log_level)level, (enum log_format)format);
}

static int option_show_and_free(struct options *o, unsigned command)
{
	bool all = o->help && !strcmp(o->help, "all");
	int code = EXIT_OK;

	if (o->help && *o->help && !all) {
		log_error("--help: unexpected value '%s'; use --help or --help=all", o->help);
		code = EXIT_USAGE;
	} else if (o->help) {
		options_help(stdout, command, all);
	} else {
		puts("gp-bpf " GP_VERSION);
	}
	options_free(o);
	return code;
}

int options_parse(struct options *o, unsigned command, int argc, char **argv)
{
	char windows[128];
	int err;

	*o = (struct options){.ready_fd = -1,
			      .multiply = 1,
			      .overhead_ppm = OVERHEAD_PPM_DEFAULT,
			      .overhead_pause_ns = OVERHEAD_PAUSE_NS,
			      .keep_ns = STORE_KEEP_NS,
			      .state_bytes = STORE_BYTES};
	o->durable = command == CMD_NODE;
	option_origin_begin(command);
	err = option_set_from_flags(o, command, argc, argv);
	if (!err && (o->help || o->version))
		return option_show_and_free(o, command);
	if (!err)
		err = option_set_from_environment(o, command);
	if (!err && o->config)
		err = options_file(o, command);
	if (!err && command == CMD_NODE && !o->listen) {
		o->listen = strdup(NODE_LISTEN);
		err = o->listen ? 0 : -ENOMEM;
	}
	if (!err)
		err = options_choices(o, command);
	if (!err)
		option_set_logging(o, command == CMD_NODE ? LOG_INFO : LOG_WARN);
	if (!err)
		err = command & CMD_ACCOUNT ? 0 : options_windows(o, windows, sizeof(windows));
	if (!err)
		err = options_program(o);
	if (!err)
		err = options_ranges(o);
	if (!err && command & CMD_WATCH)
		err = options_excludes(o);
	if (err) {
		options_free(o);
		return EXIT_USAGE;
	}
	return -1;
}

void options_free(struct options *o)
{
	for (size_t i = 0; i < OPTION_ROWS; i++) {
		void *at = (char *)o + option_rows[i].at;

		if (option_rows[i].type == OPTION_LIST)
			option_list_clear(at);
		else if (option_rows[i].type == OPTION_STRING) {
			free(*(char **)at);
			*(char **)at = NULL;
		}
	}
}

int options_features_off(const struct options *o, char *out, size_t len)
{
	size_t used = 0;

	*out = 0;
	for (int i = 0; i < o->features.count; i++) {
		const char *item = o->features.item[i], *eq = strchr(item, '=');

		if (!eq || strcmp(eq, "=off")) {
			log_error("--feature: '%s': expected NAME=off", item);
			return -EINVAL;
		}
		used += (size_t)snprintf(out + used, len - used, "%s%.*s", i ? "," : "",
					 (int)(eq - item), item);
		if (used >= len) {
			log_error(
				"--feature: the list of names is too long; turn off fewer features");
			return -EINVAL;
		}
	}
	return 0;
}

/* Returns how many bytes of an --export value precede its URL, which may have secrets. */
static size_t option_export_public_len(const char *text)
{
	size_t shown = strlen(text), at, len;
	const struct exporter *e;
	const char *name;

	for (size_t i = 0; (e = export_at(i)); i++) {
		len = strlen(e->name);
		name = e->url ? strstr(text, e->name) : NULL;
		while (name && name[len] != ':')
			name = strstr(name + 1, e->name);
		if (!name)
			continue;
		at = (size_t)(name + len + 1 - text);
		at += web_public_len(text + at);
		shown = at < shown ? at : shown;
	}
	return shown;
}

size_t option_value_public_len(const struct option_row *r, const char *value)
{
	if (!strcmp(r->name, "export"))
		return option_export_public_len(value);
	if (r->arg && (!strcmp(r->arg, "URL") || (!strcmp(r->name, "on") && strstr(value, "://"))))
		return web_public_len(value);
	return strlen(value);
}

size_t option_public_len(const char *previous, const char *word)
{
	bool joined = !strncmp(word, "--", 2) && strchr(word, '=');
	const char *name = joined				? word
			   : previous && !strchr(previous, '=') ? previous
								: "",
		   *value = joined ? strchr(word, '=') + 1 : word;
	size_t public_len = option_export_public_len(word), at = (size_t)(value - word), len, n;

	if (strncmp(name, "--", 2) != 0)
		return public_len;
	name += 2;
	len = strcspn(name, "=");
	/* The user may have abbreviated the option, so check all options whose names begin with
	 * this word. */
	for (size_t i = 0; len && i < OPTION_ROWS; i++) {
		n = strncmp(option_rows[i].name, name, len)
			    ? public_len
			    : at + option_value_public_len(&option_rows[i], value);
		public_len = n < public_len ? n : public_len;
	}
	return public_len;
}
