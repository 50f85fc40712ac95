/* SPDX-License-Identifier: Apache-2.0 */
/* option_window.c - the options --window-length and --rolling: the windows for which goodput is
 * computed. */
#include <errno.h>
#include <stdio.h>

#include "userspace/base/log.h"
#include "userspace/export/gcm/rows.h"
#include "userspace/model/time/window.h"
#include "userspace/option/option.h"

/* Adds a window. Returns false if there are too many. */
static bool window_put(uint64_t windows_ns[WINDOWS_MAX], uint64_t ns)
{
	int i = 0;

	while (i < WINDOWS_MAX && windows_ns[i] && windows_ns[i] != ns)
		i++;
	if (i < WINDOWS_MAX)
		windows_ns[i] = ns;
	return i < WINDOWS_MAX;
}

/* Adds the windows of --rolling, which Cloud Monitoring exports. Without --window-length, also adds
 * the default windows as far as there is room. */
static int option_window_rolling_put(const struct options *o, uint64_t windows_ns[WINDOWS_MAX])
{
	struct gcm_options rolling = {0};
	uint64_t ns;

	if (gcm_rolling_read(o->rolling, &rolling)) {
		log_error(
			"--rolling: '%s': expected a list of different numbers of seconds, at most 604800 (7 days), like 86400,3600",
			o->rolling);
		return -EINVAL;
	}
	for (int i = 0; i < GCM_ROLLING_MAX && rolling.rolling_s[i]; i++) {
		ns = (uint64_t)rolling.rolling_s[i] * 1000000000;
		if (ns < WINDOW_LEAST_NS || !window_put(windows_ns, ns)) {
			log_error(
				"--rolling: '%s': a window is shorter than 60 seconds, or there are more than %d windows with those of --window-length",
				o->rolling, WINDOWS_MAX);
			return -EINVAL;
		}
	}
	for (int i = 0; !o->windows.count && i < WINDOWS_MAX && window_usual_ns[i]; i++)
		window_put(windows_ns, window_usual_ns[i]);
	return 0;
}

int options_windows(const struct options *o, char *out, size_t len)
{
	uint64_t windows_ns[WINDOWS_MAX] = {0};
	size_t used = 0;
	int64_t ns;

	*out = 0;
	for (int i = 0; i < o->windows.count; i++) {
		if (option_duration(o->windows.item[i], &ns) || (uint64_t)ns < WINDOW_LEAST_NS ||
		    (uint64_t)ns > WINDOW_MOST_NS) {
			log_error("--window-length: '%s' is not a duration of 1m to 7d",
				  o->windows.item[i]);
			return -EINVAL;
		}
		if (!window_put(windows_ns, (uint64_t)ns)) {
			log_error("--window-length: too many windows; at most %d are possible",
				  WINDOWS_MAX);
			return -EINVAL;
		}
	}
	if (o->rolling && option_window_rolling_put(o, windows_ns))
		return -EINVAL;
	for (int i = 0; i < WINDOWS_MAX && windows_ns[i] && used < len; i++)
		used += (size_t)snprintf(out + used, len - used, "%s%llu", i ? "," : "",
					 (unsigned long long)windows_ns[i]);
	return 0;
}
