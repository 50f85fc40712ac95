/* SPDX-License-Identifier: Apache-2.0 */
/* A reply of Cloud Monitoring: status, then the body. */
#include "tests/fuzz/fuzz.h"
#include "userspace/export/gcm/answer.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	return 0;
}

static void answer_hold(const struct answer *a, uint32_t count)
{
	uint32_t written = 0;
	uint64_t blind = 0;

	for (uint32_t i = 0; i < REQUEST_SERIES; i++) {
		REQUIRE(a->fate[i] <= FATE_HALF);
		REQUIRE(a->cause[i] < SENDER_DROP_COUNT);
		REQUIRE(i < count || a->fate[i] == FATE_WRITTEN);
		written += i < count && a->fate[i] == FATE_WRITTEN;
	}
	for (int c = 0; c < SENDER_DROP_COUNT; c++)
		blind += a->blind[c];
	REQUIRE(blind <= written);
	REQUIRE(a->retry_ms >= -1 && a->retry_ms <= 86400000);
	REQUIRE(fuzz_printable(a->why, strnlen(a->why, sizeof(a->why)), false));
	REQUIRE(strnlen(a->why, sizeof(a->why)) < sizeof(a->why));
	REQUIRE(a->kind != ANSWER_TAKEN || written == count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const long status[] = {200, 400, 401, 403, 404, 429, 500, 503};
	struct input in = {data, data + len};
	struct web_reply reply = {.status = status[input_byte(&in) % 8], .retry_after_ms = -1};
	uint32_t count = input_byte(&in) % REQUEST_SERIES + 1;
	struct answer a;

	buffer_add(&reply.body, in.at, input_left(&in));
	answer_read(&a, 0, &reply, count);
	answer_hold(&a, count);
	web_reply_free(&reply);
	return 0;
}
