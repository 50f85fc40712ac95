/* SPDX-License-Identifier: Apache-2.0 */
/* The version of a library, from the package that lists it or from its own name. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "userspace/identity/package.h"

static char root[] = "/tmp/gp-package-XXXXXX";
static const char *const *runtimes; /* of the library, then others */

static void folder(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void file(const char *name, const char *text, size_t filler)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	f = fopen(path, "w");
	assert_non_null(f);
	for (size_t i = 0; i < filler; i++)
		fputs("other/file.py,sha256=0,1\n", f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void version_is(const char *name, const char *version, const char *from)
{
	char path[PATH_MAX], got[16];
	const char *told;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	told = package_version(path, runtimes, got, sizeof(got));
	assert_string_equal(got, version);
	if (from)
		assert_string_equal(told, from);
	else
		assert_null(told);
}

static void test_version(void **state)
{
	(void)state;
	folder("site-packages");
	folder("site-packages/aaa-0.1.dist-info");
	folder("site-packages/broken.dist-info");
	folder("site-packages/torch-2.15.0+cpu.dist-info");
	folder("site-packages/liar-9.dist-info");
	folder("site-packages/liar-9.dist-info/RECORD");
	file("site-packages/aaa-0.1.dist-info/RECORD", "not/torch/lib/libtorch_cpu.so,,\n", 0);
	/* The line lies where a piece that is read ends. */
	file("site-packages/torch-2.15.0+cpu.dist-info/RECORD",
	     "torch/lib/libtorch_cpu.so,sha256=1,2\n", 2621);
	version_is("site-packages/torch/lib/libtorch_cpu.so", "2.15.0+cpu", "package");
	version_is("site-packages/torch/lib/libtorch_cpu.so.1.13", "1.13", "file name");
	version_is("site-packages/torch/lib/libtorch_gpu.so", "", NULL);
	version_is("libcuda.so.550.54.15", "550.54.15", "file name");
	version_is("libnccl.so.2", "", NULL);
	version_is("libx.so.1.a", "", NULL);
	version_is("libx.so.1.22222222222222222222222222", "1.2222222222222", "file name");
	/* What is built into torch, or comes with it, is not of torch's version. */
	runtimes = (const char *const[]){"nccl", "cuda", "torch", NULL};
	version_is("site-packages/torch/lib/libtorch_cpu.so", "", NULL);
	version_is("libtorch_cuda.so.2.6", "", NULL);
	version_is("libnccl.so.2.30.7", "2.30.7", "file name");
	runtimes = (const char *const[]){"nccl", "tor", NULL};
	version_is("site-packages/torch/lib/libtorch_cpu.so", "2.15.0+cpu", "package");
	runtimes = (const char *const[]){"torch_xla", "torch", NULL};
	version_is("libtorch_xla.so.2.6", "2.6", "file name");
}

static int remove_all(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_version, remove_all)};

	if (!mkdtemp(root))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
