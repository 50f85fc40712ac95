/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the kernel's log: which tell of a fault, of what device, and of whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/ingest/kernel_log.h"

static void test_faults(void **state)
{
	static const struct {
		const char *line;
		int64_t code;
		uint32_t pid;
		const char *device, *text;
	} rows[] = {
		{"4,1,2,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.",
		 79, 1234, "PCI:0000:3b:00", "GPU has fallen off the bus."},
		{"4,1,2,-;NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off",
		 79, 0, "PCI:0000:3b:00", "GPU has fallen off"},
		{"4,1,2,-,caller=T7;NVRM: Xid (PCI:0000:02:00): 31, pid=7, name=a, b, Ch 00000008, MMU Fault",
		 31, 7, "PCI:0000:02:00", "b, Ch 00000008, MMU Fault"},
		{"4,1,2,-;NVRM: Xid (0000:03:00): 6, PE0001", 6, 0, "0000:03:00", "PE0001"},
		{"4,1,2,-;NVRM: Xid (PCI:0000:3b:00): 48", 48, 0, "PCI:0000:3b:00", ""},
		{"3,1,2,-;amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=3",
		 -1, 0, "0000:03:00.0", "ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=3"},
		{"3,1,2,-;[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring sdma0 timeout, signaled seq=1",
		 -1, 0, "",
		 "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring sdma0 timeout, signaled seq=1"},
		{"3,1,2,-;amdgpu 0000:03:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 "
		 "pasid:32770, for process python pid 99 thread python pid 100)",
		 -1, 99, "0000:03:00.0", NULL},
		{"6,1,2,-;amdgpu 0000:03:00.0: amdgpu: GPU reset begin!", -1, 0, "0000:03:00.0",
		 "GPU reset begin!"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gp_fault f;
		uint32_t pid;

		assert_true(kernel_log_parse(rows[i].line, strlen(rows[i].line), &f, &pid));
		assert_int_equal(f.code, rows[i].code);
		assert_int_equal(pid, rows[i].pid);
		assert_string_equal(f.device, rows[i].device);
		assert_string_equal(f.driver, rows[i].code < 0 ? "amdgpu" : "NVRM");
		if (rows[i].text)
			assert_string_equal(f.text, rows[i].text);
	}
}

static void test_others(void **state)
{
	static const char *const lines[] = {
		"",
		"4",
		"4,1,2,-;",
		"4,1,2,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module",
		"4,1,2,-;NVRM: Xid (PCI:0000:3b:00): ",
		"4,1,2,-;NVRM: Xid (PCI:0000:3b:00): 99999999999999999999, pid=1",
		"4,1,2,-;a process named NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, y",
		"12,1,2,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, written by a program",
		"-4,1,2,-;NVRM: Xid (PCI:0000:3b:00): 79",
		"NVRM: Xid (PCI:0000:3b:00): 79",
		" SUBSYSTEM=pci",
		"6,1,2,-;amdgpu 0000:03:00.0: amdgpu: GPU reset(2) succeeded!",
		"6,1,2,-;amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 uses VM inv eng 0 on hub 0",
	};
	struct gp_fault f;
	uint32_t pid;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (kernel_log_parse(lines[i], strlen(lines[i]), &f, &pid))
			fail_msg("a fault: %s", lines[i]);
	}
}

static void count(void *ctx, uint32_t pid, const struct gp_fault *f)
{
	(void)f;
	*(uint32_t *)ctx += pid;
}

static void test_read(void **state)
{
	static const char data[] =
		"4,1,2,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=10, name=a, b\n SUBSYSTEM=pci\n"
		"4,2,3,-;usb 1-1: new device\n"
		"4,3,4,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=200, name=a, b";
	uint32_t pids = 0;

	(void)state;
	assert_int_equal(kernel_log_read(data, sizeof(data) - 1, count, &pids), 4);
	assert_int_equal(pids, 210);
	assert_int_equal(kernel_log_read(data, 0, count, &pids), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
