/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the files that a process maps, of this one: by one call of the helper process the same
 * as one after the other. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/gp_abi.h"
#include "loader/reader/mapping.h"
#include "userspace/base/helper.h"

#define FILES 40

static struct helper *helper;

static int setup(void **state)
{
	char name[] = "/tmp/gp_bpf_mapping_XXXXXX";
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	(void)state;
	for (int i = 0; i < FILES; i++) {
		int fd;

		memcpy(name + sizeof(name) - 7, "XXXXXX", 6);
		fd = mkstemp(name);
		if (fd < 0 || ftruncate(fd, (off_t)page) ||
		    mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			return -1;
		close(fd);
		unlink(name); /* what is told of it is its name without " (deleted)" */
	}
	return helper_new(&helper, MAPPING_HELPER_BYTES);
}

static int teardown(void **state)
{
	(void)state;
	helper_free(helper);
	return 0;
}

static bool first_of_file(const struct gp_vma *vma)
{
	return vma->dev != vma[-1].dev || vma->ino != vma[-1].ino;
}

static void test_paths(void **state)
{
	struct mapping_paths paths;
	struct gp_vma *vmas;
	char path[PATH_MAX];
	int n = mapping_list(NULL, getpid(), &vmas), told = 0;

	(void)state;
	assert_true(n > FILES);
	assert_int_equal(mapping_paths_by_helper(helper, NULL, getpid(), &paths), 0);
	for (int i = 0; i < n; i++) {
		const char *got = mapping_paths_get(&paths, vmas[i].start);

		if (i && !first_of_file(&vmas[i])) {
			assert_null(got);
			continue;
		}
		assert_int_equal(mapping_path(getpid(), &vmas[i], path, sizeof(path)), 0);
		assert_string_equal(got, path);
		told += !strncmp(got, "/tmp/gp_bpf_mapping_", 20);
	}
	assert_int_equal(told, FILES);
	/* Back to the first, and to where nothing is. */
	assert_non_null(mapping_paths_get(&paths, vmas[0].start));
	assert_null(mapping_paths_get(&paths, vmas[0].start + 1));
	assert_null(mapping_paths_get(&paths, 1));
	assert_null(mapping_paths_get(&paths, UINT64_MAX));
	assert_non_null(mapping_paths_get(&paths, vmas[0].start));
	free(paths.data);
	free(vmas);
}

static void test_nobody(void **state)
{
	struct mapping_paths paths;

	(void)state;
	assert_int_equal(mapping_paths_by_helper(NULL, NULL, getpid(), &paths), -ENOSYS);
	assert_int_equal(mapping_paths_by_helper(helper, NULL, INT_MAX, &paths), -ESRCH);
	assert_null(paths.data);
	assert_null(mapping_paths_get(&paths, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_nobody),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
