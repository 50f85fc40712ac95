/* SPDX-License-Identifier: Apache-2.0 */
/* option_print.c - the option --print-config: prints the effective settings as a file that --config
 * can read. */
#include <stdlib.h>
#include <string.h>

#include "userspace/base/json_text.h"
#include "userspace/ingest/durable.h"
#include "userspace/option/option_row.h"

#define ALNUM  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define HIDDEN "; only shown up to its host"

static const char *const origin_name[] = {"default", "file", "environment", "flag"};

/* default values that struct options does not have, because other code applies them */
static const struct {
	const char *name;
	unsigned commands;
	const char *value;
} defaults[] = {
	{"gcm-interval", CMD_ALL, "30s"},
	{"gcm-prefix", CMD_ALL, "custom"},
	{"gcm-replica", CMD_ALL, "0"},
	{"log-level", CMD_NODE, "info"},
	{"log-level", CMD_ALL, "warning"},
	{"log-format", CMD_ALL, "text"},
	{"sandbox", CMD_ALL, "\"on\""},
	{"window-length", CMD_ALL, "[1h, 24h, 7d]"},
	{"state-dir", CMD_ALL, "/var/cache/gp-bpf"},
};

/* Returns true for options that are not printed: those for tests, those for programs that start
 * gp-bpf, and those that choose the configuration. */
static bool print_row_internal(const struct option_row *r)
{
	static const char *const names[] = {"root", "ready-fd", "print-config", "help", "version"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(r->name, names[i]))
			return true;
	return false;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Prints a text, in quotes if YAML might otherwise take it for another type. */
static void print_put_text(FILE *out, const char *text, bool quotes)
{
	size_t len = strlen(text);
	struct buffer b = {0};

	if (!quotes && len && strchr(ALNUM "/", *text) && strspn(text, ALNUM "/_.+:@%=*-") == len &&
	    text[len - 1] != ':') {
		fputs(text, out);
		return;
	}
	json_string(&b, NULL, text);
	if (b.data)
		fputs(b.data, out);
	buffer_free(&b);
}

static void print_put_real(FILE *out, double value)
{
	char text[40];

	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	fputs(text, out);
}

/* Prints an item of a list option. Ranges and exclusions are printed as YAML maps, because they may
 * contain any character. */
static void print_put_item(FILE *out, const struct option_row *r, const char *item)
{
	const char *to = strchr(item, ','), *why = to ? strchr(to + 1, ',') : NULL,
		   *eq = strrchr(item, '=');
	char text[OPTION_EXCLUDE_MAX];

	if (!strcmp(r->name, "range") && eq) {
		snprintf(text, sizeof(text), "%.*s", (int)(eq - item), item);
		fputs("{match: ", out);
		print_put_text(out, text, true);
		fputs(", bucket: ", out);
		print_put_text(out, eq + 1, true);
		fputc('}', out);
	} else if (!strcmp(r->name, "exclude") && why) {
		fprintf(out, "{from: %.*s, to: %.*s, why: ", (int)(to - item), item,
			(int)(why - to - 1), to + 1);
		print_put_text(out, why + 1, true);
		fputc('}', out);
	} else {
		print_put_text(out, item, false);
	}
}

/* Prints the value of an option. Returns false if it is not set. */
static bool print_put_scalar(FILE *out, const struct option_row *r, const void *at)
{
	char text[32];

	switch (r->type) {
	case OPTION_FLAG:
		fputs(*(const bool *)at ? "true" : "false", out);
		return true;
	case OPTION_STRING:
		if (*(char *const *)at)
			print_put_text(out, *(char *const *)at, false);
		return *(char *const *)at;
	case OPTION_REAL:
		if (*(const double *)at > 0)
			print_put_real(out, *(const double *)at);
		return *(const double *)at > 0;
	case OPTION_PERCENT:
		print_put_real(out, (double)*(const int64_t *)at / 1e4);
		return true;
	case OPTION_DURATION:
	case OPTION_SIZE:
		if (*(const int64_t *)at)
			fputs(option_scaled(text, sizeof(text), *(const int64_t *)at,
					    r->type == OPTION_DURATION),
			      out);
		return *(const int64_t *)at;
	default:
		if (*(const int64_t *)at >= r->min)
			fprintf(out, "%lld", (long long)*(const int64_t *)at);
		return *(const int64_t *)at >= r->min;
	}
}

/* ---- lines ----------------------------------------------------------------------------------- */

struct print {
	FILE *out;
	const struct options *o;
	unsigned command;
};

static const void *print_value_at(const struct print *p, size_t i)
{
	return (const char *)p->o + option_rows[i].at;
}

/* Returns true if the item has a URL that may contain secrets. Only the URL's host may then be
 * printed, and the item is printed as a comment. */
static bool print_item_hidden(const struct option_row *r, const char *item)
{
	return item[option_value_public_len(r, item)];
}

static bool print_row_shown(const struct print *p, size_t i)
{
	const struct option_row *r = &option_rows[i];
	const struct option_list *list = print_value_at(p, i);

	if (option_origin(i) == FROM_DEFAULT)
		return false;
	if (r->type == OPTION_STRING)
		return !print_item_hidden(r, *(char *const *)print_value_at(p, i));
	for (int k = 0; r->type == OPTION_LIST && k < list->count; k++)
		if (!print_item_hidden(r, list->item[k]))
			return true;
	return r->type != OPTION_LIST;
}

static void print_put_hidden(const struct print *p, const struct option_row *r, const char *item)
{
	fprintf(p->out, "%.*s/...", (int)option_value_public_len(r, item), item);
}

static void print_put_items(const struct print *p, size_t i, const char *indent)
{
	const struct option_list *list = print_value_at(p, i);
	const struct option_row *r = &option_rows[i];

	for (int k = 0; k < list->count; k++) {
		bool hidden = print_item_hidden(r, list->item[k]);

		fprintf(p->out, "%s%s- ", hidden ? "#" : "", indent);
		if (hidden)
			print_put_hidden(p, r, list->item[k]);
		else
			print_put_item(p->out, r, list->item[k]);
		fprintf(p->out, "  # %s%s\n", origin_name[option_origin(i)], hidden ? HIDDEN : "");
	}
}

static void print_put_default(const struct print *p, size_t i)
{
	const struct option_row *r = &option_rows[i];

	for (size_t k = 0; k < sizeof(defaults) / sizeof(defaults[0]); k++) {
		if (strcmp(defaults[k].name, r->name) != 0 || !(defaults[k].commands & p->command))
			continue;
		fprintf(p->out, "%s  # default\n",
			p->o->durable && !strcmp(r->name, "state-dir") ? DURABLE_DIR
								       : defaults[k].value);
		return;
	}
	if (r->type != OPTION_LIST && print_put_scalar(p->out, r, print_value_at(p, i)))
		fputs("  # default\n", p->out);
	else
		fprintf(p->out, r->type == OPTION_LIST ? "[%s]\n" : "%s\n", r->arg);
}

static void print_put_row(const struct print *p, size_t i, const char *key, const char *indent)
{
	const struct option_row *r = &option_rows[i];
	const void *at = print_value_at(p, i);

	fprintf(p->out, "%s%s%s:", print_row_shown(p, i) ? "" : "#", indent, key);
	if (option_origin(i) == FROM_DEFAULT) {
		fputc(' ', p->out);
		print_put_default(p, i);
		return;
	}
	if (r->type == OPTION_LIST) {
		fputc('\n', p->out);
		print_put_items(p, i, *indent ? "    " : "  ");
		return;
	}
	fputc(' ', p->out);
	if (print_row_shown(p, i))
		print_put_scalar(p->out, r, at);
	else
		print_put_hidden(p, r, *(char *const *)at);
	fprintf(p->out, "  # %s%s\n", origin_name[option_origin(i)],
		print_row_shown(p, i) ? "" : HIDDEN);
}

/* Returns true if row k belongs to the command and to the section that begins with row i. */
static bool print_same_section(const struct print *p, size_t i, size_t k)
{
	size_t len = strcspn(option_rows[i].key, ".") + 1;

	return option_rows[k].commands & p->command && option_rows[k].key &&
	       !strncmp(option_rows[k].key, option_rows[i].key, len);
}

static void print_put_section(const struct print *p, size_t i)
{
	size_t len = strcspn(option_rows[i].key, ".");
	bool any = false;

	for (size_t k = 0; k < i; k++)
		if (print_same_section(p, i, k))
			return;
	for (size_t k = i; k < OPTION_ROWS; k++)
		any |= print_same_section(p, i, k) && print_row_shown(p, k);
	fprintf(p->out, "%s%.*s:\n", any ? "" : "#", (int)len, option_rows[i].key);
	for (size_t k = i; k < OPTION_ROWS; k++)
		if (print_same_section(p, i, k))
			print_put_row(p, k, option_rows[k].key + len + 1, "  ");
}

/* Prints an option that is not allowed in a file (--pid, --for...) as a comment. */
static void print_put_flag(const struct print *p, size_t i)
{
	const struct option_row *r = &option_rows[i];
	const struct option_list *list = print_value_at(p, i);
	int n = r->type == OPTION_LIST ? list->count : 1;

	for (int k = 0; k < n; k++) {
		fprintf(p->out, "# --%s", r->name);
		if (r->type == OPTION_LIST) {
			fputc(' ', p->out);
			print_put_text(p->out, list->item[k], false);
		} else if (r->type != OPTION_FLAG) {
			fputc(' ', p->out);
			print_put_scalar(p->out, r, print_value_at(p, i));
		}
		fprintf(p->out, "  # %s\n", origin_name[option_origin(i)]);
	}
}

void options_print(FILE *out, const struct options *o, unsigned command)
{
	struct print p = {out, o, command};

	fputs("# Settings of gp-bpf " GP_VERSION
	      ", for --config. After #: the origin of a value, or a setting that is not set.\n"
	      "version: 1\n",
	      out);
	for (size_t i = 0; i < OPTION_ROWS; i++) {
		const struct option_row *r = &option_rows[i];

		if (!(r->commands & command) || print_row_internal(r))
			continue;
		if (!r->key && option_origin(i) != FROM_DEFAULT)
			print_put_flag(&p, i);
		else if (r->key && strchr(r->key, '.'))
			print_put_section(&p, i);
		else if (r->key)
			print_put_row(&p, i, r->key, "");
	}
}
