/* SPDX-License-Identifier: Apache-2.0 */
/* credentials.h - files of Google's application default credentials: which one counts, and what it
 * says. People write these files, so a broken one is reported in one line with its name and
 * what is wrong with it, never with its content. Contract: google-auth's
 * service_account.Credentials, oauth2.credentials. */
#ifndef CLOUD_CREDENTIALS_H
#define CLOUD_CREDENTIALS_H

#include <stddef.h>

#include <cjson/cJSON.h>

#define CREDENTIALS_FILE_MAX  (64u << 10)
#define CREDENTIALS_TOKEN_URI "https://oauth2.googleapis.com/token"

enum credentials_kind {
	CREDENTIALS_ACCOUNT, /* service_account: signs for itself */
	CREDENTIALS_USER,    /* authorized_user: a token that brings others */
};

struct credentials {
	enum credentials_kind kind;
	char *path;
	char *token_uri;
	char *email, *key, *key_id;		   /* ACCOUNT; key in PEM, key_id may be NULL */
	char *client_id, *client_secret, *refresh; /* USER */
	char project[64], quota[64];		   /* "" where the file names none */
};

/* The file that counts: of GOOGLE_APPLICATION_CREDENTIALS, else of $CLOUDSDK_CONFIG or
 * ~/.config/gcloud, else of /etc/google/auth. 0; -ENOENT: there is none; -EACCES: it is of no use,
 * why says so; -ENOMEM. The caller frees *ret in every case. */
int credentials_find(struct credentials *ret, char *why, size_t len);
/* One that is named. -ENOENT: it is not there. */
int credentials_read(struct credentials *ret, const char *path, char *why, size_t len);
void credentials_free(struct credentials *c); /* leaves no secrets in memory */
/* As cJSON_Delete(), and the strings of an object are wiped first. */
void credentials_drop(cJSON *json);

#endif
