/* SPDX-License-Identifier: Apache-2.0 */
/* google.h - identity for Google Cloud: a token for writing metrics, and the location of this
 * machine. Contract: Google's "application default credentials" in their order: the file that
 * GOOGLE_APPLICATION_CREDENTIALS names; application_default_credentials.json in $CLOUDSDK_CONFIG or
 * ~/.config/gcloud, then in /etc/google/auth; the metadata server of GCE or GKE (see metadata.h).
 * Types service_account (RS256 JWT, exchanged at its token_uri) and authorized_user (refresh
 * token); others are named as unsupported. Nothing secret is ever logged or kept on disk. Call from
 * one thread. */
#ifndef CLOUD_GOOGLE_H
#define CLOUD_GOOGLE_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/cloud/web.h"

#define GOOGLE_SCOPE "https://www.googleapis.com/auth/monitoring.write"
/* Seconds before its end at which a token is renewed, as in google-auth-library. */
#define GOOGLE_EARLY_S 300
/* Attempts after broken connections and replies 5xx, as in gcp-metadata. */
#define GOOGLE_METADATA_TRY 3

struct google;
/* web is borrowed. Returns 0 or -ENOMEM. Reads and requests nothing yet. */
int google_open(struct google **ret, struct web *web);
void google_close(struct google *g); /* NULL is fine, as for web_close() */

/* Gets a valid token as a header ("Authorization: Bearer ..."), and requests one if necessary.
 * Returns 0; -EAGAIN: try later (no network, the metadata server has not started); -EACCES:
 * refused, or no credentials, or of an unsupported kind. Each call after an error reads the files
 * and asks the metadata server again. While a token is valid, a failed renewal is not reported.
 * why: one line, without secrets. Takes at most 10 s, or 30 s if connections to the metadata server
 * break. */
int google_token(struct google *g, struct buffer *ret_header, char *why, size_t len);
/* Makes the next google_token() request a new token. Call when the service refused the token (401).
 */
void google_token_refused(struct google *g);
/* Returns the project whose quota is used: GOOGLE_CLOUD_QUOTA_PROJECT, else that in the credentials
 * of the last google_token(), or "". Valid until the next google_token(). */
const char *google_quota_project(const struct google *g);

/* Returns the project of the credentials: GOOGLE_CLOUD_PROJECT, else that in the credentials of the
 * last google_token(), or "". Valid until the next google_token(). */
const char *google_project(const struct google *g);

/* Location and type of this machine; "" for unknown values. */
struct google_place {
	char project[64];  /* id, not number */
	char zone[64];	   /* "us-central1-a" */
	char location[64]; /* on GKE the zone or region of the cluster, else the zone */
	char cluster[64];  /* name of the GKE cluster; "": not on GKE */
	char instance_id[32];
	char instance_name[128];
	char machine_type[64]; /* empty with GKE Workload Identity */
	char tpu_type[64];     /* accelerator-type of a TPU VM: "v5p-8" */
	char tpu_worker[16];   /* agent-worker-number */
};
/* Gets the location from the metadata server. Returns 0; -EAGAIN: the server does not answer yet;
 * -ENOENT: there is none, so this is not a machine of Google Cloud. */
int google_place(struct google *g, struct google_place *ret);
/* Returns the goodput library's name of a machine type's accelerators, such as "NVIDIA-H100": the
 * first match in the order of its gcp_metrics, else "UNKNOWN". */
const char *google_accelerator(const char *machine_type);

#endif
