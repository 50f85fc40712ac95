/* SPDX-License-Identifier: Apache-2.0 */
/* web_set.h - sets the options of libcurl for a request, by the rules of web.h. Used by web.c. */
#ifndef CLOUD_WEB_SET_H
#define CLOUD_WEB_SET_H

#include <curl/curl.h>

#include "userspace/cloud/web.h"

/* Sets an option, unless setting an earlier one has failed. */
#define SET(option, value)                                                                         \
	if (!err)                                                                                  \
	err = curl_easy_setopt(e, option, value)

/* Sets URL, proxy, unix socket, method and time limits. */
CURLcode web_set_ways(CURL *e, const struct web_request *rq);
/* Sets the trusted certificates: the file in the request, or else ca_file and ca_path, or else the
 * system's. */
CURLcode web_set_trust(CURL *e, const struct web_request *rq, const char *ca_file,
		       const char *ca_path);

#endif
