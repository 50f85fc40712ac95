/* SPDX-License-Identifier: Apache-2.0 */
/* Which accelerator a process uses, and figures of accelerators from a made sysfs. */
#include <errno.h>
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

#include "userspace/identity/drm.h"
#include "userspace/identity/held.h"

static char root[64];

static int make_root(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/device_test.XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

/* Makes the folders above a path below the root, and returns the path. */
static const char *path_of(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	return path;
}

static void put_bytes(const char *name, const char *text, size_t len)
{
	FILE *f = fopen(path_of(name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void put(const char *name, const char *text)
{
	put_bytes(name, text, strlen(text));
}

/* ---- which device ---------------------------------------------------------------------------- */

static void open_nodes(const char *const *nodes)
{
	char name[64];

	for (int i = 0; nodes[i]; i++) {
		snprintf(name, sizeof(name), "proc/7/fd/%d", i);
		assert_int_equal(symlink(nodes[i], path_of(name)), 0);
	}
}

static void reads_what_is_open(void **state)
{
	static const char *const nodes[] = {"/dev/nvidiactl",	   "/dev/nvidia-uvm",
					    "/dev/nvidia3",	   "/dev/nvidia3",
					    "/tmp/dev/nvidia5",	   "/dev/nvidia5x",
					    "/dev/dri/renderD129", "socket:[12]",
					    "/dev/nvidia12",	   NULL};
	static const char environment[] = "LOCAL_RANK=1\0LOCAL_WORLD_SIZE=2\0RANK=1\0"
					  "CUDA_VISIBLE_DEVICES=3,12\0CUDA_VISIBLE_DEVICES=9";
	struct held h;

	(void)state;
	open_nodes(nodes);
	put_bytes("proc/7/environ", environment, sizeof(environment));
	assert_int_equal(held_read(root, 7, &h), 0);
	assert_int_equal(h.count, 3);
	assert_int_equal(h.device[0].kind, DEVICE_NVIDIA);
	assert_int_equal(h.device[0].number + h.device[1].number + h.device[2].number,
			 3 + 129 + 12);
	assert_string_equal(h.visible, "3,12");
	assert_int_equal(h.local_rank, 1);
	assert_int_equal(h.local_size, 2);
	assert_int_equal(held_read(root, 8, &h), -ESRCH);
}

static void two_lists_are_not_understood(void **state)
{
	static const char *const nodes[] = {"/dev/dri/renderD128", NULL};
	static const char environment[] = "ROCR_VISIBLE_DEVICES=1\0HIP_VISIBLE_DEVICES=0";
	struct held h;

	(void)state;
	open_nodes(nodes);
	put_bytes("proc/7/environ", environment, sizeof(environment));
	assert_int_equal(held_read(root, 7, &h), 0);
	assert_string_equal(h.visible, "?");
}

#define NONE (-ENODEV)
#define MANY (-ENOTUNIQ)

static void chooses(void **state)
{
	/* A machine has devices 0 to 3; the minor number of the i-th is 3 - i. */
	static const struct {
		unsigned open; /* bit per device, in the order of the machine */
		const char *visible;
		int rank, size, want;
		bool unordered;
	} cases[] = {
		{0x0, "", -1, -1, NONE, false},
		{0x4, "", -1, -1, 2, false},
		{0x4, "0", 3, 8, 2, false},
		/* all are open, and it is one of as many processes */
		{0xf, "", 2, 4, 2, false},
		{0xf, "", 2, -1, MANY, false},
		{0xf, "", -1, -1, MANY, false},
		{0xf, "", 1, 2, MANY, false}, /* two devices for each process */
		{0xf, "", 4, -1, MANY, false},
		{0xf, "", 2, 4, MANY, true},
		/* told one of the machine's, or two */
		{0xf, "3", -1, -1, 3, false},
		{0xf, "3", -1, -1, MANY, true},
		{0xf, "2,1", 0, 2, 2, false},
		{0xf, "2,1", 1, 2, 1, false},
		{0xf, "2,1", -1, -1, MANY, false},
		{0xf, "3,2,1,0", 0, 4, 3, false},
		{0xf, "4", -1, -1, MANY, false},
		{0xf, "1,1", 0, 2, MANY, false},
		{0xf, "-1", -1, -1, MANY, false},
		/* only those are open that were named, or a container has no others */
		{0xc, "2,3", 1, 2, 3, false},
		{0xc, "0,1", 1, 2, 3, false},
		{0xc, "3,2", 0, 2, 3, false},
		{0xc, "1", -1, -1, MANY, false}, /* the container's or the machine's second? */
		/* by UUID */
		{0xf, "GPU-00000002", -1, -1, 2, false},
		{0xf, "GPU-00000002", -1, -1, 2, true},
		{0xf, "GPU-00000003-x,GPU-00000001-x", 1, 2, 1, true},
		{0xf, "GPU-0000", -1, -1, MANY, false},
		{0xf, "GPU", -1, -1, MANY, false},
		{0xf, "?", 0, 1, MANY, false},
		{0xf, "0,GPU-00000001", 0, 2, MANY, false},
	};
	struct device_id all[4];

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		all[i] = (struct device_id){.kind = DEVICE_NVIDIA, .number = 3 - i};
		snprintf(all[i].uuid, sizeof(all[i].uuid), "GPU-%08u-x", i);
	}
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct held h = {.local_rank = cases[c].rank, .local_size = cases[c].size};
		int got;

		snprintf(h.visible, sizeof(h.visible), "%s", cases[c].visible);
		for (uint32_t i = 0; i < 4; i++) {
			if (cases[c].open >> i & 1)
				h.device[h.count++] = all[i];
		}
		got = held_choose(&h, all, 4, !cases[c].unordered);
		if (got != cases[c].want)
			fail_msg("case %zu: %d instead of %d", c, got, cases[c].want);
	}
}

/* ---- sysfs ----------------------------------------------------------------------------------- */

#define AMD "sys/class/drm/renderD129/device/"
static void amd(void **state)
{
	struct device_id list[4];
	struct gp_device d;

	(void)state;
	put(AMD "vendor", "0x1002\n");
	put(AMD "drm/card1/dev", "226:1\n");
	put(AMD "gpu_busy_percent", "97\n");
	put(AMD "pp_dpm_sclk", "0: 500Mhz\n1: 1005Mhz *\n2: 2100Mhz\n");
	put(AMD "mem_info_vram_used", "1024\n");
	put(AMD "mem_info_vram_total", "4096\n");
	put(AMD "ras/umc_err_count", "ue: 2\nce: 7\n");
	put(AMD "ras/gfx_err_count", "ue: 1\nce: 0\n");
	put(AMD "hwmon/hwmon4/power1_average", "295000000\n");
	put(AMD "hwmon/hwmon4/power1_cap", "300000000\n");
	put(AMD "hwmon/hwmon4/temp1_input", "70000\n");
	put(AMD "hwmon/hwmon4/temp2_input", "87000\n");
	put(AMD "hwmon/hwmon4/temp2_crit", "100000\n");
	put("sys/class/drm/renderD128/device/vendor", "0x10de\n");
	assert_int_equal(drm_devices(root, list, 4), 1);
	assert_int_equal(list[0].number, 129);
	assert_int_equal(drm_read(root, 128, &d), -ENOTSUP);
	assert_int_equal(drm_read(root, 130, &d), -ENOENT);
	assert_int_equal(drm_read(root, 129, &d), 0);
	assert_string_equal(d.name, "card1");
	assert_int_equal(d.clock_mhz, 1005);
	assert_int_equal(d.clock_max_mhz, 2100);
	assert_int_equal(d.busy, 97);
	assert_int_equal(d.memory_used, 1024);
	assert_int_equal(d.memory_total, 4096);
	assert_int_equal(d.errors, 3);
	assert_int_equal(d.power_mw, 295000);
	assert_int_equal(d.celsius, 87);
	assert_int_equal(d.reasons, 1u << GP_DEVICE_power);
	assert_int_equal(d.flags, GP_DEVICE_REASON | GP_DEVICE_BUSY | GP_DEVICE_ERRORS);
	put(AMD "hwmon/hwmon4/power1_average", "200000000\n");
	put(AMD "hwmon/hwmon4/temp2_input", "100000\n");
	put(AMD "pp_dpm_sclk", "nonsense\n");
	put(AMD "gpu_busy_percent", "101\n");
	assert_int_equal(drm_read(root, 129, &d), 0);
	assert_int_equal(d.reasons, 1u << GP_DEVICE_thermal);
	assert_int_equal(d.clock_mhz, 0);
	assert_false(d.flags & GP_DEVICE_BUSY);
}

#define INTEL "sys/class/drm/renderD128/device/"
static void intel_i915(void **state)
{
	struct gp_device d;

	(void)state;
	put(INTEL "vendor", "0x8086\n");
	put(INTEL "drm/card0/gt_act_freq_mhz", "900\n");
	put(INTEL "drm/card0/gt_RP0_freq_mhz", "1500\n");
	put(INTEL "drm/card0/gt/gt0/throttle_reason_status", "1\n");
	put(INTEL "drm/card0/gt/gt0/throttle_reason_pl1", "0\n");
	put(INTEL "drm/card0/gt/gt0/throttle_reason_thermal", "1\n");
	assert_int_equal(drm_read(root, 128, &d), 0);
	assert_string_equal(d.name, "card0");
	assert_int_equal(d.clock_mhz, 900);
	assert_int_equal(d.clock_max_mhz, 1500);
	assert_int_equal(d.reasons, 1u << GP_DEVICE_thermal);
	assert_int_equal(d.flags, GP_DEVICE_REASON);
	put(INTEL "drm/card0/gt/gt0/throttle_reason_thermal", "0\n");
	assert_int_equal(drm_read(root, 128, &d), 0);
	assert_int_equal(d.reasons, 1u << GP_DEVICE_other);
	put(INTEL "drm/card0/gt/gt0/throttle_reason_status", "0\n");
	put(INTEL "drm/card0/gt_act_freq_mhz", "0\n");
	assert_int_equal(drm_read(root, 128, &d), 0);
	assert_int_equal(d.reasons, 1u << GP_DEVICE_idle);
}

static void intel_xe(void **state)
{
	struct gp_device d;

	(void)state;
	put(INTEL "vendor", "0x8086\n");
	put(INTEL "drm/card0/dev", "226:0\n");
	put(INTEL "tile0/gt0/freq0/act_freq", "1200\n");
	put(INTEL "tile0/gt0/freq0/rp0_freq", "2400\n");
	put(INTEL "tile0/gt0/freq0/throttle/status", "1\n");
	put(INTEL "tile0/gt0/freq0/throttle/reason_pl2", "1\n");
	put(INTEL "hwmon/hwmon2/temp1_input", "61000\n");
	assert_int_equal(symlink("../..", path_of(INTEL "drm/card0/device")), 0);
	assert_int_equal(drm_read(root, 128, &d), 0);
	assert_int_equal(d.clock_mhz, 1200);
	assert_int_equal(d.clock_max_mhz, 2400);
	assert_int_equal(d.reasons, 1u << GP_DEVICE_power);
	assert_int_equal(d.celsius, 61);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_what_is_open, make_root, remove_root),
		cmocka_unit_test_setup_teardown(two_lists_are_not_understood, make_root,
						remove_root),
		cmocka_unit_test(chooses),
		cmocka_unit_test_setup_teardown(amd, make_root, remove_root),
		cmocka_unit_test_setup_teardown(intel_i915, make_root, remove_root),
		cmocka_unit_test_setup_teardown(intel_xe, make_root, remove_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
