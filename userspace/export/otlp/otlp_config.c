/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/otlp/otlp_config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/buffer.h"
#include "userspace/base/log.h"
#include "userspace/cloud/web.h"

#define NS_PER_S       1000000000ull
#define INTERVAL_S     10
#define INTERVAL_MAX_S 3600
#define SAMPLE	       100
#define TIMEOUT_MS     10000 /* limit of a request: the specification's default */
#define TIMEOUT_MAX_MS 300000
#define VALUE_MAX      4096
#define WRONG	       "expected [URL][,interval=SECONDSs][,sample=STEPS][,compression=gzip]"

const char *const otlp_signal_name[OTLP_SIGNALS] = {
	[OTLP_TRACES] = "traces", [OTLP_METRICS] = "metrics"};

/* ---- the argument ---------------------------------------------------------------------------- */

struct argument {
	char *url; /* NULL: the argument has no URL */
	bool gzip;
};

static bool otlp_config_number(const char *text, uint64_t most, const char *unit, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !errno && !strcmp(end, unit) && *ret >= 1 &&
	       *ret <= most;
}

static int otlp_config_argument_key(struct otlp_config *c, struct argument *a, const char *key)
{
	uint64_t value;

	if (!strncmp(key, "interval=", 9)) {
		if (!otlp_config_number(key + 9, INTERVAL_MAX_S, "s", &value)) {
			log_error("--export otlp: %s: expected 1s to 3600s", key);
			return -EINVAL;
		}
		c->interval_ns = value * NS_PER_S;
		return 0;
	}
	if (!strncmp(key, "sample=", 7)) {
		if (!otlp_config_number(key + 7, OTLP_SAMPLE_MAX, "", &value)) {
			log_error("--export otlp: %s: expected 1 (every step) to %u", key,
				  OTLP_SAMPLE_MAX);
			return -EINVAL;
		}
		c->sample = (uint32_t)value;
		return 0;
	}
	if (!strcmp(key, "compression=gzip")) {
		a->gzip = true;
		return 0;
	}
	log_error("--export otlp: unknown key %.*s; " WRONG, (int)strcspn(key, "="), key);
	return -EINVAL;
}

static bool otlp_config_is_url(const char *text)
{
	return !strncmp(text, "http://", 7) || !strncmp(text, "https://", 8);
}

/* Parses the argument of --export otlp:ARGUMENT. Cuts text at its commas; ret->url points into
 * text. */
static int otlp_config_argument_read(struct otlp_config *c, char *text, struct argument *ret)
{
	char *at = text, *next;
	int err = 0;

	for (bool first = true; !err && at; first = false, at = next) {
		next = strchr(at, ',');
		if (next)
			*next++ = '\0';
		if (first && (!*at || otlp_config_is_url(at)))
			ret->url = *at ? at : NULL;
		else if (first && !strchr(at, '=')) {
			log_error("--export otlp: address without http:// or https://; " WRONG);
			err = -EINVAL;
		} else
			err = otlp_config_argument_key(c, ret, at);
	}
	return err;
}

/* ---- the environment ------------------------------------------------------------------------- */

/* Returns the value of OTEL_EXPORTER_OTLP_TRACES_WHAT or ..._METRICS_WHAT (*ret_own is then true),
 * else of OTEL_EXPORTER_OTLP_WHAT. An empty variable counts as unset. */
static const char *otlp_config_setting(enum otlp_signal signal, const char *what, bool *ret_own)
{
	static const char *const part[OTLP_SIGNALS] = {
		[OTLP_TRACES] = "TRACES_", [OTLP_METRICS] = "METRICS_"};
	const char *value;
	char name[64];

	snprintf(name, sizeof(name), "OTEL_EXPORTER_OTLP_%s%s", part[signal], what);
	value = getenv(name);
	*ret_own = value && *value;
	if (*ret_own)
		return value;
	snprintf(name, sizeof(name), "OTEL_EXPORTER_OTLP_%s", what);
	value = getenv(name);
	return value && *value ? value : NULL;
}

/* Returns a copy of text with percent-encoding decoded and surrounding blanks removed; NULL: no
 * memory, or invalid encoding. */
static char *otlp_config_decoded(const char *text, size_t len)
{
	char *out, *to;

	while (len && (*text == ' ' || *text == '\t')) {
		text++;
		len--;
	}
	while (len && (text[len - 1] == ' ' || text[len - 1] == '\t'))
		len--;
	out = to = len < VALUE_MAX ? malloc(len + 1) : NULL;
	for (size_t i = 0; out && i < len; i++) {
		char hex[3] = "";

		if (text[i] == '%' && i + 2 < len && isxdigit((unsigned char)text[i + 1]) &&
		    isxdigit((unsigned char)text[i + 2])) {
			memcpy(hex, text + i + 1, 2);
			*to++ = (char)strtoul(hex, NULL, 16);
			i += 2;
		} else {
			*to++ = text[i];
		}
		if (!to[-1]) {
			free(out);
			return NULL;
		}
	}
	if (out)
		*to = '\0';
	return out;
}

/* Calls put() for each pair of "key=value,key=value". Returns 0, or -EINVAL when a part is not a
 * pair. put() takes ownership of key and value if it returns 0. */
static int otlp_config_each_pair(const char *text, int (*put)(void *ctx, char *key, char *value),
				 void *ctx)
{
	for (size_t len; *text; text += len + (text[len] == ',')) {
		const char *equal;
		char *key, *value;
		int err;

		len = strcspn(text, ",");
		if (strspn(text, " \t") >= len)
			continue;
		equal = memchr(text, '=', len);
		if (!equal || equal == text)
			return -EINVAL;
		key = otlp_config_decoded(text, (size_t)(equal - text));
		value = otlp_config_decoded(equal + 1, len - (size_t)(equal + 1 - text));
		err = key && value && *key ? put(ctx, key, value) : -EINVAL;
		if (err) {
			free(key);
			free(value);
			return err;
		}
	}
	return 0;
}

/* ---- endpoints ------------------------------------------------------------------------------- */

/* Returns true for a valid header of RFC 9110: the name is a token, the value has no control
 * characters. */
static bool otlp_config_is_header(const char *name, const char *value)
{
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("!#$%&'*+-.^_`|~", *name))
			return false;
	for (; *value; value++)
		if ((unsigned char)*value < ' ' || *value == 0x7f)
			return false;
	return true;
}

static int otlp_config_put_header(void *ctx, char *name, char *value)
{
	struct otlp_endpoint *w = ctx;
	struct buffer line = {0};
	int n = 0;

	while (w->headers[n])
		n++;
	if (n >= OTLP_HEADERS + 1 || !otlp_config_is_header(name, value))
		return -EINVAL;
	buffer_printf(&line, "%s: %s", name, value);
	if (line.failed) {
		buffer_free(&line);
		return -ENOMEM;
	}
	w->headers[n] = line.data;
	free(name);
	free(value);
	return 0;
}

static int otlp_config_headers_read(struct otlp_endpoint *w, enum otlp_signal signal)
{
	bool own;
	const char *text = otlp_config_setting(signal, "HEADERS", &own);
	int err;

	w->headers[0] = strdup("Content-Type: application/json");
	if (!w->headers[0])
		return -ENOMEM;
	err = text ? otlp_config_each_pair(text, otlp_config_put_header, w) : 0;
	if (err == -EINVAL)
		log_error(
			"OTEL_EXPORTER_OTLP_HEADERS: expected up to %d of name=value[,name=value...], values percent-encoded",
			OTLP_HEADERS);
	return err;
}

static bool otlp_config_url_fits(const char *url)
{
	const char *host = strstr(url, "://");

	if (!otlp_config_is_url(url) || !host)
		return false;
	host += 3;
	for (const char *c = url; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return false;
	return *host && !strchr("/:", *host) && !strpbrk(host, "?#@") && strlen(url) < VALUE_MAX;
}

/* Sets the URL of a signal. An address for only this signal is used as it is; /v1/SIGNAL is
 * appended to an address for all signals. */
static int otlp_config_url_read(struct otlp_endpoint *w, enum otlp_signal signal,
				const struct argument *a)
{
	bool own = false;
	const char *base = a->url ? a->url : otlp_config_setting(signal, "ENDPOINT", &own);
	struct buffer url = {0};
	size_t len;

	base = base ? base : OTLP_ENDPOINT;
	if (!otlp_config_url_fits(base)) {
		log_error(
			"%s: address for %s: expected http://HOST[:PORT][/PATH] or https://..., without user and query (use headers for credentials)",
			a->url ? "--export otlp" : "OTEL_EXPORTER_OTLP_ENDPOINT",
			otlp_signal_name[signal]);
		return -EINVAL;
	}
	for (len = strlen(base); !own && base[len - 1] == '/'; len--)
		;
	buffer_add(&url, base, len);
	if (!own)
		buffer_printf(&url, "/v1/%s", otlp_signal_name[signal]);
	w->url = url.data;
	return url.failed ? -ENOMEM : 0;
}

static int otlp_config_endpoint_read(struct otlp_endpoint *w, enum otlp_signal signal,
				     const struct argument *a)
{
	const char *timeout, *form;
	bool own;
	int err = otlp_config_url_read(w, signal, a);

	if (!err)
		err = otlp_config_headers_read(w, signal);
	if (err)
		return err;
	w->timeout_ms = TIMEOUT_MS;
	timeout = otlp_config_setting(signal, "TIMEOUT", &own);
	if (timeout && !otlp_config_number(timeout, TIMEOUT_MAX_MS, "", &w->timeout_ms)) {
		log_warn("OTEL_EXPORTER_OTLP_TIMEOUT is ignored: expected milliseconds, 1 to %d",
			 TIMEOUT_MAX_MS);
		w->timeout_ms = TIMEOUT_MS;
	}
	form = otlp_config_setting(signal, "COMPRESSION", &own);
	w->gzip = a->gzip || (form && !strcmp(form, "gzip"));
	if (form && strcmp(form, "gzip") != 0 && strcmp(form, "none") != 0)
		log_warn("OTEL_EXPORTER_OTLP_COMPRESSION is ignored: expected gzip or none");
	for (int n = 1; w->headers[n]; n++)
		if (!strncmp(w->url, "http://", 7) && !web_is_loopback(w->url)) {
			log_warn(
				"--export otlp: headers of OTEL_EXPORTER_OTLP_HEADERS are sent to %.*s unencrypted; use https://",
				(int)web_public_len(w->url), w->url);
			break;
		}
	return 0;
}

/* Warns if OTEL_EXPORTER_OTLP_PROTOCOL asks for another protocol. This is not an error, because
 * other programs on the machine use the variable, too. */
static void otlp_config_form_check(void)
{
	const char *form = NULL;
	bool own;

	for (int i = 0; i < OTLP_SIGNALS; i++) {
		form = otlp_config_setting((enum otlp_signal)i, "PROTOCOL", &own);
		if (form && strcmp(form, "http/json") != 0)
			break;
		form = NULL;
	}
	if (form)
		log_warn(
			"--export otlp: OTEL_EXPORTER_OTLP_PROTOCOL is %.64s: not supported; using http/json",
			form);
}

/* ---- resource -------------------------------------------------------------------------------- */

static int otlp_config_put_attribute(void *ctx, char *key, char *value)
{
	struct otlp_config *c = ctx;
	uint32_t i = 0;

	while (i < c->nattributes && strcmp(c->attributes[i].key, key) != 0)
		i++;
	if (i == OTLP_ATTRIBUTES)
		return -EINVAL;
	free(c->attributes[i].key);
	free(c->attributes[i].value);
	c->attributes[i] = (struct otlp_attribute){.key = key, .value = value};
	c->nattributes += i == c->nattributes;
	return 0;
}

static int otlp_config_put_copy(struct otlp_config *c, const char *key, const char *value)
{
	char *k = strdup(key), *v = strdup(value);
	int err = k && v ? otlp_config_put_attribute(c, k, v) : -ENOMEM;

	if (err) {
		free(k);
		free(v);
	}
	return err;
}

static void otlp_config_attributes_free(struct otlp_config *c)
{
	for (uint32_t i = 0; i < c->nattributes; i++) {
		free(c->attributes[i].key);
		free(c->attributes[i].value);
		c->attributes[i] = (struct otlp_attribute){0};
	}
	c->nattributes = 0;
}

static int otlp_config_own_attributes(struct otlp_config *c)
{
	int err = otlp_config_put_copy(c, "service.name", "gp-bpf");

	return err || !*c->host ? err : otlp_config_put_copy(c, "host.name", c->host);
}

/* Reads the resource's attributes: none if they cannot be parsed, as the specification requires
 * (resource/sdk.md). OTEL_SERVICE_NAME overrides service.name among them. */
static int otlp_config_resource_read(struct otlp_config *c)
{
	const char *text = getenv("OTEL_RESOURCE_ATTRIBUTES"), *name = getenv("OTEL_SERVICE_NAME"),
		   *node = getenv("NODE_NAME");
	int err;

	if (node && *node)
		snprintf(c->host, sizeof(c->host), "%s", node);
	else if (gethostname(c->host, sizeof(c->host) - 1))
		c->host[0] = '\0';
	err = otlp_config_own_attributes(c);
	if (!err && text && *text)
		err = otlp_config_each_pair(text, otlp_config_put_attribute, c);
	if (err == -EINVAL) {
		log_warn(
			"OTEL_RESOURCE_ATTRIBUTES is ignored: expected up to %d pairs key=value, separated by commas, values percent-encoded",
			OTLP_ATTRIBUTES - 2);
		otlp_config_attributes_free(c);
		err = otlp_config_own_attributes(c);
	}
	if (!err && name && *name)
		err = otlp_config_put_copy(c, "service.name", name);
	return err;
}

int otlp_config_check(const char *argument)
{
	char *text = strdup(argument ? argument : "");
	struct otlp_config c = {0};
	struct argument a = {0};
	int err = text ? otlp_config_argument_read(&c, text, &a) : -ENOMEM;

	free(text);
	return err;
}

int otlp_config_read(struct otlp_config *ret, const char *argument)
{
	char *text = strdup(argument ? argument : "");
	struct argument a = {0};
	int err = text ? 0 : -ENOMEM;

	*ret = (struct otlp_config){.interval_ns = INTERVAL_S * NS_PER_S, .sample = SAMPLE};
	if (!err)
		err = otlp_config_argument_read(ret, text, &a);
	for (int i = 0; !err && i < OTLP_SIGNALS; i++)
		err = otlp_config_endpoint_read(&ret->endpoint[i], (enum otlp_signal)i, &a);
	if (!err)
		otlp_config_form_check();
	if (!err)
		err = otlp_config_resource_read(ret);
	free(text);
	return err;
}

void otlp_config_free(struct otlp_config *c)
{
	for (int i = 0; i < OTLP_SIGNALS; i++) {
		free(c->endpoint[i].url);
		for (int n = 0; c->endpoint[i].headers[n]; n++)
			free(c->endpoint[i].headers[n]);
	}
	otlp_config_attributes_free(c);
	*c = (struct otlp_config){0};
}
