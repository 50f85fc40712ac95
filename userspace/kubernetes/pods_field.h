/* SPDX-License-Identifier: Apache-2.0 */
/* pods_field.h - reads fields of JSON objects of the API server, which are hostile. json may be
 * NULL, or lack the field. */
#ifndef KUBERNETES_PODS_FIELD_H
#define KUBERNETES_PODS_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

/* Copies a string, printable and cut; "" if there is none. */
void pods_text(const cJSON *json, const char *name, char *out, size_t cap);
/* The string as it is; "" if there is none. */
const char *pods_string(const cJSON *json, const char *name);
/* UTC since 1970; 0: none, or earlier. */
int64_t pods_time(const cJSON *json, const char *name);
/* A number of 0 or more, also from a string of digits; -1: there is none. */
int pods_number(const cJSON *json, const char *name);
const cJSON *pods_object(const cJSON *json, const char *name);

#endif
