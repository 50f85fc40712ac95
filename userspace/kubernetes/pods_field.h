/* SPDX-License-Identifier: Apache-2.0 */
/* pods_field.h - reads fields of JSON objects of the API server, which are hostile. json may be
 * NULL, or lack the field. */
#ifndef KUBERNETES_PODS_FIELD_H
#define KUBERNETES_PODS_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

/* Copies a string, made printable and cut to cap; "" if there is none. */
void pods_text(const cJSON *json, const char *name, char *out, size_t cap);
/* Returns a string unchanged; "" if there is none. */
const char *pods_string(const cJSON *json, const char *name);
/* Returns a time in ns since 1970, UTC; 0: none, or earlier. */
int64_t pods_time(const cJSON *json, const char *name);
/* Returns a number of 0 or more, also from a string of digits; -1: there is none. */
int pods_number(const cJSON *json, const char *name);
const cJSON *pods_object(const cJSON *json, const char *name);

#endif
