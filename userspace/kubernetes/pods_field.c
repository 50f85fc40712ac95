/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/kubernetes/pods_field.h"

#include <stdlib.h>
#include <string.h>

#include "userspace/base/epoch.h"
#include "userspace/base/log.h"

const cJSON *pods_object(const cJSON *json, const char *name)
{
	return json ? cJSON_GetObjectItemCaseSensitive(json, name) : NULL;
}

const char *pods_string(const cJSON *json, const char *name)
{
	const char *text = cJSON_GetStringValue(pods_object(json, name));

	return text ? text : "";
}

void pods_text(const cJSON *json, const char *name, char *out, size_t cap)
{
	const char *text = pods_string(json, name);

	log_escape(out, cap, text, strlen(text));
}

int64_t pods_time(const cJSON *json, const char *name)
{
	const char *text = pods_string(json, name);
	int64_t us;

	/* Reject a plain number of seconds, which epoch_parse() accepts, but the API server never
	 * sends. */
	if (!strchr(text, 'T') || epoch_parse(text, strlen(text), &us))
		return 0;
	return us > INT64_MAX / 1000 ? 0 : us * 1000;
}

int pods_number(const cJSON *json, const char *name)
{
	const cJSON *item = pods_object(json, name);
	const char *text = cJSON_GetStringValue(item);
	char *end;
	long value;

	if (cJSON_IsNumber(item))
		return item->valuedouble >= 0 && item->valuedouble <= INT32_MAX
			       ? (int)item->valuedouble
			       : -1;
	if (!text || *text < '0' || *text > '9' || strlen(text) > 10)
		return -1;
	value = strtol(text, &end, 10);
	return *end || value > INT32_MAX ? -1 : (int)value;
}
