/* SPDX-License-Identifier: Apache-2.0 */
/* What a client says it takes; the file that says who may ask. */
#include <gnutls/gnutls.h>

#include "tests/fuzz/fuzz.h"
#include "userspace/http/http_accept.h"
#include "userspace/http/web_config.h"

static struct fuzz_file file;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	fuzz_file_open(&file);
	return 0;
}

static void config_is_sound(const struct web_config *c)
{
	gnutls_priority_t priority;

	REQUIRE(c->users <= WEB_USERS);
	for (size_t i = 0; i < c->users; i++)
		REQUIRE(strlen(c->user[i].hash) == WEB_HASH_LEN &&
			!strncmp(c->user[i].hash, "$2", 2));
	if (!c->tls)
		return;
	REQUIRE((c->cert.file || c->cert.text) && (c->key.file || c->key.text));
	REQUIRE(c->client < WEB_CLIENT_IF_GIVEN || c->client_ca.file || c->client_ca.text);
	REQUIRE(!gnutls_priority_init(&priority, c->priority, NULL));
	gnutls_priority_deinit(priority);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct web_config *c;
	char *text = malloc(len + 1);

	REQUIRE(text);
	memcpy(text, data, len);
	text[len] = '\0';
	REQUIRE(http_accept_format(text) < PROMETHEUS_FORMATS);
	http_accept_gzip(text);
	free(text);
	fuzz_file_fill(&file, data, len);
	if (!web_config_read(&c, file.path)) {
		config_is_sound(c);
		web_config_free(c);
	}
	return 0;
}
