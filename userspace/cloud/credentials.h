/* SPDX-License-Identifier: Apache-2.0 */
/* credentials.h - finds and reads the file with Google's application default credentials. If the
 * file is invalid, `why` gets one line with its name and the error, never with its content.
 * Compatible with google-auth's service_account.Credentials and oauth2.credentials. */
#ifndef CLOUD_CREDENTIALS_H
#define CLOUD_CREDENTIALS_H

#include <stddef.h>

#include <cjson/cJSON.h>

#define CREDENTIALS_FILE_MAX  (64u << 10)
#define CREDENTIALS_TOKEN_URI "https://oauth2.googleapis.com/token"

enum credentials_kind {
	CREDENTIALS_ACCOUNT, /* type "service_account": a private key, with which requests for
				tokens are signed */
	/* type "authorized_user": a refresh token, for which Google gives access tokens */
	CREDENTIALS_USER,
};

struct credentials {
	enum credentials_kind kind;
	char *path;
	char *token_uri;
	/* only for CREDENTIALS_ACCOUNT; key is in PEM format; key_id may be NULL */
	char *email, *key, *key_id;
	char *client_id, *client_secret, *refresh; /* only for CREDENTIALS_USER */
	/* project and quota project that the file names; "": it names none */
	char project[64], quota[64];
};

/* Reads the first of these files that exists: the one named by GOOGLE_APPLICATION_CREDENTIALS, or
 * application_default_credentials.json in $CLOUDSDK_CONFIG or ~/.config/gcloud, or in
 * /etc/google/auth. Returns 0; -ENOENT: none exists; -EACCES: the file cannot be used, and `why`
 * gets the reason; -ENOMEM. The caller frees *ret in every case. */
int credentials_find(struct credentials *ret, char *why, size_t len);
/* Like credentials_find(), but reads the file at path. Returns -ENOENT if it does not exist. */
int credentials_read(struct credentials *ret, const char *path, char *why, size_t len);
void credentials_free(struct credentials *c); /* overwrites secrets before freeing their memory */
/* Like cJSON_Delete(), but overwrites the strings of an object first, because they may be
 * secrets. */
void credentials_drop(cJSON *json);

#endif
