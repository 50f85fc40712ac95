/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/cloud/credentials.h"
#include "userspace/base/path.h"
#include "userspace/cloud/web.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <openssl/crypto.h>

#define CREDENTIALS_TEXT_MAX 4096
#define CREDENTIALS_NAME     "application_default_credentials.json"

static void credentials_wipe(char **text)
{
	if (*text)
		OPENSSL_cleanse(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

void credentials_free(struct credentials *c)
{
	credentials_wipe(&c->path);
	credentials_wipe(&c->token_uri);
	credentials_wipe(&c->email);
	credentials_wipe(&c->key);
	credentials_wipe(&c->key_id);
	credentials_wipe(&c->client_id);
	credentials_wipe(&c->client_secret);
	credentials_wipe(&c->refresh);
	memset(c, 0, sizeof(*c));
}

/* ---- the file */

/* Reads a file, without blocking if path names a pipe. Returns the number of bytes; -EFBIG: the
 * file is too long; -EINVAL: path is not a regular file; or another -errno. */
static ssize_t credentials_slurp(const char *path, char *text, size_t cap)
{
	int fd = path_open(path, O_RDONLY, 0), err = 0;
	size_t len = 0;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	while (!err && len < cap) {
		n = read(fd, text + len, cap - len);
		if (n < 0 && errno != EINTR)
			err = -errno;
		else if (n == 0)
			break;
		else if (n > 0)
			len += (size_t)n;
	}
	close(fd);
	return err ? err : len == cap ? -EFBIG : (ssize_t)len;
}

static int credentials_wrong(const struct credentials *c, const char *what, char *why, size_t len)
{
	snprintf(why, len, "credentials %s: %s", c->path, what);
	return -EACCES;
}

/* ---- content of the file */

static bool credentials_plain(const char *text, size_t max)
{
	size_t len = strnlen(text, max + 1);

	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] >= 0x7f)
			return false;
	return len && len <= max;
}

/* Returns a string field of printable ASCII characters, which json owns. NULL: the field is
 * missing, too long, not a string, or has other characters. */
static const char *credentials_field(const cJSON *json, const char *name, size_t max)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, name));

	return text && credentials_plain(text, max) ? text : NULL;
}

/* Copies a required field. Returns 0; -ENOMEM; -EACCES: the field is missing or invalid, and `why`
 * gets the reason. */
static int credentials_need(const struct credentials *c, const cJSON *json, const char *name,
			    char **ret, char *why, size_t len)
{
	const char *text = credentials_field(json, name, CREDENTIALS_TEXT_MAX);
	char what[64];

	if (!text) {
		snprintf(what, sizeof(what), "no valid %s", name);
		return credentials_wrong(c, what, why, len);
	}
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

/* Returns true if the URL is https://, or http:// on this machine: keys and refresh tokens must not
 * be sent unencrypted over a network. */
static bool credentials_uri_fits(const char *uri)
{
	return (!strncmp(uri, "https://", 8) && uri[8]) ||
	       (!strncmp(uri, "http://", 7) && web_is_loopback(uri));
}

static int credentials_take_uri(struct credentials *c, const cJSON *json, char *why, size_t len)
{
	const char *uri = CREDENTIALS_TOKEN_URI;

	if (cJSON_GetObjectItemCaseSensitive(json, "token_uri")) {
		uri = credentials_field(json, "token_uri", 512);
		if (!uri || !credentials_uri_fits(uri))
			return credentials_wrong(c, "token_uri is not an https:// address", why,
						 len);
	}
	c->token_uri = strdup(uri);
	return c->token_uri ? 0 : -ENOMEM;
}

static int credentials_take_account(struct credentials *c, const cJSON *json, char *why, size_t len)
{
	const char *key = cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(json, "private_key"));
	const char *id = credentials_field(json, "private_key_id", 128);
	int err = credentials_need(c, json, "client_email", &c->email, why, len);

	if (err)
		return err;
	if (!key || !*key)
		return credentials_wrong(c, "no valid private_key", why, len);
	c->key = strdup(key);
	if (id)
		c->key_id = strdup(id);
	return c->key && (!id || c->key_id) ? 0 : -ENOMEM;
}

static int credentials_take_user(struct credentials *c, const cJSON *json, char *why, size_t len)
{
	int err = credentials_need(c, json, "client_id", &c->client_id, why, len);

	if (!err)
		err = credentials_need(c, json, "client_secret", &c->client_secret, why, len);
	if (!err)
		err = credentials_need(c, json, "refresh_token", &c->refresh, why, len);
	return err;
}

static int credentials_take_type(struct credentials *c, const cJSON *json, char *why, size_t len)
{
	static const char *const others[] = {"external_account", "external_account_authorized_user",
					     "impersonated_service_account",
					     "gdch_service_account"};
	const char *type = credentials_field(json, "type", 64);
	char what[160];

	if (!type)
		return credentials_wrong(c, "no valid type", why, len);
	if (!strcmp(type, "service_account")) {
		c->kind = CREDENTIALS_ACCOUNT;
		return credentials_take_account(c, json, why, len);
	}
	if (!strcmp(type, "authorized_user")) {
		c->kind = CREDENTIALS_USER;
		return credentials_take_user(c, json, why, len);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strcmp(type, others[i]) != 0)
			continue;
		snprintf(
			what, sizeof(what),
			"type %s is not supported; use service_account, authorized_user or the metadata server",
			type);
		return credentials_wrong(c, what, why, len);
	}
	return credentials_wrong(
		c, "unknown type; service_account and authorized_user are supported", why, len);
}

static void credentials_take_name(const cJSON *json, const char *name, char *out, size_t cap)
{
	const char *text = credentials_field(json, name, cap - 1);

	snprintf(out, cap, "%s", text ? text : "");
}

static int credentials_take(struct credentials *c, const cJSON *json, char *why, size_t len)
{
	const cJSON *universe = cJSON_GetObjectItemCaseSensitive(json, "universe_domain");
	const char *domain = cJSON_GetStringValue(universe);
	int err;

	if (!cJSON_IsObject(json))
		return credentials_wrong(c, "not a JSON object", why, len);
	if (universe && (!domain || strcmp(domain, "googleapis.com") != 0))
		return credentials_wrong(c, "universe_domain is not googleapis.com", why, len);
	err = credentials_take_type(c, json, why, len);
	if (!err)
		err = credentials_take_uri(c, json, why, len);
	credentials_take_name(json, "project_id", c->project, sizeof(c->project));
	credentials_take_name(json, "quota_project_id", c->quota, sizeof(c->quota));
	return err;
}

void credentials_drop(cJSON *json)
{
	for (cJSON *item = json ? json->child : NULL; item; item = item->next)
		if (item->valuestring)
			OPENSSL_cleanse(item->valuestring, strlen(item->valuestring));
	cJSON_Delete(json);
}

int credentials_read(struct credentials *ret, const char *path, char *why, size_t len)
{
	char *text = malloc(CREDENTIALS_FILE_MAX);
	cJSON *json;
	ssize_t n;
	int err;

	memset(ret, 0, sizeof(*ret));
	ret->path = strdup(path);
	if (!text || !ret->path) {
		free(text);
		return -ENOMEM;
	}
	n = credentials_slurp(path, text, CREDENTIALS_FILE_MAX);
	if (n < 0) {
		free(text);
		if (n == -EFBIG || n == -EINVAL)
			return credentials_wrong(
				ret, n == -EFBIG ? "too long" : "not a regular file", why, len);
		credentials_wrong(ret, strerror((int)-n), why, len);
		return n == -ENOENT || n == -ENOTDIR ? -ENOENT : -EACCES;
	}
	json = cJSON_ParseWithLength(text, (size_t)n);
	err = credentials_take(ret, json, why, len);
	credentials_drop(json);
	OPENSSL_cleanse(text, (size_t)n);
	free(text);
	return err;
}

/* ---- which one */

/* Reads the file at a default path. If its folder is not accessible, the file is treated as
 * missing. */
static int credentials_try(struct credentials *ret, const char *path, char *why, size_t len)
{
	struct stat st;

	memset(ret, 0, sizeof(*ret));
	return stat(path, &st) ? -ENOENT : credentials_read(ret, path, why, len);
}

int credentials_find(struct credentials *ret, char *why, size_t len)
{
	const char *named = getenv("GOOGLE_APPLICATION_CREDENTIALS"),
		   *folder = getenv("CLOUDSDK_CONFIG"), *home = getenv("HOME");
	char path[4096] = "";
	int err = -ENOENT;

	memset(ret, 0, sizeof(*ret));
	if (named && *named) {
		err = credentials_read(ret, named, why, len);
		if (err == -ENOENT)
			err = credentials_wrong(
				ret, "no such file (GOOGLE_APPLICATION_CREDENTIALS)", why, len);
		return err;
	}
	if (folder && *folder)
		snprintf(path, sizeof(path), "%s/" CREDENTIALS_NAME, folder);
	else if (home && *home)
		snprintf(path, sizeof(path), "%s/.config/gcloud/" CREDENTIALS_NAME, home);
	if (*path)
		err = credentials_try(ret, path, why, len);
	if (err == -ENOENT) {
		credentials_free(ret);
		err = credentials_try(ret, "/etc/google/auth/" CREDENTIALS_NAME, why, len);
	}
	return err;
}
