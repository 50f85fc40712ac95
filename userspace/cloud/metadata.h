/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.h - requests values from the metadata server of GCE or GKE. Like Google's gcp-metadata,
 * it sends and expects the header Metadata-Flavor: Google, and uses the variables
 * GCE_METADATA_HOST, GCE_METADATA_IP (host[:port]) and METADATA_SERVER_DETECTION (none,
 * assume-present, bios-only, ping-only). Requests use no proxy, and go to an IP address, because
 * the server's name could resolve to another machine. */
#ifndef CLOUD_METADATA_H
#define CLOUD_METADATA_H

#include "userspace/cloud/web.h"

#define METADATA_ADDRESS "169.254.169.254"

/* Gets a value. path: below /computeMetadata/v1/. Returns 0: *ret is the metadata server's reply
 * with status 200; -ENOENT: there is no metadata server; -EAGAIN: this machine should have a
 * metadata server, but it does not answer yet; -ENODATA: there is no such value (404); -EACCES:
 * refused. why: the reason in one line. */
int metadata_get(struct web *web, const char *path, uint64_t timeout_ms, struct web_reply *ret,
		 char *why, size_t len);

#endif
