/* SPDX-License-Identifier: Apache-2.0 */
/* drm.c - reads files that are documented in the kernel: for amdgpu in
 * Documentation/gpu/amdgpu/thermal.rst, driver-misc.rst and ras.rst; for xe in
 * Documentation/gpu/xe/xe_gt_freq.rst; for i915 only in its source (folder gt,
 * intel_gt_sysfs_pm). */
#include "userspace/identity/drm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/proc_file.h"

#define VENDOR_AMD   0x1002
#define VENDOR_INTEL 0x8086

/* First and last minor number of render nodes: include/drm/drm_file.h (DRM_MINOR_RENDER). */
#define RENDER_FIRST 128
#define RENDER_LAST  191

#define FILE_BYTES  4096
#define ENTRIES_MAX 256 /* limit of entries that are read of a folder */
/* An AMD device counts as limited by power if its power is at least 19/20 of the limit. */
#define LIMIT_PARTS  20
#define US_PER_MS    1000
#define HZ_PER_MHZ   1000000
#define MILLIDEGREES 1000

/* A folder of sysfs, below which files of a device are read */
struct drm_folder {
	char path[PROC_PATH_MAX];
};

static ssize_t drm_text(const struct drm_folder *f, const char *name, char *buf, size_t cap)
{
	char path[PROC_PATH_MAX + 128];
	ssize_t n;
	int fd;

	*buf = '\0';
	snprintf(path, sizeof(path), "%s/%s", f->path, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	n = proc_read(fd, buf, cap - 1);
	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return n;
}

static bool drm_number(const struct drm_folder *f, const char *name, uint64_t *ret)
{
	char text[64], *end;

	if (drm_text(f, name, text, sizeof(text)) <= 0 || *text < '0' || *text > '9')
		return false;
	*ret = strtoull(text, &end, 0);
	return *end == '\n' || !*end;
}

/* Reads the first file of names (ended by NULL) that exists, divided by unit. Returns 0 if none
 * exists. */
static uint32_t drm_first(const struct drm_folder *f, const char *const *names, uint64_t unit)
{
	uint64_t value;

	for (; *names; names++) {
		if (drm_number(f, *names, &value) && value / unit <= UINT32_MAX)
			return (uint32_t)(value / unit);
	}
	return 0;
}

/* Finds the first entry of a folder whose name is prefix followed by a number. */
static bool drm_entry(const struct drm_folder *f, const char *below, const char *prefix, char *out,
		      size_t len)
{
	char path[PROC_PATH_MAX + 128];
	size_t plen = strlen(prefix);
	const struct dirent *e;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "%s/%s", f->path, below);
	d = opendir(path);
	for (int i = 0; d && !found && i < ENTRIES_MAX && (e = readdir(d)); i++) {
		found = !strncmp(e->d_name, prefix, plen) && proc_number(e->d_name + plen) >= 0;
		if (found)
			snprintf(out, len, "%.20s", e->d_name);
	}
	if (d)
		closedir(d);
	return found;
}

/* Reads power, temperature and, on AMD, the clock from the device's sensors. */
static void drm_sensors(const struct drm_folder *f, struct gp_device *ret)
{
	static const char *const power[] = {"power1_average", "power1_input", NULL};
	static const char *const limit[] = {"power1_cap", NULL};
	/* the second sensor of an AMD device measures its hottest spot */
	static const char *const heat[] = {"temp2_input", "temp1_input", NULL};
	static const char *const hottest[] = {"temp2_crit", "temp1_crit", NULL};
	static const char *const clock[] = {"freq1_input", NULL};
	struct drm_folder s;
	uint32_t most_mw, most;
	char name[64];

	if (!drm_entry(f, "device/hwmon", "hwmon", name, sizeof(name)))
		return;
	snprintf(s.path, sizeof(s.path), "%.3900s/device/hwmon/%s", f->path, name);
	ret->power_mw = drm_first(&s, power, US_PER_MS);
	ret->celsius = (__u16)drm_first(&s, heat, MILLIDEGREES);
	ret->clock_mhz = drm_first(&s, clock, HZ_PER_MHZ);
	most_mw = drm_first(&s, limit, US_PER_MS);
	most = drm_first(&s, hottest, MILLIDEGREES);
	if (!most_mw && !most)
		return;
	/* amdgpu has no file with the reasons of a low clock: they follow from the limits */
	ret->flags |= GP_DEVICE_REASON;
	if (most_mw && ret->power_mw >= most_mw - most_mw / LIMIT_PARTS)
		ret->reasons |= 1u << GP_DEVICE_power;
	if (most && ret->celsius >= most)
		ret->reasons |= 1u << GP_DEVICE_thermal;
}

/* Reads lines such as "1: 2100Mhz *", where the asterisk marks the present clock. */
static void drm_amd_clocks(const struct drm_folder *f, struct gp_device *ret)
{
	char text[FILE_BYTES], *at = text, *line;

	if (drm_text(f, "device/pp_dpm_sclk", text, sizeof(text)) <= 0)
		return;
	while ((line = strsep(&at, "\n"))) {
		unsigned level, mhz;
		char unit[8];

		if (sscanf(line, "%3u: %6u%7s", &level, &mhz, unit) != 3 ||
		    strcasecmp(unit, "mhz") != 0)
			continue;
		if (mhz > ret->clock_max_mhz)
			ret->clock_max_mhz = mhz;
		if (strchr(line, '*') && !ret->clock_mhz)
			ret->clock_mhz = mhz;
	}
}

/* Sums the uncorrected errors ("ue: 2") over all parts of the device. */
static void drm_amd_errors(const struct drm_folder *f, struct gp_device *ret)
{
	struct drm_folder ras;
	const struct dirent *e;
	char text[256];
	DIR *d;

	snprintf(ras.path, sizeof(ras.path), "%.3900s/device/ras", f->path);
	d = opendir(ras.path);
	for (int i = 0; d && i < ENTRIES_MAX && (e = readdir(d)); i++) {
		const char *end = strstr(e->d_name, "_err_count");
		unsigned long long count;

		if (!end || strcmp(end, "_err_count") != 0 ||
		    drm_text(&ras, e->d_name, text, sizeof(text)) <= 0 ||
		    sscanf(text, "ue: %20llu", &count) != 1)
			continue;
		ret->errors += count;
		ret->flags |= GP_DEVICE_ERRORS;
	}
	if (d)
		closedir(d);
}

static void drm_amd(const struct drm_folder *f, struct gp_device *ret)
{
	uint64_t busy, value;

	drm_sensors(f, ret);
	drm_amd_clocks(f, ret);
	drm_amd_errors(f, ret);
	if (drm_number(f, "device/gpu_busy_percent", &busy) && busy <= 100) {
		ret->busy = (__u16)busy;
		ret->flags |= GP_DEVICE_BUSY;
		if (!busy)
			ret->reasons |= 1u << GP_DEVICE_idle;
	}
	if (drm_number(f, "device/mem_info_vram_used", &value))
		ret->memory_used = value;
	if (drm_number(f, "device/mem_info_vram_total", &value))
		ret->memory_total = value;
}

static void drm_intel(const struct drm_folder *f, const char *card, struct gp_device *ret)
{
	/* Files of the driver xe, of i915 with a folder for each GT (graphics unit), and of older
	 * versions of i915, in this order. */
	static const char *const now[] = {"device/tile0/gt0/freq0/act_freq",
					  "gt/gt0/rps_act_freq_mhz", "gt_act_freq_mhz", NULL};
	static const char *const most[] = {"device/tile0/gt0/freq0/rp0_freq",
					   "gt/gt0/rps_RP0_freq_mhz", "gt_RP0_freq_mhz", NULL};
	static const char *const folders[] = {"device/tile0/gt0/freq0/throttle/",
					      "gt/gt0/throttle_"};
	static const struct {
		const char *name;
		enum gp_device_reason reason;
	} reasons[] = {{"reason_pl1", GP_DEVICE_power},
		       {"reason_pl2", GP_DEVICE_power},
		       {"reason_pl4", GP_DEVICE_current},
		       {"reason_thermal", GP_DEVICE_thermal},
		       {"reason_prochot", GP_DEVICE_thermal},
		       {"reason_ratl", GP_DEVICE_thermal},
		       {"reason_vr_thermalert", GP_DEVICE_thermal},
		       {"reason_vr_tdc", GP_DEVICE_current}};
	struct drm_folder c;
	char name[128];
	uint64_t any, value;

	snprintf(c.path, sizeof(c.path), "%.3900s/device/drm/%s", f->path, card);
	drm_sensors(f, ret);
	ret->flags = 0;
	ret->reasons = 0;
	ret->clock_mhz = drm_first(&c, now, 1);
	ret->clock_max_mhz = drm_first(&c, most, 1);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", folders[i], i ? "reason_status" : "status");
		if (!drm_number(&c, name, &any))
			continue;
		ret->flags |= GP_DEVICE_REASON;
		for (size_t k = 0; any && k < sizeof(reasons) / sizeof(reasons[0]); k++) {
			snprintf(name, sizeof(name), "%s%s", folders[i], reasons[k].name);
			if (drm_number(&c, name, &value) && value)
				ret->reasons |= 1u << reasons[k].reason;
		}
		if (any && !ret->reasons)
			ret->reasons = 1u << GP_DEVICE_other;
		break;
	}
	if (!ret->clock_mhz) /* all parts of the device are switched off */
		ret->reasons |= 1u << GP_DEVICE_idle;
}

static int drm_find(const char *root, uint32_t number, struct drm_folder *ret, uint64_t *vendor)
{
	snprintf(ret->path, sizeof(ret->path), "%.3800s/sys/class/drm/renderD%u", root, number);
	if (!drm_number(ret, "device/vendor", vendor))
		return -ENOENT;
	return *vendor == VENDOR_AMD || *vendor == VENDOR_INTEL ? 0 : -ENOTSUP;
}

uint32_t drm_devices(const char *root, struct device_id *ret, uint32_t max)
{
	struct drm_folder f = {{0}};
	uint64_t vendor;
	uint32_t n = 0;

	for (uint32_t i = RENDER_FIRST; i <= RENDER_LAST && n < max; i++) {
		if (!drm_find(root, i, &f, &vendor))
			ret[n++] = (struct device_id){.kind = DEVICE_DRM, .number = i};
	}
	return n;
}

int drm_read(const char *root, uint32_t number, struct gp_device *ret)
{
	struct drm_folder f = {{0}};
	uint64_t vendor;
	char card[sizeof(ret->name)];
	int err = drm_find(root, number, &f, &vendor);

	*ret = (struct gp_device){0};
	if (err)
		return err;
	if (!drm_entry(&f, "device/drm", "card", card, sizeof(card)))
		snprintf(card, sizeof(card), "renderD%u", number);
	memcpy(ret->name, card, sizeof(card));
	if (vendor == VENDOR_AMD)
		drm_amd(&f, ret);
	else
		drm_intel(&f, card, ret);
	return 0;
}
