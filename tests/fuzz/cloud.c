/* SPDX-License-Identifier: Apache-2.0 */
/* What endpoints of Google and the metadata server answer, and files of credentials: nothing but
 * one line of printable text gets out of them. The first byte says which. */
#include "userspace/cloud/google.c"
#include "userspace/cloud/place.c"

#include "tests/fuzz/fuzz.h"

static struct fuzz_file file;
static char path[64];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	fuzz_file_open(&file);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file.fd);
	return 0;
}

static void fuzz_credentials(const uint8_t *data, size_t len)
{
	struct credentials c;
	char why[512] = "";
	int err;

	fuzz_file_fill(&file, data, len);
	err = credentials_read(&c, path, why, sizeof(why));
	REQUIRE(!err || err == -EACCES);
	REQUIRE(!err == !why[0]);
	REQUIRE(fuzz_printable(why, strlen(why), false));
	if (!err) {
		REQUIRE(c.kind == CREDENTIALS_USER ? c.refresh && c.client_id && c.client_secret
						   : c.key && c.email);
		REQUIRE(fuzz_printable(c.token_uri, strlen(c.token_uri), false));
	}
	credentials_free(&c);
}

static void fuzz_token(const uint8_t *data, size_t len, long status)
{
	static const char *const secrets[] = {"secret", NULL};
	struct web_reply r = {.status = status, .date_ns = status % 2 ? INT64_MAX : 1};
	struct google g = {0};
	char why[256] = "";
	int err;

	buffer_add(&r.body, data, len);
	err = google_judge(&g, &r, "from", secrets, clock_boot_ns(), why, sizeof(why));
	REQUIRE(fuzz_printable(why, strlen(why), false));
	REQUIRE(!strstr(why, "secret"));
	if (!err) {
		REQUIRE(!strncmp(g.header.data, "Authorization: Bearer ", 22));
		REQUIRE(strlen(g.header.data) == g.header.len && g.header.len > 22);
		REQUIRE(fuzz_printable(g.header.data, g.header.len, false));
		REQUIRE(!strchr(g.header.data + 22, ' '));
		REQUIRE(g.renew_ns <= g.end_ns);
	}
	google_wipe(&g.header);
	buffer_free(&r.body);
}

static void fuzz_place(const uint8_t *data, size_t len, bool last)
{
	struct buffer body = {0};
	char word[16];

	buffer_add(&body, data, len);
	place_word(&body, last, word, sizeof(word));
	REQUIRE(strlen(word) < sizeof(word));
	REQUIRE(fuzz_printable(word, strlen(word), false) && !strchr(word, ' '));
	google_accelerator(word);
	buffer_free(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (!len)
		return 0;
	switch (data[0] % 5) {
	case 0:
		fuzz_credentials(data + 1, len - 1);
		break;
	case 1:
		fuzz_token(data + 1, len - 1, 200);
		break;
	case 2:
		fuzz_token(data + 1, len - 1, 400 + data[0]);
		break;
	default:
		fuzz_place(data + 1, len - 1, data[0] % 2);
		break;
	}
	return 0;
}
