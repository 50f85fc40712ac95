/* SPDX-License-Identifier: Apache-2.0 */
/* Probe files: YAML to rows. */
#include "loader/probe/probe_file.h"
#include "tests/fuzz/fuzz.h"

static struct fuzz_file file;
static const char *folder;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char path[64];

	(void)argc;
	(void)argv;
	fuzz_quiet();
	fuzz_file_open(&file);
	folder = fuzz_folder();
	snprintf(path, sizeof(path), "%s/x.yaml", folder);
	return symlink(file.path, path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct probe_table *t = NULL;
	struct gp_row row;

	fuzz_file_fill(&file, data, len);
	if (probe_table_load(&t, folder))
		return 0;
	for (size_t i = 0; i < probe_table_count(t); i++)
		for (int pushed = 0; pushed <= 128; pushed += 64)
			probe_row_compile(probe_table_row(t, i), pushed, &row);
	probe_table_free(t);
	return 0;
}
