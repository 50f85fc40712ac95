/* SPDX-License-Identifier: Apache-2.0 */
/* An archive, as two programs of others read it: tar and Python's tarfile. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "userspace/base/tar.h"

#define TIME_S 1795262400

static char folder[64], archive[96];

static const size_t lengths[] = {0, 1, 511, 512, 513, 1023, 1024, 10240, 1 << 20};
#define FILES (sizeof(lengths) / sizeof(lengths[0]))

/* The longest name there can be, in folders. */
static void name_of(char name[TAR_NAME_MAX + 1], size_t i)
{
	char tail[16];

	snprintf(tail, sizeof(tail), "-%zu", i);
	memset(name, 'n', TAR_NAME_MAX);
	name[10] = name[40] = '/';
	memcpy(name + TAR_NAME_MAX - strlen(tail), tail, strlen(tail) + 1);
}

/* Bytes of every kind, another row of them in each file. */
static char byte_of(size_t i, size_t k)
{
	return (char)(k * 31 + k / 251 + i);
}

static void make(void)
{
	struct buffer tar = {0}, packed = {0};
	char name[TAR_NAME_MAX + 1];
	FILE *f;

	for (size_t i = 0; i < FILES; i++) {
		char *data = malloc(lengths[i] + 1);

		assert_non_null(data);
		for (size_t k = 0; k < lengths[i]; k++)
			data[k] = byte_of(i, k);
		name_of(name, i);
		assert_int_equal(tar_add(&tar, name, data, lengths[i], TIME_S), 0);
		free(data);
	}
	assert_int_equal(tar_add(&tar, "short", "word", 4, 0), 0);
	tar_end(&tar);
	assert_int_equal(tar.len % 512, 0);
	assert_int_equal(tar_compress(&packed, &tar), 0);
	assert_false(tar.failed || packed.failed);
	f = fopen(archive, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(packed.data, 1, packed.len, f), packed.len);
	assert_int_equal(fclose(f), 0);
	buffer_free(&tar);
	buffer_free(&packed);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/gp-bpf-tar-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(archive, sizeof(archive), "%s/a.tar.gz", folder);
	make();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(archive);
	return rmdir(folder);
}

static void listed(void **state)
{
	char command[256], line[256], name[TAR_NAME_MAX + 1], is[160], mode[16], owner[32];
	unsigned long long bytes;
	FILE *f;

	(void)state;
	snprintf(command, sizeof(command), "TZ=UTC tar --numeric-owner --full-time -tvzf %s 2>&1",
		 archive);
	f = popen(command, "re");
	assert_non_null(f);
	for (size_t i = 0; i <= FILES; i++) {
		assert_non_null(fgets(line, sizeof(line), f));
		assert_int_equal(
			sscanf(line, "%15s %31s %llu %*s %*s %159s", mode, owner, &bytes, is), 4);
		if (i < FILES)
			name_of(name, i);
		else
			snprintf(name, sizeof(name), "short");
		assert_string_equal(is, name);
		assert_string_equal(mode, "-rw-------");
		assert_string_equal(owner, "0/0");
		assert_int_equal(bytes, i < FILES ? lengths[i] : 4);
		if (i < FILES)
			assert_non_null(strstr(line, " 2026-11-21 12:00:00 "));
	}
	assert_null(fgets(line, sizeof(line), f)); /* and no warning */
	assert_int_equal(pclose(f), 0);
}

/* What is in each is what was put there; the sizes are told by the script, as the program above has
 * them. */
static void read_whole(void **state)
{
	static const char script[] =
		"import sys, tarfile\n"
		"lengths = [int(n) for n in sys.argv[2:]]\n"
		"t = tarfile.open(sys.argv[1], 'r:gz')\n"
		"members = t.getmembers()\n"
		"assert len(members) == len(lengths) + 1, members\n"
		"for i, m in enumerate(members[:-1]):\n"
		"    want = bytes((k * 31 + k // 251 + i) % 256 for k in range(lengths[i]))\n"
		"    assert m.isreg() and len(m.name) == 99 and m.name.endswith(f'-{i}'), m.name\n"
		"    assert m.size == lengths[i] and m.mtime == 1795262400 and m.mode == 0o600, m.get_info()\n"
		"    assert t.extractfile(m).read() == want, m.name\n"
		"assert t.extractfile('short').read() == b'word'\n";
	char command[4096];
	int at;

	(void)state;
	at = snprintf(command, sizeof(command), "/usr/bin/python3 -c \"%s\" %s", script, archive);
	for (size_t i = 0; i < FILES; i++)
		at += snprintf(command + at, sizeof(command) - (size_t)at, " %zu", lengths[i]);
	assert_int_equal(system(command), 0);
}

static void refused(void **state)
{
	char name[TAR_NAME_MAX + 2];
	struct buffer tar = {0};

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	assert_int_equal(tar_add(&tar, name, "", 0, 0), -EINVAL);
	assert_int_equal(tar_add(&tar, "", "", 0, 0), -EINVAL);
	assert_int_equal(tar_add(&tar, "/etc/passwd", "", 0, 0), -EINVAL);
	assert_int_equal(tar_add(&tar, "late", "", 0, -1), -EINVAL);
	assert_int_equal(tar_add(&tar, "large", "", (size_t)1 << 33, 0), -EINVAL);
	assert_int_equal(tar.len, 0);
	buffer_free(&tar);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(listed), cmocka_unit_test(read_whole),
					   cmocka_unit_test(refused)};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
