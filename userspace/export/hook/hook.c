/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/hook/hook.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/cloud/web.h"
#include "userspace/export/hook/hook_file.h"

#define BLANK	     " \t"
#define CONTENT_TYPE "Content-Type: application/json"

const char *const hook_event_name[HOOK_EVENTS] = {
	[HOOK_DISRUPTION] = "disruption",
	[HOOK_RECOVERED] = "recovered",
	[HOOK_HANG] = "hang",
	[HOOK_FAIL_SLOW] = "fail_slow",
	[HOOK_STRAGGLER] = "straggler",
	[HOOK_DEVICE_ERROR] = "device_error",
};

enum hook_event hook_event_of(const struct fact *f)
{
	if (f->type == FACT_DISRUPTION)
		return f->disruption->over ? HOOK_RECOVERED : HOOK_DISRUPTION;
	if (f->type != FACT_HEALTH)
		return HOOK_EVENTS;
	if (f->health->name)
		return HOOK_DEVICE_ERROR;
	for (int i = HOOK_RECOVERED; i < HOOK_DEVICE_ERROR; i++)
		if (!strcmp(f->health->kind, hook_event_name[i]))
			return (enum hook_event)i;
	return HOOK_EVENTS;
}

/* ---- the option ------------------------------------------------------------------------------ */

static int hook_parse_events(struct hook *h, const char *spec, size_t len)
{
	for (size_t at = 0, n; at <= len; at += n + 1) {
		int event = 0;

		n = strcspn(spec + at, ",=");
		while (event < HOOK_EVENTS && (strlen(hook_event_name[event]) != n ||
					       memcmp(hook_event_name[event], spec + at, n) != 0))
			event++;
		if (event == HOOK_EVENTS) {
			log_error(
				"--on %.*s: no such event; use disruption, recovered, hang, fail_slow, straggler or device_error, separated by commas",
				(int)len, spec);
			return -EINVAL;
		}
		h->events |= 1u << event;
	}
	return 0;
}

/* Splits h->text in place into words separated by blanks. Single and double quotes keep blanks; no
 * other character is special. Returns 0; -E2BIG: too many words; -EINVAL: a quote is not closed. */
static int hook_parse_words(struct hook *h)
{
	char *from = h->text, *to = h->text;
	int n = 0;

	for (;;) {
		from += strspn(from, BLANK);
		if (!*from)
			return 0;
		if (n == HOOK_WORDS)
			return -E2BIG;
		h->words[n++] = to;
		while (*from && !strchr(BLANK, *from)) {
			char quote = *from == '"' || *from == '\'' ? *from++ : 0;
			size_t len = quote ? strcspn(from, (char[]){quote, 0})
					   : strcspn(from, BLANK "\"'");

			memmove(to, from, len);
			to += len;
			from += len;
			if (quote && *from++ != quote)
				return -EINVAL;
		}
		/* advance now, because the next line of code may overwrite this byte */
		from += *from != 0;
		*to++ = '\0';
	}
}

/* Checks the URL, and sets the label to the part that may be logged: scheme and host. */
static int hook_parse_url(struct hook *h, const char *events, int nevents)
{
	bool secure = !strncmp(h->url, "https://", 8);
	const char *host = h->url + (secure ? 8 : 7);
	size_t len = strcspn(host, "/?#");

	for (const char *p = h->url; *p; p++) {
		if ((unsigned char)*p > ' ' && *p != 0x7f)
			continue;
		log_error("--on %.*s: the URL contains a blank or a control character", nevents,
			  events);
		return -EINVAL;
	}
	if (!len || memchr(host, '@', len)) {
		log_error(
			"--on %.*s: the URL %s", nevents, events,
			len ? "contains a user name; put an Authorization header into a file (--on EVENT=@FILE)"
			    : "has no host");
		return -EINVAL;
	}
	snprintf(h->label, sizeof(h->label), "%.*s", (int)(host + len - h->url), h->url);
	if (!secure && !web_is_loopback(h->url))
		log_warn("--on %.*s: %s: events are sent unencrypted; use https://", nevents,
			 events, h->label);
	h->headers[0] = CONTENT_TYPE;
	return 0;
}

static bool hook_is_url(const char *text)
{
	return !strncmp(text, "https://", 8) || !strncmp(text, "http://", 7);
}

/* Returns true for a header: "Name: value". */
static bool hook_is_header(const char *line)
{
	size_t name = strspn(line,
			     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");

	for (const char *p = line; *p; p++)
		if (((unsigned char)*p < ' ' && *p != '\t') || *p == 0x7f)
			return false;
	return name && line[name] == ':';
}

/* Reads the file's lines: a URL, then headers; blank lines and those with # are skipped. */
static int hook_parse_lines(struct hook *h, const char *path)
{
	size_t n = 1;
	int number = 0;

	for (char *line = h->text, *next; line; line = next) {
		size_t len;

		number++;
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		line += strspn(line, BLANK);
		len = strlen(line);
		while (len && strchr(BLANK "\r", line[len - 1]))
			line[--len] = '\0';
		if (!len || *line == '#')
			continue;
		if (!h->url && hook_is_url(line)) {
			h->url = line;
		} else if (h->url && hook_is_header(line) && n <= HOOK_HEADERS) {
			h->headers[n++] = line;
		} else {
			log_error("%s:%d: expected %s", path, number,
				  !h->url	     ? "https://HOST/..."
				  : n > HOOK_HEADERS ? "at most 8 headers"
						     : "a header (Name: value)");
			return -EINVAL;
		}
	}
	if (h->url)
		return 0;
	log_error("%s: the file contains no URL", path);
	return -EINVAL;
}

static int hook_parse_command(struct hook *h, const char *events, int nevents)
{
	int err = hook_parse_words(h);

	if (err) {
		log_error("--on %.*s: %s", nevents, events,
			  err == -E2BIG ? "the command has more than 31 arguments"
					: "a quote in the command is not closed");
		return err;
	}
	snprintf(h->label, sizeof(h->label), "%s", h->words[0]);
	return 0;
}

/* Parses the events, and checks the form of the action. *ret_action: the text after the events. */
static int hook_parse_form(struct hook *h, const char *spec, const char **ret_action)
{
	size_t len = strcspn(spec, "=");
	const char *action = spec + len + (spec[len] == '=');
	int err = hook_parse_events(h, spec, len), n = (int)len;

	*ret_action = action;
	if (err)
		return err;
	if (strlen(action) >= HOOK_ACTION_MAX) {
		log_error("--on %.*s: the action is longer than %d bytes", n, spec,
			  HOOK_ACTION_MAX - 1);
		return -EINVAL;
	}
	if (*action != '/' && *action != '@' && !hook_is_url(action)) {
		log_error(
			"--on %.*s: unknown action; expected =/PATH [ARGUMENT...] (an absolute path), =https://HOST/..., or =@FILE with a URL in FILE",
			n, spec);
		return -EINVAL;
	}
	return 0;
}

int hook_check(const char *spec)
{
	struct hook h = {0};
	const char *action;

	return hook_parse_form(&h, spec, &action);
}

int hook_parse(struct hook *h, const char *spec)
{
	const char *action;
	int err = hook_parse_form(h, spec, &action), n = (int)strcspn(spec, "=");

	if (err)
		return err;
	if (*action == '@') {
		err = hook_file_secret(action + 1, HOOK_ACTION_MAX, &h->text);
		if (!err)
			err = hook_parse_lines(h, action + 1);
	} else {
		h->text = strdup(action);
		if (!h->text)
			return -ENOMEM;
		h->url = *action == '/' ? NULL : h->text;
	}
	if (err)
		return err;
	return h->url ? hook_parse_url(h, spec, n) : hook_parse_command(h, spec, n);
}

void hook_free(struct hook *h)
{
	free(h->text);
	*h = (struct hook){0};
}
