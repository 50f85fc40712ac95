/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/cloud/google.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cjson/cJSON.h>
#include <openssl/crypto.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/cloud/credentials.h"
#include "userspace/cloud/jwt.h"
#include "userspace/cloud/metadata.h"
#include "userspace/cloud/place.h"

#define GOOGLE_ASK_MS 10000
/* Largest difference, in seconds, between this machine's clock and Google's with which Google
 * accepts a signed request. */
#define GOOGLE_SKEW_S 300
/* Pause (ns) after a failed renewal, while the old token is still valid. */
#define GOOGLE_AGAIN_NS (10ULL * 1000000000)
/* A token is treated as expired after this number of seconds, even if it is valid for longer. */
#define GOOGLE_LIFE_S	  (24 * 3600)
#define GOOGLE_TOKEN_MAX  8192
#define GOOGLE_TOKEN_PATH "instance/service-accounts/default/token"

struct google {
	struct web *web;
	struct buffer header; /* header line with the token; empty: there is no token */
	/* When to renew the token, and when it expires. CLOCK_BOOTTIME, because tokens also expire
	 * while the machine sleeps. */
	uint64_t renew_ns, end_ns;
	uint64_t again_ns;
	char project[64], quota[64];
};

int google_open(struct google **ret, struct web *web)
{
	struct google *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->web = web;
	*ret = g;
	return 0;
}

static void google_wipe(struct buffer *b)
{
	if (b->data)
		OPENSSL_cleanse(b->data, b->cap);
	buffer_free(b);
}

void google_close(struct google *g)
{
	if (!g)
		return;
	google_wipe(&g->header);
	free(g);
}

static const char *google_environment(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	for (const char *at = value; at && *at; at++)
		if (*at <= ' ' || *at >= 0x7f)
			return otherwise;
	return value && *value ? value : otherwise;
}

const char *google_project(const struct google *g)
{
	return google_environment("GOOGLE_CLOUD_PROJECT", g->project);
}

const char *google_quota_project(const struct google *g)
{
	return google_environment("GOOGLE_CLOUD_QUOTA_PROJECT", g->quota);
}

/* ---- replies with a token */

/* Appends to `why` that this machine's clock is wrong, if it differs so much from the server's that
 * Google refuses signed requests. */
static void google_tell_skew(const struct web_reply *r, char *why, size_t len)
{
	int64_t off = r->date_ns ? r->date_ns - clock_real_ns() : 0;
	uint64_t size = off < 0 ? -(uint64_t)off : (uint64_t)off;
	size_t at = strlen(why);
	char text[32];

	if (size <= GOOGLE_SKEW_S * 1000000000ULL)
		return;
	clock_duration(text, sizeof(text), size);
	snprintf(why + at, len - at, "; this machine's clock is %s %s that of the server; set it",
		 text, off > 0 ? "behind" : "ahead of");
}

/* Returns the access token from a reply; NULL: there is none, or it has characters that a header
 * must not have (spaces, line breaks). */
static const char *google_access_token(const cJSON *json)
{
	const char *text = cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(json, "access_token"));
	size_t n = text ? strnlen(text, GOOGLE_TOKEN_MAX + 1) : 0;

	if (!n || n > GOOGLE_TOKEN_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (text[i] <= ' ' || text[i] >= 0x7f)
			return NULL;
	return text;
}

static bool google_take_token(struct google *g, const cJSON *json, uint64_t asked_ns)
{
	const char *token = google_access_token(json);
	const cJSON *type = cJSON_GetObjectItemCaseSensitive(json, "token_type");
	const cJSON *life = cJSON_GetObjectItemCaseSensitive(json, "expires_in");
	double s = cJSON_IsNumber(life) ? life->valuedouble : -1;
	uint64_t life_ns, early_ns = GOOGLE_EARLY_S * 1000000000ULL;

	if (!token || !(s > 0))
		return false;
	if (type && (!cJSON_IsString(type) || strcasecmp(type->valuestring, "Bearer") != 0))
		return false;
	life_ns = (uint64_t)((s < GOOGLE_LIFE_S ? s : GOOGLE_LIFE_S) * 1e9);
	google_wipe(&g->header);
	buffer_printf(&g->header, "Authorization: Bearer %s", token);
	g->end_ns = asked_ns + life_ns;
	g->renew_ns = g->end_ns - (early_ns < life_ns / 2 ? early_ns : life_ns / 2);
	return true;
}

/* Copies the description of an error from a reply such as {"error": "invalid_grant",
 * "error_description": "..."}. Writes "" if the description contains one of the secrets that were
 * sent. */
static void google_tell_error(const cJSON *json, const char *const *secrets, char *out, size_t len)
{
	const char *error = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "error"));
	const char *more = cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(json, "error_description"));
	char raw[256];

	out[0] = '\0';
	if (!error)
		return;
	for (; *secrets; secrets++)
		if (strstr(error, *secrets) || (more && strstr(more, *secrets)))
			return;
	snprintf(raw, sizeof(raw), ": %.64s%s%.160s", error, more ? ": " : "", more ? more : "");
	log_escape(out, len, raw, sizeof(raw));
}

/* Parses a reply. Returns NULL if it is invalid, or contains an escaped NUL, which cJSON would
 * treat as the end of a string. */
static cJSON *google_parse(const struct web_reply *r)
{
	const char *text = r->body.data;

	if (!text || r->cut || strlen(text) != r->body.len || strstr(text, "\\u0000"))
		return NULL;
	return cJSON_ParseWithLength(text, r->body.len);
}

/* Gets the token from a reply. Returns 0, or -errno with the reason in `why`. secrets: the secrets
 * that the request contained, NULL-terminated. */
static int google_judge(struct google *g, const struct web_reply *r, const char *from,
			const char *const *secrets, uint64_t asked_ns, char *why, size_t len)
{
	cJSON *json = google_parse(r);
	bool passing = r->status == 408 || r->status == 429 || r->status >= 500 || r->status < 400;
	char error[256];
	int err = passing ? -EAGAIN : -EACCES;

	if (r->status == 200 && google_take_token(g, json, asked_ns)) {
		err = g->header.failed ? -EAGAIN : 0;
		if (err)
			snprintf(why, len, "%s: out of memory", from);
	} else if (r->status == 200) {
		snprintf(why, len, "%s: the reply has no valid token", from);
	} else {
		google_tell_error(json, secrets, error, sizeof(error));
		snprintf(why, len, "%s: %s (%ld%s)", from,
			 r->status >= 300 && r->status < 400
				 ? "the reply is a redirect, which gp-bpf does not follow"
			 : passing ? "no token, will be tried again"
				   : "refused",
			 r->status, error);
		google_tell_skew(r, why, len);
	}
	credentials_drop(json);
	return err;
}

/* ---- where tokens come from */

static int google_exchange(struct google *g, const struct credentials *c, const struct buffer *form,
			   const char *const *secrets, char *why, size_t len)
{
	static const char *const headers[] = {"Content-Type: application/x-www-form-urlencoded",
					      NULL};
	uint64_t asked_ns = clock_boot_ns();
	struct web_reply r = {0};
	char from[512];
	int err;

	snprintf(from, sizeof(from), "token for credentials %.200s from %.200s", c->path,
		 c->token_uri);
	if (form->failed) {
		snprintf(why, len, "%s: out of memory", from);
		return -EAGAIN;
	}
	err = web_send(g->web,
		       &(struct web_request){.method = "POST",
					     .url = c->token_uri,
					     .headers = headers,
					     .body = form->data,
					     .len = form->len,
					     .timeout_ms = GOOGLE_ASK_MS},
		       &r);
	if (err) {
		snprintf(why, len, "%s: %s", from, err == -ENOMEM ? "out of memory" : r.why);
		err = r.failure == WEB_OTHER && err != -ENOMEM ? -EACCES : -EAGAIN;
	} else {
		err = google_judge(g, &r, from, secrets, asked_ns, why, len);
	}
	google_wipe(&r.body);
	return err;
}

static int google_from_account(struct google *g, const struct credentials *c, char *why, size_t len)
{
	const char *secrets[2] = {NULL};
	struct buffer form = {0};
	int err;

	buffer_printf(&form, "grant_type=");
	web_escape(&form, "urn:ietf:params:oauth:grant-type:jwt-bearer");
	buffer_printf(&form, "&assertion=");
	err = jwt_sign(&form,
		       &(struct jwt_claims){.issuer = c->email,
					    .scope = GOOGLE_SCOPE,
					    .audience = c->token_uri,
					    .key_id = c->key_id,
					    .issued_s = clock_real_ns() / 1000000000},
		       c->key);
	if (err == -EINVAL) {
		snprintf(
			why, len,
			"credentials %s: private_key must be an RSA key of at least 2048 bits, in PEM without passphrase",
			c->path);
		err = -EACCES;
	} else if (!err) {
		secrets[0] = strrchr(form.data, '=') + 1;
		err = google_exchange(g, c, &form, secrets, why, len);
	}
	google_wipe(&form);
	return err;
}

static int google_from_user(struct google *g, const struct credentials *c, char *why, size_t len)
{
	/* secrets[2] is set below: the percent-encoded refresh token, as it is sent */
	const char *secrets[] = {c->refresh, c->client_secret, NULL, NULL};
	struct buffer form = {0};
	int err;

	buffer_printf(&form, "grant_type=refresh_token&client_id=");
	web_escape(&form, c->client_id);
	buffer_printf(&form, "&client_secret=");
	web_escape(&form, c->client_secret);
	buffer_printf(&form, "&refresh_token=");
	web_escape(&form, c->refresh);
	secrets[2] = form.failed ? NULL : strrchr(form.data, '=') + 1;
	err = google_exchange(g, c, &form, secrets, why, len);
	google_wipe(&form);
	return err;
}

static int google_from_machine(struct google *g, char *why, size_t len)
{
	uint64_t asked_ns = clock_boot_ns();
	const char *none = NULL;
	struct web_reply r = {0};
	char text[256];
	int err = metadata_get(g->web, GOOGLE_TOKEN_PATH, GOOGLE_ASK_MS, &r, text, sizeof(text));

	if (!err) {
		err = google_judge(g, &r, "metadata server", &none, asked_ns, why, len);
	} else if (err == -EAGAIN) {
		snprintf(
			why, len,
			"no credentials file (GOOGLE_APPLICATION_CREDENTIALS is not set), and no token from the metadata server: %s",
			text);
	} else if (err == -ENODATA) {
		snprintf(why, len, "this machine or pod has no service account (%s)", text);
	} else if (err == -ENOENT) {
		snprintf(
			why, len,
			"no Google credentials: set GOOGLE_APPLICATION_CREDENTIALS to a key file (%s)",
			text);
	} else {
		snprintf(why, len, "token of the machine's service account: %s", text);
	}
	google_wipe(&r.body);
	return !err || err == -EAGAIN ? err : -EACCES;
}

/* Gets a new token. Reads the credentials file again, because the key may have been replaced. */
static int google_renew(struct google *g, char *why, size_t len)
{
	struct credentials c;
	int err = credentials_find(&c, why, len);

	memcpy(g->project, c.project, sizeof(g->project));
	memcpy(g->quota, c.quota, sizeof(g->quota));
	if (err == -ENOENT)
		err = google_from_machine(g, why, len);
	else if (!err && c.kind == CREDENTIALS_ACCOUNT)
		err = google_from_account(g, &c, why, len);
	else if (!err)
		err = google_from_user(g, &c, why, len);
	credentials_free(&c);
	if (err == -ENOMEM) {
		snprintf(why, len, "Google credentials: out of memory");
		err = -EAGAIN;
	}
	return err;
}

int google_token(struct google *g, struct buffer *ret_header, char *why, size_t len)
{
	uint64_t now = clock_boot_ns();
	bool good = g->header.len && now < g->end_ns;
	int err;

	if (!good || (now >= g->renew_ns && now >= g->again_ns)) {
		err = google_renew(g, why, len);
		if (err && !good) {
			google_wipe(&g->header);
			return err;
		}
		g->again_ns = err ? now + GOOGLE_AGAIN_NS : 0;
	}
	buffer_clear(ret_header);
	buffer_add(ret_header, g->header.data, g->header.len);
	if (ret_header->failed) {
		snprintf(why, len, "token: out of memory");
		return -EAGAIN;
	}
	return 0;
}

void google_token_refused(struct google *g)
{
	google_wipe(&g->header);
}

int google_place(struct google *g, struct google_place *ret)
{
	return place_ask(g->web, ret);
}
