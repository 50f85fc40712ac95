/* SPDX-License-Identifier: Apache-2.0 */
/* web_set.h - sets a request's options in libcurl by the rules of web.h. For web.c. */
#ifndef CLOUD_WEB_SET_H
#define CLOUD_WEB_SET_H

#include <curl/curl.h>

#include "userspace/cloud/web.h"

/* Sets an option, unless an earlier one was refused. */
#define SET(option, value)                                                                         \
	if (!err)                                                                                  \
	err = curl_easy_setopt(e, option, value)

/* Sets URL, proxy, socket, method and limits. */
CURLcode web_set_ways(CURL *e, const struct web_request *rq);
/* Sets the trusted certificates: those of the request, else ca_file and ca_path, else those of the
 * system. */
CURLcode web_set_trust(CURL *e, const struct web_request *rq, const char *ca_file,
		       const char *ca_path);

#endif
