/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/view/top_time.h"

#include <stdio.h>
#include <string.h>

#define CUSTOM_PREFIX "CUSTOM_BADPUT_EVENTS."
/* limit of a time that is accepted, about nine years in ns; the sum of all buckets cannot
 * overflow */
#define TIME_MAX (UINT64_MAX >> 6)

const cJSON *top_get(const cJSON *o, const char *name)
{
	return cJSON_IsObject(o) ? cJSON_GetObjectItemCaseSensitive(o, name) : NULL;
}

const cJSON *top_list(const cJSON *o, const char *name)
{
	const cJSON *v = top_get(o, name);

	return cJSON_IsArray(v) ? v : NULL;
}

uint64_t top_number(const cJSON *v)
{
	if (!cJSON_IsNumber(v) || !(v->valuedouble > 0))
		return 0;
	return v->valuedouble < 9.2e18 ? (uint64_t)v->valuedouble : INT64_MAX;
}

uint64_t top_uint(const cJSON *o, const char *name)
{
	return top_number(top_get(o, name));
}

int64_t top_int(const cJSON *o, const char *name)
{
	const cJSON *v = top_get(o, name);

	if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0 && v->valuedouble < 9007199254740992.0))
		return -1;
	return (int64_t)v->valuedouble;
}

bool top_true(const cJSON *o, const char *name)
{
	return cJSON_IsTrue(top_get(o, name));
}

void top_text(char *out, size_t len, const cJSON *o, const char *name)
{
	const char *text = cJSON_GetStringValue(top_get(o, name));
	size_t n;

	snprintf(out, len, "%s", text ? text : "");
	n = strlen(out);
	if (!text || !text[n])
		return;
	/* The text was cut: remove an incomplete character at its end. */
	while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	out[n] = '\0';
}

/* Adds two times; limits the sum to TIME_MAX. */
static uint64_t top_time_add(uint64_t a, uint64_t b)
{
	return a + b > TIME_MAX ? TIME_MAX : a + b;
}

static void time_custom(struct top_time *t, const char *name, uint64_t ns)
{
	t->ns[BUCKET_CUSTOM] = top_time_add(t->ns[BUCKET_CUSTOM], ns);
	if (ns <= t->custom_ns)
		return;
	t->custom_ns = ns;
	snprintf(t->custom, sizeof(t->custom), "%s", name);
}

static void time_part(struct top_time *t, const char *name, uint64_t ns)
{
	for (int i = 0; i < BUCKETS_EXPORTED; i++) {
		if (strcmp(bucket_name[i], name) != 0)
			continue;
		t->ns[i] = top_time_add(t->ns[i], ns);
		return;
	}
	if (!strncmp(name, CUSTOM_PREFIX, strlen(CUSTOM_PREFIX)))
		name += strlen(CUSTOM_PREFIX);
	time_custom(t, name, ns);
}

void top_time_read(struct top_time *t, const cJSON *o)
{
	const cJSON *buckets = top_get(o, "buckets"), *b;

	if (!cJSON_IsObject(buckets))
		buckets = NULL;
	cJSON_ArrayForEach(b, buckets)
	{
		uint64_t ns = top_number(b);

		if (ns)
			time_part(t, b->string, ns);
	}
	t->observed_ns = 0;
	for (int i = 0; i < BUCKETS_EXPORTED; i++)
		if (i != BUCKET_UNOBSERVED)
			t->observed_ns += t->ns[i];
}

const char *top_badput(const struct top_time *t, uint64_t *ret_ns)
{
	int most = -1;

	for (int i = 0; i < BUCKETS_EXPORTED; i++) {
		if (i == BUCKET_GOODPUT || i == BUCKET_UNOBSERVED || !t->ns[i])
			continue;
		if (most < 0 || t->ns[i] > t->ns[most])
			most = i;
	}
	*ret_ns = most < 0 ? 0 : t->ns[most];
	if (most == BUCKET_CUSTOM && *t->custom)
		return t->custom;
	return most < 0 ? NULL : bucket_label[most];
}

double top_goodput(const struct top_time *t)
{
	return t->observed_ns ? (double)t->ns[BUCKET_GOODPUT] / (double)t->observed_ns : -1;
}
