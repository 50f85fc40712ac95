/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/http/http_tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/x509.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/base/log.h"
#include "userspace/base/path.h"

#define TLS_SAN_MAX 1024

struct http_tls {
	unsigned references;
	gnutls_certificate_credentials_t credentials;
	gnutls_priority_t priority;
	enum web_client client;
	struct web_names sans;
};

/* Reads PEM to memory; free it with http_tls_pem_forget(). */
static int http_tls_pem_read(gnutls_datum_t *ret, const struct web_pem *pem, const char *config,
			     const char *what)
{
	struct stat st = {0};
	ssize_t n = -1;
	int fd, err = 0;

	if (!pem->file) {
		ret->data = (unsigned char *)strdup(pem->text);
		ret->size = (unsigned)strlen(pem->text);
		return ret->data ? 0 : -ENOMEM;
	}
	fd = path_open(pem->file, O_RDONLY, 0);
	if (fd < 0 || fstat(fd, &st))
		err = fd < 0 ? fd : -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	else if (st.st_size > HTTP_PEM_MAX)
		err = -EFBIG;
	ret->data = err ? NULL : malloc((size_t)st.st_size + 1);
	if (!err && !ret->data)
		err = -ENOMEM;
	if (!err)
		n = read(fd, ret->data, (size_t)st.st_size);
	if (!err && n < 0)
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (err) {
		log_error("%s: cannot read %s %s: %s", config, what, pem->file, strerror(-err));
		free(ret->data);
		ret->data = NULL;
		return err;
	}
	ret->size = (unsigned)n;
	return 0;
}

static void http_tls_pem_forget(gnutls_datum_t *pem)
{
	if (pem->data)
		explicit_bzero(pem->data, pem->size);
	free(pem->data);
}

/* Compares a subject alternative name with text; IP addresses are binary in a certificate. */
static bool http_tls_san_is(const char *san, size_t len, int type, const char *wanted)
{
	char text[INET6_ADDRSTRLEN];

	if (type == GNUTLS_SAN_IPADDRESS)
		return (len == 4 || len == 16) &&
		       inet_ntop(len == 4 ? AF_INET : AF_INET6, san, text, sizeof(text)) &&
		       !strcmp(text, wanted);
	return (type == GNUTLS_SAN_DNSNAME || type == GNUTLS_SAN_RFC822NAME ||
		type == GNUTLS_SAN_URI) &&
	       len == strlen(wanted) && !memcmp(san, wanted, len);
}

static bool http_tls_san_allowed(const struct http_tls *t, const gnutls_datum_t *der)
{
	gnutls_x509_crt_t crt;
	bool allowed = false;

	if (gnutls_x509_crt_init(&crt))
		return false;
	if (!gnutls_x509_crt_import(crt, der, GNUTLS_X509_FMT_DER))
		for (unsigned i = 0; !allowed; i++) {
			char san[TLS_SAN_MAX];
			size_t len = sizeof(san);
			int type = gnutls_x509_crt_get_subject_alt_name(crt, i, san, &len, NULL);

			if (type == GNUTLS_E_SHORT_MEMORY_BUFFER)
				continue;
			if (type < 0)
				break;
			for (size_t j = 0; j < t->sans.count; j++)
				allowed |= http_tls_san_is(san, len, type, t->sans.name[j]);
		}
	gnutls_x509_crt_deinit(crt);
	return allowed;
}

/* Verifies the client's certificate, during the handshake. Returns 0 to continue. */
static int tls_verify(gnutls_session_t session)
{
	const struct http_tls *t = gnutls_session_get_ptr(session);
	gnutls_typed_vdata_st client = {
		.type = GNUTLS_DT_KEY_PURPOSE_OID,
		.data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT};
	const gnutls_datum_t *peer;
	unsigned count = 0, status = 0;

	peer = gnutls_certificate_get_peers(session, &count);
	if (!peer || !count)
		return t->client == WEB_CLIENT_REQUEST || t->client == WEB_CLIENT_IF_GIVEN ? 0 : -1;
	if (t->client == WEB_CLIENT_IF_GIVEN || t->client == WEB_CLIENT_VERIFIED)
		if (gnutls_certificate_verify_peers(session, &client, 1, &status) || status)
			return -1;
	return t->sans.count && !http_tls_san_allowed(t, &peer[0]) ? -1 : 0;
}

static int tls_names(struct http_tls *t, const struct web_names *from)
{
	for (; t->sans.count < from->count; t->sans.count++) {
		t->sans.name[t->sans.count] = strdup(from->name[t->sans.count]);
		if (!t->sans.name[t->sans.count])
			return -ENOMEM;
	}
	return 0;
}

static int tls_fill(struct http_tls *t, const struct web_config *c, const char *file)
{
	gnutls_datum_t cert = {0}, key = {0}, ca = {0};
	const char *at = NULL;
	int err, wrong;

	err = http_tls_pem_read(&cert, &c->cert, file, "cert_file");
	if (!err)
		err = http_tls_pem_read(&key, &c->key, file, "key_file");
	if (!err && (c->client_ca.file || c->client_ca.text))
		err = http_tls_pem_read(&ca, &c->client_ca, file, "client_ca_file");
	if (err)
		goto out;
	wrong = gnutls_certificate_set_x509_key_mem(t->credentials, &cert, &key,
						    GNUTLS_X509_FMT_PEM);
	if (wrong < 0) {
		log_error("%s: cannot use certificate %s with key %s: %s", file,
			  c->cert.file ? c->cert.file : "cert", c->key.file ? c->key.file : "key",
			  gnutls_strerror(wrong));
		err = -EINVAL;
		goto out;
	}
	wrong = ca.data ? gnutls_certificate_set_x509_trust_mem(t->credentials, &ca,
								GNUTLS_X509_FMT_PEM)
			: 1;
	if (wrong <= 0) {
		log_error("%s: %s: %s", file, c->client_ca.file ? c->client_ca.file : "client_ca",
			  wrong ? gnutls_strerror(wrong) : "contains no certificate");
		err = -EINVAL;
		goto out;
	}
	wrong = gnutls_priority_init(&t->priority, c->priority, &at);
	if (wrong < 0) {
		log_error(
			"%s: tls_server_config: GnuTLS does not accept these versions, ciphers or curves (%s): %s",
			file, c->priority, gnutls_strerror(wrong));
		err = -EINVAL;
	}
out:
	http_tls_pem_forget(&cert);
	http_tls_pem_forget(&key);
	http_tls_pem_forget(&ca);
	return err;
}

int http_tls_new(struct http_tls **ret, const struct web_config *c, const char *file)
{
	struct http_tls *t = calloc(1, sizeof(*t));
	int err = -ENOMEM;

	if (!t)
		return -ENOMEM;
	t->references = 1;
	t->client = c->client;
	if (!gnutls_certificate_allocate_credentials(&t->credentials))
		err = tls_names(t, &c->sans);
	if (!err)
		err = tls_fill(t, c, file);
	if (err) {
		http_tls_unref(t);
		return err;
	}
	if (t->client != WEB_CLIENT_NONE)
		gnutls_certificate_set_verify_function(t->credentials, tls_verify);
	*ret = t;
	return 0;
}

int http_tls_session(struct http_tls *t, gnutls_session_t session)
{
	static const gnutls_certificate_request_t request[] = {
		[WEB_CLIENT_NONE] = GNUTLS_CERT_IGNORE,
		[WEB_CLIENT_REQUEST] = GNUTLS_CERT_REQUEST,
		[WEB_CLIENT_ANY] = GNUTLS_CERT_REQUIRE,
		[WEB_CLIENT_IF_GIVEN] = GNUTLS_CERT_REQUEST,
		[WEB_CLIENT_VERIFIED] = GNUTLS_CERT_REQUIRE,
	};

	if (gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, t->credentials) ||
	    gnutls_priority_set(session, t->priority))
		return -EIO;
	gnutls_certificate_server_set_request(session, request[t->client]);
	gnutls_session_set_ptr(session, t);
	t->references++;
	return 0;
}

void http_tls_unref(struct http_tls *t)
{
	if (!t || --t->references)
		return;
	if (t->credentials)
		gnutls_certificate_free_credentials(t->credentials);
	if (t->priority)
		gnutls_priority_deinit(t->priority);
	for (size_t i = 0; i < t->sans.count; i++)
		free(t->sans.name[i]);
	free(t);
}
