/* SPDX-License-Identifier: Apache-2.0 */
/* access.c - sends requests with the service account's token. A token is usually valid for an hour,
 * and the kubelet replaces its file long before it expires. The file is therefore read again each
 * minute, and after a request was refused. */
#include "userspace/kubernetes/access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/path.h"
#include "userspace/kubernetes/pods_field.h"

#define ACCOUNT		 "/var/run/secrets/kubernetes.io/serviceaccount/"
#define ACCESS_ADDR_MAX	 256
#define ACCESS_TOKEN_MAX 16384
#define ACCESS_SCHEME	 "Authorization: Bearer "

/* ---- server and token */

const char *access_environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

bool access_is_plain(const char *text, const char *more, size_t max)
{
	static const char plain[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-_";
	size_t len = strnlen(text, max + 1);

	for (size_t i = 0; i < len; i++)
		if (!strchr(plain, text[i]) && !strchr(more, text[i]))
			return false;
	return len && len <= max;
}

static char *access_server(const char *given)
{
	const char *host = access_environment("KUBERNETES_SERVICE_HOST"),
		   *port = access_environment("KUBERNETES_SERVICE_PORT");
	char text[ACCESS_ADDR_MAX + 32];

	if (given)
		return strdup(given);
	if (!host)
		return NULL;
	snprintf(text, sizeof(text),
		 strchr(host, ':') ? "https://[%.255s]:%.8s" : "https://%.255s:%.8s", host,
		 port ? port : "443");
	return strdup(text);
}

static bool access_fits(const char *what, const char *url)
{
	bool fits = (!strncmp(url, "https://", 8) ||
		     (!strncmp(url, "http://", 7) && web_is_loopback(url))) &&
		    access_is_plain(url, ":/[]", ACCESS_ADDR_MAX);
	char shown[ACCESS_ADDR_MAX];

	if (!fits)
		log_error(
			"%s %s: expected https://HOST:PORT, or http:// with an address of this machine",
			what, log_escape(shown, sizeof(shown), url, web_public_len(url)));
	return fits;
}

static bool access_is_open(const char *url)
{
	return !strncmp(url, "http://", 7);
}

char *access_file(const char *given, const char *name)
{
	char path[sizeof(ACCOUNT) + 16];

	snprintf(path, sizeof(path), ACCOUNT "%.16s", name);
	return strdup(given ? given : path);
}

/* ---- the token */

static void access_forget(struct access *a)
{
	if (a->header.data)
		OPENSSL_cleanse(a->header.data, a->header.cap);
	buffer_free(&a->header);
	a->read_ns = 0;
}

int access_open(struct access *ret, const char *what, const char *given, const char *token_file,
		const char *ca_file, double token_s)
{
	*ret = (struct access){.server = access_server(given), .token_s = token_s};
	if (!ret->server)
		return 0;
	if (!access_fits(what, ret->server))
		return -EDESTADDRREQ;
	/* Do not send a token without encryption. */
	if (!access_is_open(ret->server)) {
		ret->token_file = access_file(token_file, "token");
		ret->ca_file = access_file(ca_file, "ca.crt");
		if (!ret->token_file || !ret->ca_file)
			return -ENOMEM;
	}
	return web_open(&ret->web);
}

void access_free(struct access *a)
{
	access_forget(a);
	web_close(a->web);
	free(a->server);
	free(a->token_file);
	free(a->ca_file);
}

/* Reads a file of printable ASCII characters, and removes white space at both ends. Returns its
 * length in bytes or -errno. Never blocks, even if the path names a pipe. */
static ssize_t access_slurp(const char *path, char *out, size_t cap)
{
	int fd = path_open(path, O_RDONLY, 0);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	do
		n = read(fd, out, cap);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		n = -errno;
	close(fd);
	while (n > 0 && (unsigned char)out[n - 1] <= ' ')
		n--;
	for (ssize_t i = 0; i < n; i++)
		if ((unsigned char)out[i] <= ' ' || (unsigned char)out[i] >= 0x7f)
			return -EINVAL;
	return n == (ssize_t)cap ? -EFBIG : n ? n : -ENODATA;
}

/* Reads the token file if the last reading is too old. Returns 0 also if reading fails and there is
 * an older token; -EACCES: there is no token, and ret says why. */
static int access_token(struct access *a, struct web_reply *ret)
{
	uint64_t now = clock_boot_ns();
	char *text;
	ssize_t n;

	if (!a->token_file || (a->header.len && now - a->read_ns < a->token_s * 1e9))
		return 0;
	text = malloc(ACCESS_TOKEN_MAX);
	if (!text)
		return -ENOMEM;
	n = access_slurp(a->token_file, text, ACCESS_TOKEN_MAX);
	if (n > 0) {
		access_forget(a);
		buffer_add(&a->header, ACCESS_SCHEME, strlen(ACCESS_SCHEME));
		buffer_add(&a->header, text, (size_t)n);
		a->read_ns = now;
		OPENSSL_cleanse(text, (size_t)n);
	} else {
		snprintf(ret->why, sizeof(ret->why), "token %.120s: %s", a->token_file,
			 n == -ENODATA	? "it is empty"
			 : n == -EINVAL ? "it is not a token"
					: strerror((int)-n));
	}
	free(text);
	if (a->header.failed)
		return -ENOMEM;
	return a->header.len ? 0 : -EACCES;
}

static int access_once(struct access *a, const struct access_request *rq, const char *url,
		       uint64_t end_ns, struct web_reply *ret)
{
	uint64_t now_ns = clock_mono_ns();
	const char *headers[] = {"Accept: application/json", NULL, NULL, NULL};
	struct web_request out = {.method = rq->method ? rq->method : "GET",
				  .url = url,
				  .headers = headers,
				  .body = rq->body,
				  .len = rq->len,
				  .timeout_ms = now_ns < end_ns ? (end_ns - now_ns) / 1000000 + 1
								: 1,
				  .direct = true,
				  .ca_file = a->ca_file,
				  .unverified = a->unverified,
				  .take = rq->take,
				  .ctx = rq->ctx};
	unsigned n = 1;
	int err;

	web_reply_free(ret);
	err = access_token(a, ret);
	if (err)
		return err;
	if (rq->type)
		headers[n++] = rq->type;
	headers[n] = a->header.len ? a->header.data : NULL;
	return web_send(a->web, &out, ret);
}

int access_send(struct access *a, const struct access_request *rq, struct web_reply *ret)
{
	uint64_t end_ns = clock_mono_ns() + (uint64_t)(rq->timeout_s * 1e9);
	struct buffer url = {0}, before = {0};
	int err;

	buffer_printf(&url, "%s%s", a->server, rq->path);
	if (url.failed)
		return -ENOMEM;
	err = access_once(a, rq, url.data, end_ns, ret);
	if (!err && ret->status == 401 && a->header.len) {
		/* The token may have expired: read the file again, which may have a newer one. */
		buffer_add(&before, a->header.data, a->header.len);
		a->read_ns = 0;
		access_forget(a);
		if (!access_token(a, ret) && !before.failed && a->header.len &&
		    (a->header.len != before.len ||
		     memcmp(a->header.data, before.data, before.len) != 0))
			err = access_once(a, rq, url.data, end_ns, ret);
		if (before.data)
			OPENSSL_cleanse(before.data, before.cap);
		buffer_free(&before);
	}
	buffer_free(&url);
	return err;
}

/* Copies the "message" from an error reply, which is a Status object of Kubernetes. */
static void access_message(const struct web_reply *r, char *out, size_t cap)
{
	cJSON *json = r->body.len ? cJSON_ParseWithLength(r->body.data, r->body.len) : NULL;

	pods_text(json, "message", out, cap);
	cJSON_Delete(json);
}

void access_why(const struct access *a, const struct web_reply *r, const char *what,
		const char *rule, char *out, size_t cap)
{
	char message[120];

	if (!r->status || r->failure) {
		snprintf(out, cap, "%s %s: %s%s", what, a->server, r->why,
			 r->failure == WEB_TLS && a->ca_file ? ": is this its CA?" : "");
		return;
	}
	access_message(r, message, sizeof(message));
	if (r->status == 401)
		snprintf(out, cap, "%s %s: the token%s%s is refused (401)", what, a->server,
			 a->token_file ? " " : "", a->token_file ? a->token_file : "");
	else if (r->status == 403)
		snprintf(out, cap, "%s %s: refused (403): %s (%s)", what, a->server, rule, message);
	else
		snprintf(out, cap, "%s %s: reply %ld%s%s", what, a->server, r->status,
			 message[0] ? ": " : "", message);
}

/* ---- repetition */
