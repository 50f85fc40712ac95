/* SPDX-License-Identifier: Apache-2.0 */
/* google.h - authenticates to Google Cloud: gets a token for writing metrics, and the location of
 * this machine. Credentials are Google's "application default credentials", in their order: the
 * file named by GOOGLE_APPLICATION_CREDENTIALS; application_default_credentials.json in
 * $CLOUDSDK_CONFIG or ~/.config/gcloud, or in /etc/google/auth; the metadata server of GCE or GKE
 * (metadata.h). Supported types are service_account (RS256 JWT, exchanged at its token_uri) and
 * authorized_user (refresh token); other types give an error that names them. Secrets are never
 * logged or written to disk. Call from one thread. */
#ifndef CLOUD_GOOGLE_H
#define CLOUD_GOOGLE_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/cloud/web.h"

#define GOOGLE_SCOPE "https://www.googleapis.com/auth/monitoring.write"
/* A token is renewed this number of seconds before it expires, as in google-auth-library. */
#define GOOGLE_EARLY_S 300
/* Number of attempts if the metadata server breaks the connection or replies 5xx, as in
 * gcp-metadata. */
#define GOOGLE_METADATA_TRY 3

struct google;
/* Creates a client that sends its requests with `web`, which the caller keeps and closes later.
 * Returns 0 or -ENOMEM. Reads and requests nothing yet. */
int google_open(struct google **ret, struct web *web);
void google_close(struct google *g); /* g may be NULL */

/* Gets the header line with a valid token ("Authorization: Bearer ..."), and requests a token if
 * necessary. Returns 0; -EAGAIN: try later (no network, or the metadata server has not started);
 * -EACCES: refused, or there are no credentials of a supported type. After an error, each call
 * reads the files and asks the metadata server again. A failed renewal is not reported while the
 * old token is valid. why: one line without secrets. Takes at most 10 s, or 30 s if connections to
 * the metadata server break. */
int google_token(struct google *g, struct buffer *ret_header, char *why, size_t len);
/* Discards the token, so that the next google_token() requests a new one. Call if a service refused
 * it (401). */
void google_token_refused(struct google *g);
/* Returns the project whose quota is used: GOOGLE_CLOUD_QUOTA_PROJECT, or else the quota project in
 * the credentials; "": unknown. Valid until the next google_token(). */
const char *google_quota_project(const struct google *g);

/* Returns the project: GOOGLE_CLOUD_PROJECT, or else the one in the credentials; "": unknown. Valid
 * until the next google_token(). */
const char *google_project(const struct google *g);

/* Location and type of this machine. "" stands for an unknown value. */
struct google_place {
	char project[64];  /* project id, not its number */
	char zone[64];	   /* "us-central1-a" */
	char location[64]; /* on GKE the zone or region of the cluster, otherwise the zone */
	char cluster[64];  /* name of the GKE cluster; "": this is not GKE */
	char instance_id[32];
	char instance_name[128];
	char machine_type[64]; /* unknown with GKE Workload Identity */
	char tpu_type[64];     /* type of a TPU VM: "v5p-8" (attribute accelerator-type) */
	char tpu_worker[16];   /* index of this TPU VM (attribute agent-worker-number) */
};
/* Gets the location from the metadata server. Returns 0; -EAGAIN: it does not answer yet; -ENOENT:
 * there is none, so this is not a machine of Google Cloud. */
int google_place(struct google *g, struct google_place *ret);
/* Returns the name that the goodput library's module gcp_metrics gives to the accelerators of a
 * machine type, such as "NVIDIA-H100"; "UNKNOWN": the module has no name for the type. */
const char *google_accelerator(const char *machine_type);

#endif
