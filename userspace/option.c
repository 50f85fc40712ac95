/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/option.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/command.h"

const struct command_row command_rows[COMMANDS] = {
	{"--pid", "PID [--pid PID...]", "watch running processes and their children", CMD_PID},
	{"run", "[options] -- CMD...", "start CMD and watch it; exits with CMD's status", CMD_RUN},
	{"record", "-o FILE (--pid PID | -- CMD...)", "keep the raw events in a file", CMD_RECORD},
	{"replay", "FILE", "show a recorded run again, without privileges", CMD_REPLAY},
	{"check", "[--pid PID | --library FILE]", "what works here, and each probe's place and price",
	 CMD_CHECK},
	{"probes", "", "the probes that are known, and why each is there", CMD_PROBES},
	{"schema", "", "JSON Schema of the JSON lines", CMD_SCHEMA},
	{"detach", "", "remove every probe and map that --durable left in the kernel", CMD_DETACH},
};

enum option_type { OPTION_FLAG, OPTION_STRING, OPTION_LIST, OPTION_NUMBER, OPTION_DURATION, OPTION_PERCENT };
enum option_origin { FROM_DEFAULT, FROM_FILE, FROM_ENVIRONMENT, FROM_FLAG };

struct option_row {
	const char *name, *arg;
	char letter;
	enum option_type type;
	size_t at;
	int64_t min, max; /* of a number */
	unsigned commands;
	const char *key; /* in the config file; NULL: not there */
	const char *help;
};

#define AT(field) offsetof(struct options, field)

/* Every option there is: parsing, --help, --print-config, GP_BPF_* and the config file read this. */
static const struct option_row rows[] = {
	{"pid", "PID", 'p', OPTION_LIST, AT(pids), 0, 0, CMD_PID | CMD_RECORD | CMD_CHECK, NULL,
	 "watch this process and its children (repeatable)"},
	{"export", "NAME[:ARG]", 'e', OPTION_LIST, AT(exports), 0, 0, CMD_WATCH | CMD_REPLAY, "exports",
	 "json:FILE (- is standard output), prometheus (repeatable)"},
	{"listen", "ADDR:PORT", 0, OPTION_STRING, AT(listen), 0, 0, CMD_WATCH, "listen",
	 "serve Prometheus metrics there, or at unix:PATH (default 127.0.0.1:9847 with --export prometheus)"},
	{"job", "NAME", 0, OPTION_STRING, AT(job), 0, 0, CMD_WATCH, "job.name", "name of the job"},
	{"marker", "NAME", 0, OPTION_STRING, AT(marker), 0, 0, CMD_WATCH, "steps.marker",
	 "end steps by update_exit, zero_grad, backward, reducer, update_op, execute or sync; default: "
	 "elect"},
	{"multiply", "N", 0, OPTION_NUMBER, AT(multiply), 1, 1000000, CMD_WATCH, "steps.multiply",
	 "that many marker hits make one step"},
	{"ideal", "DURATION", 0, OPTION_DURATION, AT(ideal_ns), 0, 0, CMD_WATCH, "steps.ideal",
	 "ideal step time, instead of the one that is found"},
	{"hang-after", "DURATION", 0, OPTION_DURATION, AT(hang_after_ns), 0, 0, CMD_WATCH, "steps.hang_after",
	 "silence of a loop that is called a hang (default: 5 x p99 of its steps, 30s to 10m)"},
	{"for", "DURATION", 0, OPTION_DURATION, AT(for_ns), 0, 0, CMD_PID | CMD_RECORD, NULL,
	 "stop watching after this time (10s, 5m)"},
	{"output", "FILE", 'o', OPTION_STRING, AT(output), 0, 0, CMD_RUN | CMD_RECORD, NULL,
	 "record: the tape; run: where CMD's own output goes (needed by --live)"},
	{"live", NULL, 0, OPTION_FLAG, AT(live), 0, 0, CMD_RUN, NULL, "show the live view while CMD runs"},
	{"user", "NAME", 0, OPTION_STRING, AT(user), 0, 0, CMD_RUN | CMD_RECORD, NULL,
	 "run CMD as this user (default under sudo: who called sudo)"},
	{"best-effort", NULL, 0, OPTION_FLAG, AT(best_effort), 0, 0, CMD_RUN, NULL,
	 "start CMD even when nothing can be observed"},
	{"overhead-budget", "PCT", 0, OPTION_PERCENT, AT(overhead_ppm), 0, 0, CMD_WATCH | CMD_CHECK,
	 "budget.overhead",
	 "of a process's time that probes beyond the marker may cost (default 0.1); 0: no bound"},
	{"overhead-pause", "DURATION", 0, OPTION_DURATION, AT(overhead_pause_ns), 0, 0, CMD_WATCH,
	 "budget.pause", "before probes that were given up are tried again; it grows (default 10s)"},
	{"library", "FILE", 0, OPTION_STRING, AT(library), 0, 0, CMD_CHECK, NULL,
	 "show what would be probed in this library"},
	{"probes", "DIR", 0, OPTION_STRING, AT(probes), 0, 0, CMD_WATCH | CMD_CHECK | CMD_PROBES, "probes",
	 "probe files, instead of the installed ones"},
	{"feature", "NAME=off", 0, OPTION_LIST, AT(features), 0, 0, CMD_WATCH | CMD_CHECK, "features",
	 "do without a kernel feature (names: gp-bpf check)"},
	{"config", "FILE", 'c', OPTION_STRING, AT(config), 0, 0, CMD_WATCH | CMD_CHECK | CMD_PROBES, NULL,
	 "settings in YAML (version: 1)"},
	{"state-dir", "DIR", 0, OPTION_STRING, AT(state_dir), 0, 0, CMD_WATCH | CMD_CHECK, "state_dir",
	 "where the symbol cache is kept (default /var/cache/gp-bpf)"},
	{"durable", NULL, 0, OPTION_FLAG, AT(durable), 0, 0, CMD_PID, "durable",
	 "a restart within a minute, even after kill -9, loses nothing: state is kept in --state-dir "
	 "(default /var/lib/gp-bpf), links and maps are pinned"},
	{"handover", NULL, 0, OPTION_FLAG, AT(handover), 0, 0, CMD_PID, "handover",
	 "with --durable: SIGTERM leaves everything attached, for a successor"},
	{"takeover", NULL, 0, OPTION_FLAG, AT(takeover), 0, 0, CMD_PID, NULL,
	 "with --durable: if another gp-bpf watches with this --state-dir, take over from it"},
	{"root", "DIR", 0, OPTION_STRING, AT(root), 0, 0, CMD_WATCH, NULL, "read /proc from there (tests)"},
	{"quiet", NULL, 'q', OPTION_FLAG, AT(quiet), 0, 0, CMD_WATCH | CMD_REPLAY, NULL,
	 "no live view, no progress, no report"},
	{"json", NULL, 0, OPTION_FLAG, AT(json), 0, 0, CMD_WATCH | CMD_REPLAY, NULL,
	 "the report as one JSON object on standard output"},
	{"ready-fd", "N", 0, OPTION_NUMBER, AT(ready_fd), 0, INT_MAX, CMD_WATCH, NULL,
	 "write one line to this descriptor once every probe is attached"},
	{"log-level", "LEVEL", 0, OPTION_STRING, AT(log_level), 0, 0, CMD_ALL, "log.level",
	 "error, warning, info or debug (default warning)"},
	{"log-format", "FORMAT", 0, OPTION_STRING, AT(log_format), 0, 0, CMD_ALL, "log.format",
	 "text, logfmt or json"},
	{"print-config", NULL, 0, OPTION_FLAG, AT(print_config), 0, 0, CMD_WATCH, NULL,
	 "print every setting with its origin, and exit"},
	{"help", NULL, 'h', OPTION_FLAG, AT(help), 0, 0, CMD_ALL, NULL, "this text"},
	{"version", NULL, 0, OPTION_FLAG, AT(version), 0, 0, CMD_ALL, NULL, "version, and exit"},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static enum option_origin origins[ROWS];

int option_number(const char *text, int64_t min, int64_t max, int64_t *ret)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno || end == text || *end || v < min || v > max)
		return -EINVAL;
	*ret = v;
	return 0;
}

int option_duration(const char *text, int64_t *ret_ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6},   {"s", 1e9},
		     {"", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
	char *end;
	double v;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	v = strtod(text, &end);
	if (errno || end == text || !(v >= 0))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit))
			continue;
		if (v * units[i].ns > 9e18)
			return -EINVAL;
		*ret_ns = (int64_t)(v * units[i].ns);
		return 0;
	}
	return -EINVAL;
}

int option_percent(const char *text, int64_t *ret_ppm)
{
	char *end;
	double v;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	v = strtod(text, &end);
	if (errno || end == text || (*end && strcmp(end, "%")) || !(v >= 0 && v <= 100))
		return -EINVAL;
	*ret_ppm = (int64_t)(v * 1e4 + 0.5);
	return *ret_ppm || v == 0 ? 0 : -EINVAL;
}

static int list_add(struct option_list *list, const char *value)
{
	if (list->count == OPTION_LIST_MAX)
		return -E2BIG;
	list->item[list->count] = strdup(value);
	if (!list->item[list->count])
		return -ENOMEM;
	list->count++;
	return 0;
}

static void list_clear(struct option_list *list)
{
	while (list->count)
		free(list->item[--list->count]);
}

static int row_flag(const char *value, bool *ret)
{
	if (!value || !strcmp(value, "1") || !strcmp(value, "true") || !strcmp(value, "yes"))
		*ret = true;
	else if (!strcmp(value, "0") || !strcmp(value, "false") || !strcmp(value, "no"))
		*ret = false;
	else
		return -EINVAL;
	return 0;
}

/* Sets one option unless a stronger origin already did. */
static int row_set(struct options *o, const struct option_row *r, enum option_origin from, const char *value)
{
	enum option_origin *origin = &origins[r - rows];
	void *at = (char *)o + r->at;
	char *copy;

	if (*origin > from)
		return 0;
	if (*origin < from && r->type == OPTION_LIST)
		list_clear(at);
	*origin = from;
	switch (r->type) {
	case OPTION_FLAG:
		return row_flag(value, at);
	case OPTION_LIST:
		return list_add(at, value);
	case OPTION_NUMBER:
		return option_number(value, r->min, r->max, at);
	case OPTION_DURATION:
		return option_duration(value, at) || !*(int64_t *)at ? -EINVAL : 0;
	case OPTION_PERCENT:
		return option_percent(value, at);
	case OPTION_STRING:
		copy = strdup(value);
		if (!copy)
			return -ENOMEM;
		free(*(char **)at);
		*(char **)at = copy;
		return 0;
	}
	return -EINVAL;
}

static const char *row_wants(const struct option_row *r)
{
	switch (r->type) {
	case OPTION_NUMBER:
		return "a whole number in its range";
	case OPTION_DURATION:
		return "a duration above 0, like 500ms, 10s, 5m or 2h";
	case OPTION_PERCENT:
		return "a percentage from 0 to 100, in steps of 0.0001";
	case OPTION_FLAG:
		return "true or false";
	default:
		return "fewer items";
	}
}

static int set_from_file(void *ctx, const char *file, int line, const char *key, const char *value)
{
	if (!strcmp(key, "version")) {
		if (!strcmp(value, "1"))
			return 0;
		log_error("%s:%d: version %s is not known; this gp-bpf reads version 1", file, line, value);
		return -EINVAL;
	}
	for (size_t i = 0; i < ROWS; i++) {
		if (!rows[i].key || strcmp(rows[i].key, key))
			continue;
		if (!row_set(ctx, &rows[i], FROM_FILE, value))
			return 0;
		log_error("%s:%d: %s: '%s' is not %s", file, line, key, value, row_wants(&rows[i]));
		return -EINVAL;
	}
	log_error("%s:%d: unknown key '%s'; see --print-config for those there are", file, line, key);
	return -EINVAL;
}

static int set_from_environment(struct options *o, unsigned command)
{
	char name[64];
	const char *value;

	for (size_t i = 0; i < ROWS; i++) {
		if (!(rows[i].commands & command))
			continue;
		snprintf(name, sizeof(name), "GP_BPF_%s", rows[i].name);
		for (char *p = name; *p; p++)
			*p = *p == '-' ? '_' : *p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p;
		value = getenv(name);
		if (!value || !*value)
			continue;
		if (row_set(o, &rows[i], FROM_ENVIRONMENT, value)) {
			log_error("environment %s: '%s' is not %s", name, value, row_wants(&rows[i]));
			return -EINVAL;
		}
	}
	return 0;
}

static const char *command_help(unsigned command)
{
	static char text[32];

	for (int i = 1; i < COMMANDS; i++) {
		if (command_rows[i].bit == command) {
			snprintf(text, sizeof(text), "%s --help", command_rows[i].name);
			return text;
		}
	}
	return "--help";
}

static int set_from_flags(struct options *o, unsigned command, int argc, char **argv)
{
	struct option longs[ROWS + 1] = {0};
	char shorts[2 * ROWS + 3] = "+:";
	size_t ns = 2, map[ROWS];
	int n = 0, c, index;

	for (size_t i = 0; i < ROWS; i++) {
		if (!(rows[i].commands & command))
			continue;
		map[n] = i;
		longs[n++] = (struct option){rows[i].name, rows[i].arg ? required_argument : no_argument,
					     NULL, 256 + (int)i};
		if (rows[i].letter) {
			shorts[ns++] = rows[i].letter;
			if (rows[i].arg)
				shorts[ns++] = ':';
		}
	}
	shorts[ns] = 0;
	opterr = 0;
	optind = 0; /* anew, whatever is left of a cluster of letters from before */
	while ((c = getopt_long(argc, argv, shorts, longs, &index)) != -1) {
		const struct option_row *r = NULL;

		if (c == ':') {
			log_error("%s needs a value; see gp-bpf %s", argv[optind - 1], command_help(command));
			return -EINVAL;
		}
		for (int i = 0; i < n && c != '?'; i++)
			if (c == 256 + (int)map[i] || (rows[map[i]].letter && c == rows[map[i]].letter))
				r = &rows[map[i]];
		if (!r) {
			log_error("unknown option %s; see gp-bpf %s", argv[optind - 1],
				  command_help(command));
			return -EINVAL;
		}
		if (row_set(o, r, FROM_FLAG, optarg)) {
			log_error("--%s: '%s' is not %s", r->name, optarg ? optarg : "", row_wants(r));
			return -EINVAL;
		}
	}
	o->argv = argv + optind;
	o->argc = argc - optind;
	return 0;
}

static int set_logging(const struct options *o)
{
	static const char *const levels[] = {"error", "warning", "info", "debug"};
	static const char *const formats[] = {"text", "logfmt", "json"};
	int level = LOG_WARN, format = LOG_TEXT;

	if (o->log_level) {
		for (level = 0; level < 4 && strcmp(o->log_level, levels[level]); level++)
			;
		if (level == 4) {
			log_error("--log-level: '%s' is not error, warning, info or debug", o->log_level);
			return -EINVAL;
		}
	}
	if (o->log_format) {
		for (format = 0; format < 3 && strcmp(o->log_format, formats[format]); format++)
			;
		if (format == 3) {
			log_error("--log-format: '%s' is not text, logfmt or json", o->log_format);
			return -EINVAL;
		}
	}
	log_setup(level, format);
	return 0;
}

static void show_usage(FILE *out, unsigned command)
{
	for (int i = 0; i < COMMANDS; i++) {
		const struct command_row *c = &command_rows[i];

		if (c->bit == command)
			fprintf(out, "usage: gp-bpf %s %s\n\n%s\n\n", c->name, c->args, c->help);
	}
	options_help(out, command);
}

static int show_and_free(struct options *o, unsigned command)
{
	if (o->help)
		show_usage(stdout, command);
	else if (o->version)
		puts("gp-bpf " GP_VERSION);
	else
		options_print(stdout, o, command);
	options_free(o);
	return EXIT_OK;
}

int options_parse(struct options *o, unsigned command, int argc, char **argv)
{
	int err;

	*o = (struct options){.ready_fd = -1,
			      .multiply = 1,
			      .overhead_ppm = OVERHEAD_PPM_DEFAULT,
			      .overhead_pause_ns = OVERHEAD_PAUSE_NS};
	memset(origins, 0, sizeof(origins));
	err = set_from_flags(o, command, argc, argv);
	if (!err && (o->help || o->version))
		return show_and_free(o, command);
	if (!err)
		err = set_from_environment(o, command);
	if (!err && o->config)
		err = config_read(o->config, set_from_file, o);
	if (!err)
		err = set_logging(o);
	if (err) {
		options_free(o);
		return EXIT_USAGE;
	}
	return o->print_config ? show_and_free(o, command) : -1;
}

void options_free(struct options *o)
{
	for (size_t i = 0; i < ROWS; i++) {
		void *at = (char *)o + rows[i].at;

		if (rows[i].type == OPTION_LIST)
			list_clear(at);
		else if (rows[i].type == OPTION_STRING) {
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
			log_error("--feature: '%s' is not NAME=off", item);
			return -EINVAL;
		}
		used += (size_t)snprintf(out + used, len - used, "%s%.*s", i ? "," : "", (int)(eq - item),
					 item);
		if (used >= len) {
			log_error("--feature: too many");
			return -EINVAL;
		}
	}
	return 0;
}

void options_help(FILE *out, unsigned command)
{
	char left[48];

	for (size_t i = 0; i < ROWS; i++) {
		const struct option_row *r = &rows[i];

		if (!(r->commands & command))
			continue;
		snprintf(left, sizeof(left), "%s--%s%s%s",
			 r->letter ? (char[]){'-', r->letter, ',', ' ', 0} : "    ", r->name,
			 r->arg ? " " : "", r->arg ? r->arg : "");
		fprintf(out, "  %-26s  %s\n", left, r->help);
	}
}

void options_print(FILE *out, const struct options *o, unsigned command)
{
	static const char *const origin_name[] = {"default", "file", "environment", "flag"};

	for (size_t i = 0; i < ROWS; i++) {
		const struct option_row *r = &rows[i];
		const void *at = (const char *)o + r->at;

		if (!(r->commands & command))
			continue;
		fprintf(out, "%-15s %-12s ", r->name, origin_name[origins[i]]);
		if (r->type == OPTION_FLAG)
			fprintf(out, "%s", *(const bool *)at ? "true" : "false");
		else if (r->type == OPTION_STRING)
			fprintf(out, "%s", *(char *const *)at ? *(char *const *)at : "-");
		else if (r->type == OPTION_LIST)
			for (int k = 0; k < ((const struct option_list *)at)->count; k++)
				fprintf(out, "%s%s", k ? " " : "", ((const struct option_list *)at)->item[k]);
		else if (r->type == OPTION_PERCENT)
			fprintf(out, "%g %%", (double)*(const int64_t *)at / 1e4);
		else
			fprintf(out, "%lld%s", (long long)*(const int64_t *)at,
				r->type == OPTION_DURATION ? " ns" : "");
		fputc('\n', out);
	}
}
