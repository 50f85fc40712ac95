/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - a validator of JSON Schema, as much of it as `gp-bpf schema` uses; stricter: what is
 * written must be described. */
#ifndef TESTS_UNIT_SCHEMA_H
#define TESTS_UNIT_SCHEMA_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <cjson/cJSON.h>

static inline bool schema_validates(const cJSON *root, const cJSON *schema, const cJSON *v);

static inline bool schema_is_type(const char *type, const cJSON *v)
{
	if (!strcmp(type, "integer"))
		return cJSON_IsNumber(v) && floor(v->valuedouble) == v->valuedouble;
	return (!strcmp(type, "object") && cJSON_IsObject(v)) ||
	       (!strcmp(type, "array") && cJSON_IsArray(v)) ||
	       (!strcmp(type, "string") && cJSON_IsString(v)) ||
	       (!strcmp(type, "number") && cJSON_IsNumber(v)) ||
	       (!strcmp(type, "boolean") && cJSON_IsBool(v)) ||
	       (!strcmp(type, "null") && cJSON_IsNull(v));
}

static inline bool schema_any_type(const cJSON *types, const cJSON *v)
{
	const cJSON *t;

	if (cJSON_IsString(types))
		return schema_is_type(types->valuestring, v);
	cJSON_ArrayForEach(t, types) if (schema_is_type(t->valuestring, v)) return true;
	return false;
}

static inline bool schema_object_validates(const cJSON *root, const cJSON *schema, const cJSON *v)
{
	const cJSON *properties = cJSON_GetObjectItem(schema, "properties");
	const cJSON *more = cJSON_GetObjectItem(schema, "additionalProperties"), *i, *p;

	cJSON_ArrayForEach(
		i, cJSON_GetObjectItem(
			   schema,
			   "required")) if (!cJSON_GetObjectItemCaseSensitive(v, i->valuestring))
	{
		print_message("missing: %s\n", i->valuestring);
		return false;
	}
	cJSON_ArrayForEach(i, v)
	{
		p = properties ? cJSON_GetObjectItemCaseSensitive(properties, i->string) : NULL;
		p = p ? p : more;
		/* Stricter than JSON Schema: what we write must be described. */
		if (!p || !schema_validates(root, p, i)) {
			print_message("%s: not as described\n", i->string);
			return false;
		}
	}
	return true;
}

static inline bool schema_validates(const cJSON *root, const cJSON *schema, const cJSON *v)
{
	const cJSON *k, *i;

	k = cJSON_GetObjectItem(schema, "$ref");
	if (k) {
		assert_memory_equal(k->valuestring, "#/$defs/", 8);
		k = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItem(root, "$defs"),
						     k->valuestring + 8);
		assert_non_null(k);
		return schema_validates(root, k, v);
	}
	k = cJSON_GetObjectItem(schema, "const");
	if (k && !cJSON_Compare(k, v, true))
		return false;
	k = cJSON_GetObjectItem(schema, "type");
	if (k && !schema_any_type(k, v))
		return false;
	k = cJSON_GetObjectItem(schema, "minimum");
	if (k && cJSON_IsNumber(v) && v->valuedouble < k->valuedouble)
		return false;
	k = cJSON_GetObjectItem(schema, "enum");
	if (k) {
		cJSON_ArrayForEach(i, k) if (cJSON_Compare(i, v, true)) return true;
		return false;
	}
	k = cJSON_GetObjectItem(schema, "items");
	if (k)
		cJSON_ArrayForEach(i, v) if (!schema_validates(root, k, i)) return false;
	return !cJSON_IsObject(v) || schema_object_validates(root, schema, v);
}

#endif
