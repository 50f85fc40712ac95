/* SPDX-License-Identifier: Apache-2.0 */
/* web_url.c - examines the host of a URL: whether it is this machine, and how much of the URL may
 * be shown. */
#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "userspace/cloud/web.h"

#define HOST_MAX 64

size_t web_public_len(const char *url)
{
	const char *host = strstr(url, "://");

	host = host ? host + 3 : url;
	/* Search the whole rest for '@', because invalid URLs are logged, too: a user name may be
	 * anywhere. */
	return (size_t)(host - url) + (strchr(host, '@') ? 0 : strcspn(host, "/?#"));
}

bool web_is_loopback(const char *url)
{
	const char *host = strstr(url, "://");
	struct in_addr address;
	char name[HOST_MAX];
	size_t len;

	if (!host)
		return false;
	host += 3;
	len = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/?#");
	if (memchr(host, '@', strcspn(host, "/?#")) || len >= sizeof(name))
		return false;
	memcpy(name, host, len);
	name[len] = '\0';
	return !strcasecmp(name, "localhost") || !strcmp(name, "[::1]") ||
	       (inet_pton(AF_INET, name, &address) == 1 && ntohl(address.s_addr) >> 24 == 127);
}
