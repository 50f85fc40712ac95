/* SPDX-License-Identifier: Apache-2.0 */
/* web_priority.h - translates versions, cipher suites and curves, by their names in
 * exporter-toolkit (those of Go's crypto/tls), to a GnuTLS priority string. */
#ifndef HTTP_WEB_PRIORITY_H
#define HTTP_WEB_PRIORITY_H

#include "userspace/http/web_config.h"

/* Fills c->priority. Returns 0, or -EINVAL after logging one line. GnuTLS sets key exchanges and
 * ciphers separately: a combination that would allow a suite which is not listed is an error that
 * names this suite. */
int web_priority(struct web_config *c, const char *file);

#endif
