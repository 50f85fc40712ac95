/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/http/http_accept.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#define ACCEPT_Q_ONE 1000 /* quality value q=1 of a media range, in thousandths */

struct span {
	const char *at;
	size_t len;
};

/* A media range in a list: "text/plain;version=0.0.4;q=0.5". */
struct element {
	struct span name, version, charset;
	int q; /* -1: malformed */
};

static bool http_accept_span_is(struct span s, const char *text)
{
	return s.len == strlen(text) && !strncasecmp(s.at, text, s.len);
}

static struct span http_accept_span_trim(struct span s)
{
	while (s.len && (*s.at == ' ' || *s.at == '\t')) {
		s.at++;
		s.len--;
	}
	while (s.len && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t'))
		s.len--;
	return s;
}

/* Returns the text at *at up to one of the characters in `stops`, and advances *at to this
 * character. Characters in quoted strings do not count. */
static struct span http_accept_span_take(const char **at, const char *stops)
{
	struct span s = {.at = *at};
	bool quoted = false;

	for (; **at && (quoted || !strchr(stops, **at)); (*at)++) {
		if (**at == '"')
			quoted = !quoted;
		else if (quoted && **at == '\\' && (*at)[1])
			(*at)++;
	}
	s.len = (size_t)(*at - s.at);
	return http_accept_span_trim(s);
}

/* Parses a quality value "0", "0.75" or "1.000" to thousandths; further decimals are ignored.
 * Returns -1 if malformed. */
static int accept_q(struct span s)
{
	int q = 0, unit = ACCEPT_Q_ONE;

	if (!s.len || (*s.at != '0' && *s.at != '1') || (s.len > 1 && s.at[1] != '.'))
		return -1;
	q = (*s.at - '0') * unit;
	for (size_t i = 2; i < s.len; i++) {
		if (s.at[i] < '0' || s.at[i] > '9')
			return -1;
		unit /= 10;
		q += (s.at[i] - '0') * unit;
	}
	return q <= ACCEPT_Q_ONE ? q : -1;
}

static void http_accept_element_parameter(struct element *e, struct span s)
{
	const char *equals = memchr(s.at, '=', s.len);
	struct span key, value;

	if (!equals)
		return;
	key = http_accept_span_trim((struct span){s.at, (size_t)(equals - s.at)});
	value = http_accept_span_trim(
		(struct span){equals + 1, s.len - (size_t)(equals + 1 - s.at)});
	if (value.len > 1 && *value.at == '"' && value.at[value.len - 1] == '"')
		value = (struct span){value.at + 1, value.len - 2};
	if (http_accept_span_is(key, "q"))
		e->q = accept_q(value);
	else if (http_accept_span_is(key, "version"))
		e->version = value;
	else if (http_accept_span_is(key, "charset"))
		e->charset = value;
}

/* Reads the next media range of a list to *e. Returns false at the end of the list. */
static bool http_accept_element_next(const char **at, struct element *e)
{
	*at += strspn(*at, " \t,");
	if (!**at)
		return false;
	*e = (struct element){.name = http_accept_span_take(at, ",;"), .q = ACCEPT_Q_ONE};
	while (**at == ';') {
		(*at)++;
		http_accept_element_parameter(e, http_accept_span_take(at, ",;"));
	}
	return true;
}

struct offer {
	const char *type, *range, *version;
};
static const struct offer offers[PROMETHEUS_FORMATS] = {
	[PROMETHEUS_TEXT] = {"text/plain", "text/*", "0.0.4"},
	[PROMETHEUS_OPENMETRICS] = {"application/openmetrics-text", "application/*", "1.0.0"},
};

/* Returns how specific the match of a media range is; -1: no match. A media range without a version
 * is less specific than one with a version. */
static int http_accept_offer_match(const struct offer *o, const struct element *e)
{
	if (http_accept_span_is(e->name, "*/*"))
		return 0;
	if (http_accept_span_is(e->name, o->range))
		return 1;
	if (!http_accept_span_is(e->name, o->type) ||
	    (e->charset.len && !http_accept_span_is(e->charset, "utf-8")))
		return -1;
	if (!e->version.len)
		return 2;
	return http_accept_span_is(e->version, o->version) ? 3 : -1;
}

enum prometheus_format http_accept_format(const char *accept)
{
	struct {
		int q, match, place;
	} best[PROMETHEUS_FORMATS] = {{0, -1, 0}, {0, -1, 0}}, *text = &best[PROMETHEUS_TEXT],
	  *open = &best[PROMETHEUS_OPENMETRICS];
	struct element e;
	bool text_named, open_named;

	for (int place = 0; accept && http_accept_element_next(&accept, &e); place++) {
		for (int i = 0; e.q >= 0 && i < PROMETHEUS_FORMATS; i++) {
			int match = http_accept_offer_match(&offers[i], &e);

			if (match > best[i].match ||
			    (match >= 0 && match == best[i].match && e.q > best[i].q)) {
				best[i].match = match;
				best[i].q = e.q;
				best[i].place = place;
			}
		}
	}
	text_named = text->match >= 2;
	open_named = open->match >= 2;
	if (open->q != text->q)
		return open->q > text->q ? PROMETHEUS_OPENMETRICS : PROMETHEUS_TEXT;
	if (!open->q)
		return PROMETHEUS_TEXT;
	if (open_named != text_named)
		return open_named ? PROMETHEUS_OPENMETRICS : PROMETHEUS_TEXT;
	return open->place < text->place ? PROMETHEUS_OPENMETRICS : PROMETHEUS_TEXT;
}

bool http_accept_gzip(const char *accept_encoding)
{
	int gzip = -1, identity = -1, any = -1;
	struct element e;

	while (accept_encoding && http_accept_element_next(&accept_encoding, &e)) {
		if (e.q < 0)
			continue;
		if (http_accept_span_is(e.name, "gzip") || http_accept_span_is(e.name, "x-gzip"))
			gzip = e.q > gzip ? e.q : gzip;
		else if (http_accept_span_is(e.name, "identity"))
			identity = e.q;
		else if (http_accept_span_is(e.name, "*"))
			any = e.q;
	}
	if (gzip < 0) /* gzip is not named: use it only if plain text is refused */
		return any > 0 && any > identity && identity >= 0;
	return gzip > 0 && gzip >= identity;
}

const char *prometheus_content_type(enum prometheus_format format)
{
	if (format == PROMETHEUS_OPENMETRICS)
		return "application/openmetrics-text; version=1.0.0; charset=utf-8";
	return "text/plain; version=0.0.4; charset=utf-8";
}
