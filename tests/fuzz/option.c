/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a command line. */
#include "tests/fuzz/fuzz.h"
#include "userspace/option/option.h"

#define WORDS_MAX 80

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	return !freopen("/dev/null", "w", stdout); /* --help */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text, *argv[WORDS_MAX + 2] = {"gp-bpf"}, off[512];
	struct options o;
	int argc = 1, code;

	if (!len)
		return 0;
	text = malloc(len);
	REQUIRE(text);
	memcpy(text, data + 1, len - 1);
	text[len - 1] = 0;
	/* A file that the input names is none of ours: it may be a device. */
	for (size_t at = 0; at < len - 1 && argc < WORDS_MAX; at += strlen(text + at) + 1)
		if (!strstr(text + at, "con"))
			argv[argc++] = text + at;
	code = options_parse(&o, 1u << data[0] % COMMANDS, argc, argv);
	REQUIRE(code == -1 || code == 0 || code == 2);
	if (code < 0) {
		REQUIRE(o.argc >= 0 && o.argc < argc);
		options_features_off(&o, off, sizeof(off));
		options_free(&o);
	}
	free(text);
	return 0;
}
