/* SPDX-License-Identifier: Apache-2.0 */
/* credentials.h - finds and reads the file of Google's application default credentials. An invalid
 * file is reported in one line with its name and the fault, never with its content. Contract:
 * google-auth's service_account.Credentials, oauth2.credentials. */
#ifndef CLOUD_CREDENTIALS_H
#define CLOUD_CREDENTIALS_H

#include <stddef.h>

#include <cjson/cJSON.h>

#define CREDENTIALS_FILE_MAX  (64u << 10)
#define CREDENTIALS_TOKEN_URI "https://oauth2.googleapis.com/token"

enum credentials_kind {
	CREDENTIALS_ACCOUNT, /* service_account: a key that signs requests for tokens */
	/* authorized_user: a refresh token, for which Google gives access tokens. */
	CREDENTIALS_USER,
};

struct credentials {
	enum credentials_kind kind;
	char *path;
	char *token_uri;
	/* Of CREDENTIALS_ACCOUNT; key in PEM, key_id may be NULL. */
	char *email, *key, *key_id;
	char *client_id, *client_secret, *refresh; /* of CREDENTIALS_USER */
	char project[64], quota[64];		   /* projects in the file; "": none */
};

/* Reads the first of these files: GOOGLE_APPLICATION_CREDENTIALS, else that in $CLOUDSDK_CONFIG or
 * ~/.config/gcloud, else that in /etc/google/auth. Returns 0; -ENOENT: none exists; -EACCES: the
 * file cannot be used, for the reason in why; -ENOMEM. The caller frees *ret in every case. */
int credentials_find(struct credentials *ret, char *why, size_t len);
/* Like credentials_find(), for the file at path. -ENOENT: it does not exist. */
int credentials_read(struct credentials *ret, const char *path, char *why, size_t len);
void credentials_free(struct credentials *c); /* leaves no secrets in memory */
/* Like cJSON_Delete(), but first overwrites the strings of an object, which may be secrets. */
void credentials_drop(cJSON *json);

#endif
