/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/cloud/web_set.h"

#include <string.h>

#define WEB_CONNECT_MS 10000
/* Seconds after which files with trusted certificates are read again; the default of libcurl is a
 * day. */
#define WEB_CA_S 60
/* Seconds between probes (TCP keepalive) of an idle connection, so that a vanished server is
 * noticed while a body arrives in pieces. */
#define WEB_ALIVE_S 30

static CURLcode web_set_method(CURL *e, const struct web_request *rq)
{
	CURLcode err;

	if (!strcmp(rq->method, "GET"))
		return curl_easy_setopt(e, CURLOPT_HTTPGET, 1L);
	if (!strcmp(rq->method, "POST") || rq->body) {
		err = curl_easy_setopt(e, CURLOPT_POST, 1L);
		if (!err)
			err = curl_easy_setopt(e, CURLOPT_POSTFIELDS, rq->body ? rq->body : "");
		if (!err)
			err = curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE,
					       (curl_off_t)(rq->body ? rq->len : 0));
		if (err || !strcmp(rq->method, "POST"))
			return err;
	}
	return curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, rq->method);
}

CURLcode web_set_trust(CURL *e, const struct web_request *rq, const char *ca_file,
		       const char *ca_path)
{
	CURLcode err = CURLE_OK;

	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(CURLOPT_SSL_VERIFYPEER, rq->unverified ? 0L : 1L);
	SET(CURLOPT_SSL_VERIFYHOST, rq->unverified ? 0L : 2L);
	if (rq->ca_file) {
		SET(CURLOPT_CAINFO, rq->ca_file);
		SET(CURLOPT_CAPATH, NULL);
		SET(CURLOPT_CA_CACHE_TIMEOUT, (long)WEB_CA_S);
		return err;
	}
	if (ca_file)
		SET(CURLOPT_CAINFO, ca_file);
	if (ca_path)
		SET(CURLOPT_CAPATH, ca_path);
	return err;
}

CURLcode web_set_ways(CURL *e, const struct web_request *rq)
{
	uint64_t connect_ms = rq->timeout_ms / 3;
	CURLcode err = CURLE_OK;

	connect_ms = connect_ms > WEB_CONNECT_MS ? WEB_CONNECT_MS : connect_ms ? connect_ms : 1;
	SET(CURLOPT_URL, rq->url);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	if (rq->socket)
		SET(CURLOPT_UNIX_SOCKET_PATH, rq->socket);
	if (rq->direct)
		SET(CURLOPT_NOPROXY, "*");
	SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	SET(CURLOPT_NOSIGNAL, 1L);
	/* when a request ends, do not wait for a name server that does not answer */
	SET(CURLOPT_QUICK_EXIT, 1L);
	SET(CURLOPT_TCP_KEEPALIVE, 1L);
	if (rq->take) {
		SET(CURLOPT_TCP_KEEPIDLE, (long)WEB_ALIVE_S);
		SET(CURLOPT_TCP_KEEPINTVL, (long)WEB_ALIVE_S / 3);
	}
	SET(CURLOPT_TIMEOUT_MS, (long)(rq->timeout_ms ? rq->timeout_ms : 1));
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
	return err ? err : web_set_method(e, rq);
}
