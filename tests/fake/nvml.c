/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libnvidia-ml.so.1: the functions that are used, with the numbers of the real ones.
 * The file that FAKE_NVML names has a line "KEY VALUE" for each figure, and is read at each call:
 *
 *   devices 2   clock 1005   max 1980   reasons 0x20   power 300000   celsius 87   errors 0
 *   busy 100    used 1024    total 4096
 *
 * "1.clock 1005" is of device 1 alone. A key that is missing: the device does not support it. "hang
 * 1": each call blocks; "die 1": the process ends; "lie 1": every figure is as large as can be;
 * "fail 9": the start fails with that code. The minor number of device i is devices - 1 - i. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOT_SUPPORTED 3 /* NVML_ERROR_NOT_SUPPORTED */
#define INVALID	      2 /* NVML_ERROR_INVALID_ARGUMENT */
#define DEVICES_MAX   64

struct device {
	unsigned index;
};
static struct device devices[DEVICES_MAX];

/* Returns 1 and the value of a key; of device d, unless that is NULL. */
static int look(const struct device *d, const char *key, unsigned long long *ret)
{
	const char *path = getenv("FAKE_NVML");
	FILE *f = path ? fopen(path, "r") : NULL;
	char word[64], value[64], own[80] = "";
	int found = 0;

	if (d)
		snprintf(own, sizeof(own), "%u.%s", d->index, key);
	while (f && fscanf(f, "%63s %63s", word, value) == 2) {
		int mine = !strcmp(word, own);

		if (!mine && (found == 2 || strcmp(word, key) != 0))
			continue;
		*ret = strtoull(value, NULL, 0);
		found = mine ? 2 : 1;
	}
	if (f)
		fclose(f);
	return found;
}

static int figure(const struct device *d, const char *key, unsigned long long *ret)
{
	unsigned long long value;

	while (look(NULL, "hang", &value))
		pause();
	if (look(NULL, "die", &value))
		abort();
	if (look(NULL, "lie", &value)) {
		*ret = ~0ull;
		return 0;
	}
	return look(d, key, ret) ? 0 : NOT_SUPPORTED;
}

static int small(const struct device *d, const char *key, unsigned *ret)
{
	unsigned long long value;
	int err = figure(d, key, &value);

	if (!err)
		*ret = (unsigned)value;
	return err;
}

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
	unsigned long long code;

	return look(NULL, "fail", &code) ? (int)code : 0;
}

const char *nvmlErrorString(int result);
const char *nvmlErrorString(int result)
{
	return result == 9 ? "Driver Not Loaded" : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetCount_v2(unsigned *count)
{
	unsigned long long value = 0;

	look(NULL, "devices", &value);
	*count = (unsigned)value;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **ret);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **ret)
{
	if (index >= DEVICES_MAX)
		return INVALID;
	devices[index].index = index;
	*ret = &devices[index];
	return 0;
}

int nvmlDeviceGetMinorNumber(struct device *d, unsigned *ret);
int nvmlDeviceGetMinorNumber(struct device *d, unsigned *ret)
{
	unsigned count;

	nvmlDeviceGetCount_v2(&count);
	*ret = count - 1 - d->index;
	return 0;
}

int nvmlDeviceGetUUID(struct device *d, char *ret, unsigned len);
int nvmlDeviceGetUUID(struct device *d, char *ret, unsigned len)
{
	snprintf(ret, len, "GPU-%08u-0000-0000-0000-000000000000", d->index);
	return 0;
}

#define CLOCK(name, key)                                                                           \
	int name(struct device *d, int clock, unsigned *mhz);                                      \
	int name(struct device *d, int clock, unsigned *mhz)                                       \
	{                                                                                          \
		return clock == 1 ? small(d, key, mhz) : INVALID;                                  \
	}
CLOCK(nvmlDeviceGetClockInfo, "clock")
CLOCK(nvmlDeviceGetMaxClockInfo, "max")

int nvmlDeviceGetCurrentClocksThrottleReasons(struct device *d, unsigned long long *bits);
int nvmlDeviceGetCurrentClocksThrottleReasons(struct device *d, unsigned long long *bits)
{
	return figure(d, "reasons", bits);
}

int nvmlDeviceGetPowerUsage(struct device *d, unsigned *mw);
int nvmlDeviceGetPowerUsage(struct device *d, unsigned *mw)
{
	return small(d, "power", mw);
}

int nvmlDeviceGetTemperature(struct device *d, int sensor, unsigned *celsius);
int nvmlDeviceGetTemperature(struct device *d, int sensor, unsigned *celsius)
{
	return sensor ? INVALID : small(d, "celsius", celsius);
}

int nvmlDeviceGetTotalEccErrors(struct device *d, int type, int counter, unsigned long long *ret);
int nvmlDeviceGetTotalEccErrors(struct device *d, int type, int counter, unsigned long long *ret)
{
	return type == 1 && counter == 0 ? figure(d, "errors", ret) : INVALID;
}

int nvmlDeviceGetUtilizationRates(struct device *d, unsigned ret[2]);
int nvmlDeviceGetUtilizationRates(struct device *d, unsigned ret[2])
{
	ret[1] = 0;
	return small(d, "busy", &ret[0]);
}

int nvmlDeviceGetMemoryInfo(struct device *d, unsigned long long ret[3]);
int nvmlDeviceGetMemoryInfo(struct device *d, unsigned long long ret[3])
{
	int err = figure(d, "total", &ret[0]);

	err = err ? err : figure(d, "used", &ret[2]);
	ret[1] = err ? 0 : ret[0] - ret[2];
	return err;
}
