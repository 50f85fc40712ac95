/* SPDX-License-Identifier: Apache-2.0 */
/* The config file: YAML to dotted keys. */
#include "tests/fuzz/fuzz.h"
#include "userspace/base/config_file.h"

static struct fuzz_file file;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	fuzz_file_open(&file);
	return 0;
}

static int on_value(void *ctx, const char *name, int line, const char *key, const char *value)
{
	size_t *total = ctx;

	(void)name;
	REQUIRE(line > 0);
	*total += strlen(key) + strlen(value);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	size_t total = 0;

	fuzz_file_fill(&file, data, len);
	config_read(file.path, on_value, &total);
	return 0;
}
