/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/gcm/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/json_text.h"

#define BODY_END "]}"

static const char *const kind_name[] = {
	[SERIES_GAUGE] = "GAUGE", [SERIES_CUMULATIVE] = "CUMULATIVE"};
static const char *const value_name[] = {[SERIES_INT64] = "INT64",
					 [SERIES_DOUBLE] = "DOUBLE",
					 [SERIES_BOOL] = "BOOL",
					 [SERIES_DISTRIBUTION] = "DISTRIBUTION"};

/* Writes a 64-bit integer as a string, as proto3 JSON requires. */
static void request_json_int64(struct buffer *b, const char *key, int64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, value);
	json_string(b, key, digits);
}

static void request_json_type(struct buffer *b, const char *key, const struct series_row *row,
			      const char *own_prefix)
{
	struct buffer type = {0};

	series_type(&type, row, own_prefix);
	b->failed |= type.failed;
	json_string(b, key, type.data);
	buffer_free(&type);
}

static void request_put_metric(struct buffer *b, const struct series_set *s, const struct series *p,
			       const char *own_prefix)
{
	bool any = false;

	json_open(b, "metric", '{');
	request_json_type(b, "type", p->row, own_prefix);
	for (int i = 0; i < SERIES_LABELS && p->row->label[i].name; i++) {
		if (!p->label[i])
			continue;
		if (!any)
			json_open(b, "labels", '{');
		any = true;
		json_string(b, p->row->label[i].name, series_text(s, p->label[i]));
	}
	if (any)
		json_close(b, '}');
	json_close(b, '}');
}

static void request_put_resource(struct buffer *b, const struct series_set *s,
				 const struct series_resource *r)
{
	json_open(b, "resource", '{');
	json_string(b, "type", r->type);
	json_open(b, "labels", '{');
	for (int i = 0; i < SERIES_LABELS && r->name[i]; i++)
		json_string(b, r->name[i], series_text(s, r->value[i]));
	json_close(b, '}');
	json_close(b, '}');
}

static void request_put_distribution(struct buffer *b, const struct series_distribution *d)
{
	json_open(b, "distributionValue", '{');
	request_json_int64(b, "count", (int64_t)d->count);
	json_double(b, "mean", d->mean);
	json_open(b, "bucketOptions", '{');
	json_open(b, "explicitBuckets", '{');
	json_open(b, "bounds", '[');
	for (uint32_t i = 0; i < d->nbounds; i++)
		json_double(b, NULL, d->bounds[i]);
	json_close(b, ']');
	json_close(b, '}');
	json_close(b, '}');
	json_open(b, "bucketCounts", '[');
	for (uint32_t i = 0; i <= d->nbounds; i++)
		request_json_int64(b, NULL, (int64_t)d->buckets[i]);
	json_close(b, ']');
	json_close(b, '}');
}

static void request_put_value(struct buffer *b, const struct series_set *s, const struct series *p)
{
	json_open(b, "value", '{');
	switch (p->row->value) {
	case SERIES_INT64:
		request_json_int64(b, "int64Value", p->value.i64);
		break;
	case SERIES_DOUBLE:
		json_double(b, "doubleValue", p->value.real);
		break;
	case SERIES_BOOL:
		json_bool(b, "boolValue", p->value.yes);
		break;
	case SERIES_DISTRIBUTION:
		request_put_distribution(b, &s->distribution[p->value.distribution]);
		break;
	}
	json_close(b, '}');
}

static void request_put_series(struct buffer *b, const struct series_set *s, const struct series *p,
			       const char *own_prefix)
{
	json_open(b, NULL, '{');
	request_put_metric(b, s, p, own_prefix);
	request_put_resource(b, s, &s->resource[p->resource]);
	if (!p->row->library) {
		json_string(b, "metricKind", kind_name[p->row->kind]);
		json_string(b, "valueType", value_name[p->row->value]);
		if (*p->row->unit)
			json_string(b, "unit", p->row->unit);
	}
	json_open(b, "points", '[');
	json_open(b, NULL, '{');
	json_open(b, "interval", '{');
	if (p->start_ns)
		json_time(b, "startTime", p->start_ns);
	json_time(b, "endTime", p->end_ns);
	json_close(b, '}');
	request_put_value(b, s, p);
	json_close(b, '}');
	json_close(b, ']');
	json_close(b, '}');
}

bool request_next(const struct series_set *s, const char *own_prefix, const bool *keep,
		  uint32_t *at, struct buffer *body, struct request_item *items,
		  uint32_t *ret_items)
{
	uint32_t n = 0, i = *at;
	size_t before;

	buffer_clear(body);
	json_open(body, NULL, '{');
	json_open(body, "timeSeries", '[');
	for (; i < s->count && n < REQUEST_SERIES; i++) {
		if ((keep && !keep[i]) || !series_fit(s, &s->item[i]))
			continue;
		before = body->len;
		request_put_series(body, s, &s->item[i], own_prefix);
		if (body->failed)
			return false;
		/* If the request is full, put this series into the next one. A request has room for
		 * at least one series, because labels are bounded. */
		if (n && body->len + strlen(BODY_END) > REQUEST_BYTES) {
			body->len = before;
			body->data[before] = '\0';
			break;
		}
		if (items)
			items[n].series = i;
		n++;
	}
	buffer_add(body, BODY_END, strlen(BODY_END));
	if (!n || body->failed)
		return false;
	*at = i;
	*ret_items = n;
	return true;
}

void request_path(struct buffer *out, const char *project)
{
	buffer_printf(out, "/v3/projects/%s/timeSeries", project);
}

void request_descriptor(struct buffer *out, const struct series_row *row, const char *own_prefix,
			const char *project)
{
	struct buffer name = {0};

	buffer_printf(&name, "projects/%s/metricDescriptors/", project);
	series_type(&name, row, own_prefix);
	out->failed |= name.failed;
	json_open(out, NULL, '{');
	json_string(out, "name", name.data);
	buffer_free(&name);
	request_json_type(out, "type", row, own_prefix);
	json_open(out, "labels", '[');
	for (int i = 0; i < SERIES_LABELS && row->label[i].name; i++) {
		json_open(out, NULL, '{');
		json_string(out, "key", row->label[i].name);
		json_string(out, "valueType", row->label[i].number ? "INT64" : "STRING");
		json_string(out, "description", row->label[i].help);
		json_close(out, '}');
	}
	json_close(out, ']');
	json_string(out, "metricKind", kind_name[row->kind]);
	json_string(out, "valueType", value_name[row->value]);
	if (*row->unit)
		json_string(out, "unit", row->unit);
	json_string(out, "description", row->help);
	json_string(out, "displayName", row->title);
	json_close(out, '}');
}

void request_line(struct buffer *out, const char *path, const struct buffer *body)
{
	json_open(out, NULL, '{');
	json_string(out, "path", path);
	buffer_printf(out, ",\"body\":");
	buffer_add(out, body->data, body->len);
	buffer_add(out, "}\n", 2);
}
