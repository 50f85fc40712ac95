/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/option/option_choice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "loader/loader.h"
#include "userspace/base/buffer.h"
#include "userspace/base/log.h"
#include "userspace/export/export.h"
#include "userspace/export/hook/hook.h"
#include "userspace/model/time/accelerator_peak.h"
#include "userspace/model/step/step.h"
#include "userspace/view/top_frame.h"

const char *const option_log_levels[] = {"error", "warning", "info", "debug", NULL};
const char *const option_log_formats[] = {"text", "logfmt", "json", NULL};

typedef const char *choice_fn(size_t i);

static const char *choice_export(size_t i)
{
	return export_spec(EXPORT_EVENTS, i);
}

static const char *choice_export_store(size_t i)
{
	return export_spec(EXPORT_STORE, i);
}

static const char *choice_export_log(size_t i)
{
	return export_spec(EXPORT_LOG, i);
}

static const char *choice_accelerator(size_t i)
{
	const struct accelerator_peak *p = accelerator_peak_at(i);

	return p ? p->name : NULL;
}

static const char *choice_marker(size_t i)
{
	size_t b = BOUNDARY_NONE + 1 + i;

	return b < BOUNDARY_MARKER_END ? boundary_name[b] : NULL;
}

static const char *choice_sort(size_t i)
{
	return i < TOP_JOB_SORT_COUNT ? top_job_sorts[i].name : NULL;
}

static const char *choice_feature(size_t i)
{
	static char text[64];
	const char *name = loader_feature_name(i);

	snprintf(text, sizeof(text), "%s=off", name ? name : "");
	return name ? text : NULL;
}

static const char *choice_event(size_t i)
{
	static char text[64];

	if (i >= HOOK_EVENTS)
		return NULL;
	snprintf(text, sizeof(text), "%s=FILE", hook_event_name[i]);
	return text;
}

static const char *const keys[] = {"namespace=GLOB", "user=GLOB", "command=GLOB", "cgroup=GLOB",
				   NULL};
static const char *const semantics[] = {"closed", "library", NULL};
static const char *const calculators[] = {"standard", "elastic", NULL};
static const char *const prefixes[] = {"custom", "workload", NULL};
static const char *const stores[] = {"default", "none", NULL};

static const struct choices {
	const char *option;
	unsigned commands;
	const char *const *words;
	choice_fn *word;
	bool list;
	bool closed; /* only the listed values are valid */
} all[] = {
	{"log-level", CMD_ALL, option_log_levels, NULL, false, true},
	{"log-format", CMD_ALL, option_log_formats, NULL, false, true},
	{"export", CMD_WATCH | CMD_REPLAY, NULL, choice_export, false, false},
	{"export", CMD_REPORT, NULL, choice_export_store, false, false},
	{"export", CMD_ACCOUNT, NULL, choice_export_log, false, false},
	{"allow", CMD_ALL, keys, NULL, false, false},
	{"deny", CMD_ALL, keys, NULL, false, false},
	{"semantics", CMD_ALL, semantics, NULL, false, true},
	{"calculator", CMD_ALL, calculators, NULL, false, true},
	{"gcm-prefix", CMD_ALL, prefixes, NULL, false, true},
	{"store", CMD_WATCH | CMD_REPLAY, stores, NULL, false, false},
	{"store", CMD_ALL, (const char *const[]){"default", NULL}, NULL, false, false},
	{"carry", CMD_ALL, (const char *const[]){"configmap", NULL}, NULL, false, false},
	{"sandbox", CMD_ALL, (const char *const[]){"on", "off", NULL}, NULL, false, true},
	{"accelerator", CMD_ALL, NULL, choice_accelerator, false, false},
	{"marker", CMD_ALL, NULL, choice_marker, false, false},
	{"sort", CMD_ALL, NULL, choice_sort, false, true},
	{"feature", CMD_ALL, NULL, choice_feature, false, true},
	{"on", CMD_ALL, NULL, choice_event, true, false},
};

static const struct choices *choices_of(const struct option_row *r, unsigned command)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].commands & command && !strcmp(all[i].option, r->name))
			return &all[i];
	return NULL;
}

const char *option_choice(const struct option_row *r, unsigned command, size_t i)
{
	const struct choices *c = choices_of(r, command);

	if (!c)
		return NULL;
	if (c->word)
		return c->word(i);
	for (size_t k = 0; k < i; k++)
		if (!c->words[k])
			return NULL;
	return c->words[i];
}

const char *option_row_help(const struct option_row *r)
{
	static char text[1100];

	if (r->help)
		return r->help;
	if (r->commands & CMD_ACCOUNT)
		return export_usage(EXPORT_LOG);
	snprintf(text, sizeof(text), "%s (repeatable)",
		 export_usage(r->commands & CMD_REPORT ? EXPORT_STORE : EXPORT_EVENTS));
	return text;
}

static int choice_refuse(const struct option_row *r, unsigned command, const char *value)
{
	struct buffer words = {0};
	const char *word;

	for (size_t i = 0; (word = option_choice(r, command, i)); i++)
		buffer_printf(&words, "%s%s", i ? ", " : "", word);
	log_error("--%s: '%s' is not one of %s", r->name, value, words.data ? words.data : "");
	buffer_free(&words);
	return -EINVAL;
}

static bool choice_is(const struct option_row *r, unsigned command, const char *value)
{
	const char *word;

	for (size_t i = 0; (word = option_choice(r, command, i)); i++)
		if (!strcmp(word, value))
			return true;
	return false;
}

int options_choices(const struct options *o, unsigned command)
{
	for (size_t i = 0; i < OPTION_ROWS; i++) {
		const struct option_row *r = &option_rows[i];
		const struct choices *c = r->commands & command ? choices_of(r, command) : NULL;
		const void *at = (const char *)o + r->at;
		const struct option_list *list = at;
		const char *value = c && r->type == OPTION_STRING ? *(char *const *)at : NULL;

		if (!c || !c->closed)
			continue;
		if (value && !choice_is(r, command, value))
			return choice_refuse(r, command, value);
		for (int k = 0; r->type == OPTION_LIST && k < list->count; k++)
			if (!choice_is(r, command, list->item[k]))
				return choice_refuse(r, command, list->item[k]);
	}
	return 0;
}

bool option_choice_list(const struct option_row *r)
{
	const struct choices *c = choices_of(r, r->commands);

	return c && c->list;
}

int option_choice_find(const char *const *words, const char *word)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(words[i], word))
			return i;
	return -1;
}
