/* SPDX-License-Identifier: Apache-2.0 */
/* option_value.c - parses numbers, durations, times and sizes given as values of options. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/epoch.h"
#include "userspace/option/option.h"

int option_number(const char *text, int64_t min, int64_t max, int64_t *ret)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno || end == text || *end || v < min || v > max)
		return -EINVAL;
	*ret = v;
	return 0;
}

int option_duration(const char *text, int64_t *ret_ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6},   {"s", 1e9},
		     {"", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
	char *end;
	double v;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	v = strtod(text, &end);
	if (errno || end == text || !(v >= 0))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit))
			continue;
		if (v * units[i].ns > 9e18)
			return -EINVAL;
		*ret_ns = (int64_t)(v * units[i].ns);
		return 0;
	}
	return -EINVAL;
}

const char *option_scaled(char *out, size_t len, int64_t value, bool duration)
{
	static const struct {
		const char *unit;
		int64_t is;
	} times[] =
		{{"d", 86400000000000}, {"h", 3600000000000}, {"m", 60000000000}, {"s", 1000000000},
		 {"ms", 1000000},	{"us", 1000},	      {"ns", 1}},
	  sizes[] = {
		  {"T", INT64_C(1) << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"", 1}};
	size_t i = 0;

	if (!value)
		return "-";
	while (value % (duration ? times[i].is : sizes[i].is))
		i++;
	snprintf(out, len, "%lld%s", (long long)(value / (duration ? times[i].is : sizes[i].is)),
		 duration ? times[i].unit : sizes[i].unit);
	return out;
}

/* latest accepted time, in the year 2116; the sum of two such times cannot overflow */
#define INSTANT_MAX_NS (INT64_MAX / 2)

int option_instant(const char *text, int64_t now_ns, int64_t *ret_ns)
{
	size_t len = strlen(text);
	int64_t ago_ns, us;

	if (!strcmp(text, "now")) {
		*ret_ns = now_ns;
		return 0;
	}
	if (len && strchr("smhd", text[len - 1]) && !option_duration(text, &ago_ns)) {
		*ret_ns = now_ns - ago_ns;
		return *ret_ns < 0 ? -EINVAL : 0;
	}
	if (epoch_parse(text, len, &us) || us < 0 || us > INSTANT_MAX_NS / 1000)
		return -EINVAL;
	*ret_ns = us * 1000;
	return 0;
}

int option_percent(const char *text, int64_t *ret_ppm)
{
	char *end;
	double v;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	v = strtod(text, &end);
	if (errno || end == text || (*end && strcmp(end, "%")) || !(v >= 0 && v <= 100))
		return -EINVAL;
	*ret_ppm = (int64_t)(v * 1e4 + 0.5);
	return *ret_ppm || v == 0 ? 0 : -EINVAL;
}

int option_size(const char *text, int64_t *ret_bytes)
{
	static const char units[] = "KMGT";
	const char *unit;
	char *end;
	double v;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	v = strtod(text, &end);
	unit = *end ? strchr(units, *end) : NULL;
	if (errno || end == text || !(v >= 0) || (*end && (!unit || end[1])))
		return -EINVAL;
	for (; unit && unit >= units; unit--)
		v *= 1024;
	if (v > 9e18)
		return -EINVAL;
	*ret_bytes = (int64_t)v;
	return 0;
}
