/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/http/web_priority.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/log.h"

/* Key exchange of a cipher suite; TLS 1.3 suites have none (ANY). */
enum exchange { ANY, RSA, ECDSA, EXCHANGES };
static const char *const exchange_name[EXCHANGES] = {"", "ECDHE-RSA", "ECDHE-ECDSA"};

static const struct {
	const char *name;
	enum exchange exchange;
	const char *cipher, *mac;
} suites[] = {
	{"TLS_AES_128_GCM_SHA256", ANY, "AES-128-GCM", "AEAD"},
	{"TLS_AES_256_GCM_SHA384", ANY, "AES-256-GCM", "AEAD"},
	{"TLS_CHACHA20_POLY1305_SHA256", ANY, "CHACHA20-POLY1305", "AEAD"},
	{"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", ECDSA, "AES-128-CBC", "SHA1"},
	{"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", ECDSA, "AES-256-CBC", "SHA1"},
	{"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", RSA, "AES-128-CBC", "SHA1"},
	{"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", RSA, "AES-256-CBC", "SHA1"},
	{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", ECDSA, "AES-128-GCM", "AEAD"},
	{"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", ECDSA, "AES-256-GCM", "AEAD"},
	{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", RSA, "AES-128-GCM", "AEAD"},
	{"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", RSA, "AES-256-GCM", "AEAD"},
	{"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", RSA, "CHACHA20-POLY1305", "AEAD"},
	{"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", ECDSA, "CHACHA20-POLY1305", "AEAD"},
};
#define SUITES (sizeof(suites) / sizeof(suites[0]))

static const struct {
	const char *name, *group;
} curves[] = {
	{"CurveP256", "GROUP-SECP256R1"},
	{"CurveP384", "GROUP-SECP384R1"},
	{"CurveP521", "GROUP-SECP521R1"},
	{"X25519", "GROUP-X25519"},
};

/* Appends to c->priority, which is large enough for all rows of the tables. */
__attribute__((format(printf, 2, 3))) static void web_priority_add(struct web_config *c,
								   const char *fmt, ...)
{
	size_t len = strlen(c->priority);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->priority + len, sizeof(c->priority) - len, fmt, ap);
	va_end(ap);
}

static void web_priority_add_once(struct web_config *c, const char *what)
{
	const char *at = strstr(c->priority, what);
	char end = at ? at[strlen(what)] : 'x';

	if (end && end != ':')
		web_priority_add(c, ":+%s", what);
}

static int web_priority_suite_find(const char *name)
{
	for (size_t i = 0; i < SUITES; i++)
		if (!strcmp(suites[i].name, name))
			return (int)i;
	return -1;
}

/* Returns the first suite that the config does not list, but GnuTLS would allow, because its key
 * exchange and its cipher each belong to a listed suite; -1: none. */
static int web_priority_suite_unlisted(const struct web_config *c)
{
	unsigned listed = 0, exchanges = 0;

	for (size_t i = 0; i < c->ciphers.count; i++) {
		int s = web_priority_suite_find(c->ciphers.name[i]);

		listed |= 1u << s;
		exchanges |= 1u << suites[s].exchange;
	}
	for (size_t i = 0; i < SUITES; i++) {
		if (listed & (1u << i) || suites[i].exchange == ANY ||
		    !(exchanges & (1u << suites[i].exchange)))
			continue;
		for (size_t j = 0; j < SUITES; j++)
			if (listed & (1u << j) && !strcmp(suites[j].cipher, suites[i].cipher))
				return (int)i;
	}
	return -1;
}

/* Requires TLS 1.3 if all listed suites are of TLS 1.3, because earlier versions have no suite
 * left. */
static int web_priority_only_newest(struct web_config *c, const char *file)
{
	bool older = false;

	for (size_t i = 0; i < c->ciphers.count; i++) {
		int s = web_priority_suite_find(c->ciphers.name[i]);

		if (s < 0) {
			log_error("%s: tls_server_config.cipher_suites: unknown suite %s", file,
				  c->ciphers.name[i]);
			return -EINVAL;
		}
		older |= suites[s].exchange != ANY;
	}
	if (older)
		return 0;
	if (c->ciphers.count && c->tls_max < 13) {
		log_error(
			"%s: tls_server_config.cipher_suites: no suite can be used with max_version",
			file);
		return -EINVAL;
	}
	if (c->ciphers.count)
		c->tls_min = 13;
	return 0;
}

static int web_priority_add_ciphers(struct web_config *c, const char *file)
{
	bool exchange = false;
	int s;

	if (!c->ciphers.count)
		return 0;
	web_priority_add(c, ":-CIPHER-ALL:-MAC-ALL:-KX-ALL");
	for (size_t i = 0; i < c->ciphers.count; i++) {
		s = web_priority_suite_find(c->ciphers.name[i]);
		web_priority_add_once(c, suites[s].cipher);
		web_priority_add_once(c, suites[s].mac);
		if (suites[s].exchange != ANY)
			web_priority_add_once(c, exchange_name[suites[s].exchange]);
		exchange |= suites[s].exchange != ANY;
	}
	s = web_priority_suite_unlisted(c);
	if (s >= 0) {
		log_error(
			"%s: tls_server_config.cipher_suites: GnuTLS would also allow %s: list this suite, or remove suites with the same key exchange and cipher",
			file, suites[s].name);
		return -EINVAL;
	}
	if (!exchange)
		web_priority_add(c, ":+ECDHE-RSA:+ECDHE-ECDSA");
	return 0;
}

static int web_priority_add_curves(struct web_config *c, const char *file)
{
	for (size_t i = 0; i < c->curves.count; i++) {
		const char *group = NULL;

		for (size_t j = 0; j < sizeof(curves) / sizeof(curves[0]); j++)
			if (!strcmp(curves[j].name, c->curves.name[i]))
				group = curves[j].group;
		if (!group) {
			log_error("%s: tls_server_config.curve_preferences: unknown curve %s", file,
				  c->curves.name[i]);
			return -EINVAL;
		}
		if (!i)
			web_priority_add(c, ":-GROUP-ALL");
		web_priority_add_once(c, group);
	}
	return 0;
}

int web_priority(struct web_config *c, const char *file)
{
	int err = web_priority_only_newest(c, file);

	if (err)
		return err;
	c->priority[0] = '\0';
	web_priority_add(c, "NORMAL:-VERS-ALL");
	for (int v = c->tls_max; v >= c->tls_min; v--)
		web_priority_add(c, ":+VERS-TLS1.%d", v - 10);
	err = web_priority_add_ciphers(c, file);
	if (!err)
		err = web_priority_add_curves(c, file);
	if (!err && c->server_chooses)
		web_priority_add(c, ":%%SERVER_PRECEDENCE");
	return err;
}
