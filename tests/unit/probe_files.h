/* SPDX-License-Identifier: Apache-2.0 */
/* probe_files.h - a directory of probe files, and what is said about them. */
#ifndef TESTS_UNIT_PROBE_FILES_H
#define TESTS_UNIT_PROBE_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <unistd.h>

#include "loader/probe/probe_file.h"
#include "userspace/base/log.h"

static char dir[] = "/tmp/gp-probes-XXXXXX";
static char said[4096];

static inline void hear(void *ctx, enum log_level level, const char *line)
{
	size_t len = strlen(said);

	(void)ctx;
	(void)level;
	snprintf(said + len, sizeof(said) - len, "%s\n", line);
}

static inline void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	assert_int_equal(fclose(f), 0);
}

static inline void remove_file(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(remove(path), 0);
}

static inline int load_one(const char *text, struct probe_table **ret)
{
	int err;

	write_file("a.yaml", text);
	said[0] = 0;
	err = probe_table_load(ret, dir);
	remove_file("a.yaml");
	return err;
}

/* What is said, without the directory. */
static inline const char *what_was_said(void)
{
	const char *at = strstr(said, dir);

	assert_non_null(at);
	return at + strlen(dir) + 1;
}

#define FILE_HEAD "runtime: fake\nlibraries: [libfake.so*]\nprobes:\n"
#define ROW(id)	  "  - id: " id "\n    symbol: fake_" id "\n    group: fault\n    why: a test\n"

static inline int probe_files_setup(void **state)
{
	(void)state;
	log_sink(hear, NULL);
	return mkdtemp(dir) ? 0 : -1;
}

static inline int probe_files_teardown(void **state)
{
	(void)state;
	return rmdir(dir);
}

#endif
