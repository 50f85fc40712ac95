/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.h - asks the metadata server of GCE or GKE. Contract: header Metadata-Flavor: Google
 * both ways; GCE_METADATA_HOST, GCE_METADATA_IP (host[:port]) and METADATA_SERVER_DETECTION (none,
 * assume-present, bios-only, ping-only) as in Google's gcp-metadata. It is asked past any proxy, by
 * its address: a name could resolve to another machine. */
#ifndef CLOUD_METADATA_H
#define CLOUD_METADATA_H

#include "userspace/cloud/web.h"

#define METADATA_ADDRESS "169.254.169.254"

/* path: below /computeMetadata/v1/. 0: 200 of a metadata server, ret holds it. -ENOENT: there is no
 * metadata server here; -EAGAIN: there should be one, and it does not answer yet; -ENODATA: it does
 * not know that (404); -EACCES: it refuses. why: one line. */
int metadata_get(struct web *web, const char *path, uint64_t timeout_ms, struct web_reply *ret,
		 char *why, size_t len);

#endif
