/* SPDX-License-Identifier: Apache-2.0 */
/* pods_field.h - reads fields of JSON objects from the API server, which may be hostile. json may
 * be NULL, and the field may be missing. */
#ifndef KUBERNETES_PODS_FIELD_H
#define KUBERNETES_PODS_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

/* Copies a string field, escaped and cut to cap bytes; "" if there is none. */
void pods_text(const cJSON *json, const char *name, char *out, size_t cap);
/* Returns a string field as it is; "" if there is none. */
const char *pods_string(const cJSON *json, const char *name);
/* Returns a time field in ns since the epoch; 0: none, or before 1970. */
int64_t pods_time(const cJSON *json, const char *name);
/* Returns a field that is a number or a string of digits; -1: there is none, or it is negative. */
int pods_number(const cJSON *json, const char *name);
const cJSON *pods_object(const cJSON *json, const char *name);

#endif
