/* SPDX-License-Identifier: Apache-2.0 */
/* web_priority.h - versions, cipher suites and curves by the names that exporter-toolkit has for
 * them (those of Go's crypto/tls), as a priority string of GnuTLS. */
#ifndef HTTP_WEB_PRIORITY_H
#define HTTP_WEB_PRIORITY_H

#include "userspace/http/web_config.h"

/* Fills c->priority. -EINVAL after one line. GnuTLS takes key exchanges and ciphers apart: where it
 * would allow a suite that is not listed, that suite is named and nothing is served. */
int web_priority(struct web_config *c, const char *file);

#endif
