/* SPDX-License-Identifier: Apache-2.0 */
/* google.h - the identity for Google Cloud: a token to write with, and where this machine is.
 * Contract: Google's "application default credentials" in their order: the file that
 * GOOGLE_APPLICATION_CREDENTIALS names; application_default_credentials.json in $CLOUDSDK_CONFIG or
 * ~/.config/gcloud, then in /etc/google/auth; the metadata server of GCE or GKE (see metadata.h).
 * Types service_account (RS256 JWT, exchanged at its token_uri) and authorized_user (refresh
 * token); others are named as unsupported. Nothing secret is ever logged or kept on disk. Call
 * from one thread. */
#ifndef CLOUD_GOOGLE_H
#define CLOUD_GOOGLE_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/cloud/web.h"

#define GOOGLE_SCOPE	    "https://www.googleapis.com/auth/monitoring.write"
#define GOOGLE_EARLY_S	    300 /* before its end a token is renewed; google-auth-library does so */
#define GOOGLE_METADATA_TRY 3	/* as gcp-metadata, after connections that break and 5xx */

struct google;
/* web is kept by reference. 0 or -ENOMEM. Nothing is read or asked yet. */
int google_open(struct google **ret, struct web *web);
void google_close(struct google *g); /* NULL is fine, as for web_close() */

/* A token that lives on for a while, in the form of a header ("Authorization: Bearer ..."), asked
 * for where there is none. 0; -EAGAIN: it may work later (no network, a metadata server that is not
 * up yet); -EACCES: refused, or no credentials at all, or of an unsupported kind: it stays so until
 * something changes; files are read and the metadata server is asked again at each call. While a
 * token is valid, a failed renewal is not reported. why: one line, without secrets.
 * Takes 10 s at most, 30 s with a metadata server that breaks off. */
int google_token(struct google *g, struct buffer *ret_header, char *why, size_t len);
/* The service did not take it (401): the next call asks for another. */
void google_token_refused(struct google *g);
/* GOOGLE_CLOUD_QUOTA_PROJECT, else of the credentials that the last google_token() used: whose
 * quota pays, "" where they name none. Valid until the next google_token(). */
const char *google_quota_project(const struct google *g);

/* GOOGLE_CLOUD_PROJECT, else of the credentials, likewise: the project that they belong to. */
const char *google_project(const struct google *g);

/* Where this machine is, as far as it is known: "" where it is not. */
struct google_place {
	char project[64];  /* id, not number */
	char zone[64];	   /* "us-central1-a" */
	char location[64]; /* of the cluster on GKE: a zone or a region; else the zone */
	char cluster[64];  /* "": no GKE */
	char instance_id[32];
	char instance_name[128];
	char machine_type[64]; /* empty with GKE Workload Identity */
	char tpu_type[64];     /* accelerator-type of a TPU VM: "v5p-8" */
	char tpu_worker[16];   /* agent-worker-number */
};
/* Asks the metadata server. 0; -EAGAIN: it does not answer yet; -ENOENT: there is none, this is no
 * GCP. */
int google_place(struct google *g, struct google_place *ret);
/* "NVIDIA-H100", as the goodput library calls the accelerators of a machine type (facts of its
 * gcp_metrics): the first match in its order, else "UNKNOWN". */
const char *google_accelerator(const char *machine_type);

#endif
