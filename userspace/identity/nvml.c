/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.c - calls functions of NVIDIA's library. Functions and constants are those of the "NVML API
 * Reference Guide" (docs.nvidia.com/deploy/nvml-api), with the numbers of its header nvml.h. Two
 * of its structures are needed; each consists of integers of one type, so arrays are passed
 * instead. */
#include "userspace/identity/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define UUID_BYTES 96 /* NVML_DEVICE_UUID_V2_BUFFER_SIZE in nvml.h */

#define CLOCK_SM	   1 /* NVML_CLOCK_SM in nvml.h */
#define TEMPERATURE_GPU	   0 /* NVML_TEMPERATURE_GPU in nvml.h */
#define ERRORS_UNCORRECTED 1 /* NVML_MEMORY_ERROR_TYPE_UNCORRECTED in nvml.h */
#define ERRORS_VOLATILE	   0 /* NVML_VOLATILE_ECC in nvml.h */

/* Bits of nvmlClocksThrottleReasons..., which newer versions call nvmlClocksEventReasons... */
static const struct {
	unsigned long long bit;
	enum gp_device_reason reason;
} nvml_reasons[] = {
	{0x1, GP_DEVICE_idle},					  /* GpuIdle */
	{0x2, GP_DEVICE_settings},				  /* ApplicationsClocksSetting */
	{0x4, GP_DEVICE_power},					  /* SwPowerCap */
	{0x8, GP_DEVICE_hardware},				  /* HwSlowdown */
	{0x10, GP_DEVICE_sync_boost},  {0x20, GP_DEVICE_thermal}, /* SwThermalSlowdown */
	{0x40, GP_DEVICE_thermal},				  /* HwThermalSlowdown */
	{0x80, GP_DEVICE_power_brake},				  /* HwPowerBrakeSlowdown */
	{0x100, GP_DEVICE_settings},				  /* DisplayClockSetting */
};
#define REASONS_KNOWN 0x1ffull

typedef struct nvml_handle *nvml_device; /* nvmlDevice_t */

/* Functions that the library must have: name, parameters. All return 0 for success. */
#define NVML_FUNCTIONS(X)                                                                          \
	X(nvmlInit_v2, (void))                                                                     \
	X(nvmlDeviceGetCount_v2, (unsigned *count))                                                \
	X(nvmlDeviceGetHandleByIndex_v2, (unsigned index, nvml_device *ret))                       \
	X(nvmlDeviceGetMinorNumber, (nvml_device d, unsigned *ret))                                \
	X(nvmlDeviceGetUUID, (nvml_device d, char *ret, unsigned len))                             \
	X(nvmlDeviceGetClockInfo, (nvml_device d, int clock, unsigned *mhz))                       \
	X(nvmlDeviceGetMaxClockInfo, (nvml_device d, int clock, unsigned *mhz))                    \
	X(nvmlDeviceGetCurrentClocksThrottleReasons, (nvml_device d, unsigned long long *bits))    \
	X(nvmlDeviceGetPowerUsage, (nvml_device d, unsigned *mw))                                  \
	X(nvmlDeviceGetTemperature, (nvml_device d, int sensor, unsigned *celsius))                \
	X(nvmlDeviceGetTotalEccErrors,                                                             \
	  (nvml_device d, int type, int counter, unsigned long long *ret))                         \
	X(nvmlDeviceGetUtilizationRates, (nvml_device d, unsigned ret[2]))                         \
	X(nvmlDeviceGetMemoryInfo, (nvml_device d, unsigned long long ret[3]))

static struct {
	void *library;
	bool started;
	uint32_t count;
	nvml_device device[HELD_MAX];
#define X(name, parameters) int(*name) parameters;
	NVML_FUNCTIONS(X)
#undef X
	const char *(*nvmlErrorString)(int result);
} nvml;

static const char *nvml_error(int result)
{
	const char *text = nvml.nvmlErrorString ? nvml.nvmlErrorString(result) : NULL;

	return text ? text : "unknown error";
}

/* Finds a function of the library. The pointer is copied as bytes, because C has no conversion from
 * an object pointer to a function pointer. */
static bool nvml_find(const char *name, void *to, size_t size)
{
	void *at = dlsym(nvml.library, name);

	memcpy(to, &at, size);
	return at;
}

static int nvml_load(char *why, size_t len)
{
	const char *missing = NULL;

	if (!nvml.library)
		nvml.library = dlopen(NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!nvml.library) {
		snprintf(why, len, "%s not found: %s", NVML_LIBRARY, dlerror());
		return -ENOENT;
	}
	nvml_find("nvmlErrorString", &nvml.nvmlErrorString, sizeof(nvml.nvmlErrorString));
#define X(name, parameters)                                                                        \
	if (!nvml_find(#name, &nvml.name, sizeof(nvml.name)))                                      \
		missing = #name;
	NVML_FUNCTIONS(X)
#undef X
	if (missing)
		snprintf(why, len, "%s has no function %s", NVML_LIBRARY, missing);
	return missing ? -ENOSYS : 0;
}

static int nvml_start(char *why, size_t len)
{
	int err = nvml.started ? 0 : nvml_load(why, len), result;
	unsigned count = 0;

	if (err || nvml.started)
		return err;
	result = nvml.nvmlInit_v2();
	if (!result)
		result = nvml.nvmlDeviceGetCount_v2(&count);
	if (result) {
		snprintf(why, len, "%s fails: %s (%d)", NVML_LIBRARY, nvml_error(result), result);
		return -EIO;
	}
	nvml.count = 0;
	for (unsigned i = 0; i < count && i < HELD_MAX; i++) {
		/* a lost device keeps its index; its handle is NULL */
		if (nvml.nvmlDeviceGetHandleByIndex_v2(i, &nvml.device[i]))
			nvml.device[i] = NULL;
		nvml.count++;
	}
	nvml.started = true;
	return 0;
}

int nvml_devices(struct device_id *ret, uint32_t max, char *why, size_t len)
{
	int err = nvml_start(why, len);
	char uuid[UUID_BYTES];
	uint32_t n;

	for (n = 0; !err && n < nvml.count && n < max; n++) {
		unsigned minor = 0;

		ret[n] = (struct device_id){.kind = DEVICE_NVIDIA, .number = UINT32_MAX};
		if (!nvml.device[n] || nvml.nvmlDeviceGetMinorNumber(nvml.device[n], &minor))
			continue;
		ret[n].number = minor;
		if (nvml.nvmlDeviceGetUUID(nvml.device[n], uuid, sizeof(uuid)))
			continue;
		uuid[sizeof(uuid) - 1] = '\0';
		snprintf(ret[n].uuid, sizeof(ret[n].uuid), "%.40s", uuid);
	}
	return err ? err : (int)n;
}

static void nvml_read_reasons(nvml_device d, struct gp_device *ret)
{
	unsigned long long bits = 0;

	if (nvml.nvmlDeviceGetCurrentClocksThrottleReasons(d, &bits))
		return;
	ret->flags |= GP_DEVICE_REASON;
	for (size_t i = 0; i < sizeof(nvml_reasons) / sizeof(nvml_reasons[0]); i++) {
		if (bits & nvml_reasons[i].bit)
			ret->reasons |= 1u << nvml_reasons[i].reason;
	}
	if (bits & ~REASONS_KNOWN)
		ret->reasons |= 1u << GP_DEVICE_other;
}

int nvml_read(uint32_t index, struct gp_device *ret)
{
	nvml_device d = index < nvml.count ? nvml.device[index] : NULL;
	unsigned long long errors = 0, memory[3] = {0}; /* total, free, used */
	/* Use of the processors and of the memory in percent. */
	unsigned value, busy[2] = {0};

	*ret = (struct gp_device){0};
	if (!d)
		return -ENODEV;
	snprintf(ret->name, sizeof(ret->name), "GPU %u", index);
	value = 0;
	if (!nvml.nvmlDeviceGetClockInfo(d, CLOCK_SM, &value))
		ret->clock_mhz = value;
	value = 0;
	if (!nvml.nvmlDeviceGetMaxClockInfo(d, CLOCK_SM, &value))
		ret->clock_max_mhz = value;
	value = 0;
	if (!nvml.nvmlDeviceGetPowerUsage(d, &value))
		ret->power_mw = value;
	value = 0;
	if (!nvml.nvmlDeviceGetTemperature(d, TEMPERATURE_GPU, &value))
		ret->celsius = (__u16)value;
	nvml_read_reasons(d, ret);
	if (!nvml.nvmlDeviceGetTotalEccErrors(d, ERRORS_UNCORRECTED, ERRORS_VOLATILE, &errors)) {
		ret->errors = errors;
		ret->flags |= GP_DEVICE_ERRORS;
	}
	if (!nvml.nvmlDeviceGetUtilizationRates(d, busy) && busy[0] <= 100) {
		ret->busy = (__u16)busy[0];
		ret->flags |= GP_DEVICE_BUSY;
	}
	if (!nvml.nvmlDeviceGetMemoryInfo(d, memory)) {
		ret->memory_total = memory[0];
		ret->memory_used = memory[2];
	}
	return 0;
}
