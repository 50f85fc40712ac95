/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/cloud/metadata.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/cloud/google.h"

static const char *metadata_environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* Returns host[:port] of the metadata server; NULL: the environment variable that names it is
 * invalid. *named: true if an environment variable names the server. */
static const char *metadata_host(bool *named)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._:[]";
	const char *host = metadata_environment("GCE_METADATA_HOST");

	if (!host)
		host = metadata_environment("GCE_METADATA_IP");
	*named = host != NULL;
	if (!host)
		return METADATA_ADDRESS;
	return strlen(host) < 256 && host[strspn(host, plain)] == '\0' ? host : NULL;
}

/* Returns true if the firmware's product name says that this machine is Google's. */
static bool metadata_bios(void)
{
	char text[64] = "";
	FILE *f = fopen("/sys/class/dmi/id/product_name", "re");

	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	return !strncmp(text, "Google", 6);
}

enum metadata_hope { METADATA_NONE, METADATA_MAYBE, METADATA_SURE };

static enum metadata_hope metadata_hope(bool named)
{
	const char *mode = metadata_environment("METADATA_SERVER_DETECTION");

	if (mode && !strcmp(mode, "none"))
		return METADATA_NONE;
	if (mode && !strcmp(mode, "assume-present"))
		return METADATA_SURE;
	if (mode && !strcmp(mode, "bios-only"))
		return metadata_bios() ? METADATA_SURE : METADATA_NONE;
	if (mode && !strcmp(mode, "ping-only"))
		return METADATA_MAYBE;
	/* On Kubernetes and on Google's machines a metadata server should exist. Its requests are
	 * retried, because it may not answer in the first seconds of a pod. */
	return named || metadata_environment("KUBERNETES_SERVICE_HOST") || metadata_bios()
		       ? METADATA_SURE
		       : METADATA_MAYBE;
}

static int metadata_judge(const struct web_reply *r, const char *host, char *why, size_t len)
{
	if (strcmp(r->flavor, "Google") != 0) {
		snprintf(
			why, len,
			"%s is not a metadata server of Google: its reply (%ld) has no Metadata-Flavor: Google",
			host, r->status);
		return -ENOENT;
	}
	if (r->status == 200 && !r->cut)
		return 0;
	snprintf(why, len,
		 r->cut ? "metadata server %s: the reply is too long (%ld)"
			: "metadata server %s: reply %ld",
		 host, r->status);
	if (r->status == 404)
		return -ENODATA;
	return r->status >= 400 && r->status < 500 && r->status != 408 && r->status != 429
		       ? -EACCES
		       : -EAGAIN;
}

int metadata_get(struct web *web, const char *path, uint64_t timeout_ms, struct web_reply *ret,
		 char *why, size_t len)
{
	static const char *const headers[] = {"Metadata-Flavor: Google", NULL};
	struct web_request rq = {
		.method = "GET", .headers = headers, .timeout_ms = timeout_ms, .direct = true};
	bool named;
	const char *host = metadata_host(&named);
	enum metadata_hope hope = metadata_hope(named);
	char url[512];
	int err = 0;

	if (hope == METADATA_NONE) {
		snprintf(
			why, len,
			"the metadata server is not used (METADATA_SERVER_DETECTION=none or bios-only)");
		return -ENOENT;
	}
	if (!host) {
		snprintf(why, len, "GCE_METADATA_HOST: expected host[:port]");
		return -ENOENT;
	}
	snprintf(url, sizeof(url), "http://%s/computeMetadata/v1/%s", host, path);
	rq.url = url;
	for (int i = 0; i < GOOGLE_METADATA_TRY; i++) {
		err = web_send(web, &rq, ret);
		if (err ? ret->failure != WEB_BROKEN : ret->status < 500)
			break;
	}
	if (!err)
		return metadata_judge(ret, host, why, len);
	snprintf(why, len, "metadata server %s: %s", host,
		 err == -ENOMEM ? "out of memory" : ret->why);
	return hope == METADATA_SURE || ret->failure == WEB_CANCELLED || err == -ENOMEM ? -EAGAIN
											: -ENOENT;
}
