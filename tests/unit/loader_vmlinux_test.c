/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's types are read once, however many ask; what could not be read is tried again. */
#include <bpf/btf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "loader/kernel/vmlinux.h"

static int reads, fails;

/* In libbpf's place: a kernel of one type. */
struct btf *btf__load_vmlinux_btf(void)
{
	struct btf *btf = NULL;

	reads++;
	if (!fails) {
		btf = btf__new_empty();
		assert_non_null(btf);
		assert_int_equal(btf__add_int(btf, "int", 4, BTF_INT_SIGNED), 1);
	}
	errno = EACCES;
	return btf;
}

static void test_once(void **state)
{
	(void)state;
	fails = 1;
	assert_int_equal(vmlinux_type("int", BTF_KIND_INT), -EACCES);
	fails = 0;
	assert_int_equal(vmlinux_type("int", BTF_KIND_INT), 1);
	assert_int_equal(vmlinux_type("int", BTF_KIND_STRUCT), -ENOENT);
	assert_int_equal(vmlinux_type("long", BTF_KIND_INT), -ENOENT);
	assert_int_equal(reads, 2);
	vmlinux_forget();
	vmlinux_forget();
	assert_int_equal(vmlinux_type("int", BTF_KIND_INT), 1);
	assert_int_equal(reads, 3);
	vmlinux_forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_once)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
