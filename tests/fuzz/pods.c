/* SPDX-License-Identifier: Apache-2.0 */
/* What an API server or a kubelet may send: a pod, a node, a list or a watch in pieces. What gets
 * out is short and printable. The first byte says which, and how long the pieces are. */
#include "userspace/kubernetes/pods_private.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	return 0;
}

#define REQUIRE_TEXT(text)                                                                         \
	do {                                                                                       \
		REQUIRE(strnlen(text, sizeof(text)) < sizeof(text));                               \
		REQUIRE(fuzz_printable(text, strlen(text), false));                                \
	} while (0)

static void fuzz_pod(const cJSON *json)
{
	char alias[PODS_UID_MAX];
	struct pod pod;

	if (!pods_parse(json, &pod, alias))
		return;
	REQUIRE_TEXT(pod.uid);
	REQUIRE(pod.uid[0] && !strchr(pod.uid, '/') && pod.name[0]);
	REQUIRE_TEXT(alias);
	REQUIRE_TEXT(pod.namespace);
	REQUIRE_TEXT(pod.name);
	REQUIRE_TEXT(pod.node);
	REQUIRE_TEXT(pod.owner);
	REQUIRE_TEXT(pod.job);
	REQUIRE_TEXT(pod.job_uid);
	REQUIRE_TEXT(pod.phase);
	REQUIRE_TEXT(pod.reason);
	REQUIRE(pod.job_from != GP_JOB_FROM_none && pod.job[0]);
	REQUIRE(pod.attempt >= -1 && pod.rank >= -1 && pod.world_size >= -1);
	REQUIRE(pod.created_ns >= 0 && pod.deleted_ns >= 0 && pod.ncontainers <= POD_CONTAINERS);
	for (uint32_t i = 0; i < pod.ncontainers; i++) {
		REQUIRE_TEXT(pod.containers[i].name);
		REQUIRE_TEXT(pod.containers[i].id);
		REQUIRE_TEXT(pod.containers[i].reason);
		REQUIRE(pod.containers[i].started_ns >= 0 && pod.containers[i].ended_ns >= 0);
	}
}

static void fuzz_node(const cJSON *json)
{
	struct pods_signal signals[PODS_SIGNALS];
	uint32_t n = pods_parse_node(json, signals);

	REQUIRE(n <= PODS_SIGNALS);
	for (uint32_t i = 0; i < n; i++) {
		REQUIRE(strnlen(signals[i].key, sizeof(signals[i].key)) < sizeof(signals[i].key));
		REQUIRE_TEXT(signals[i].notice.text);
		REQUIRE(signals[i].notice.what && signals[i].notice.what < GP_NOTICE_COUNT);
	}
}

static bool fuzz_object(void *ctx, char *text, size_t len)
{
	cJSON *json = cJSON_ParseWithLength(text, len);

	(void)ctx;
	REQUIRE(len && len <= PODS_OBJECT_MAX && !text[len]);
	fuzz_pod(json);
	fuzz_node(json);
	fuzz_pod(pods_object(json, "object"));
	cJSON_Delete(json);
	return true;
}

static bool fuzz_meta(void *ctx, char *text, size_t len)
{
	(void)ctx;
	REQUIRE(len >= 2 && text[0] == '{' && !text[len]);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct pods_stream s = {.object = fuzz_object, .meta = fuzz_meta};
	size_t piece, n;

	if (!len)
		return 0;
	s.list = data[0] & 1;
	piece = (data[0] >> 1) + 1;
	for (size_t at = 1; at < len; at += n) {
		n = piece < len - at ? piece : len - at;
		if (!pods_stream_feed(&s, (const char *)data + at, n))
			break;
	}
	pods_stream_end(&s);
	pods_stream_free(&s);
	return 0;
}
