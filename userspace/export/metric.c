/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/metric.h"

#include <math.h>
#include <string.h>

#include "userspace/base/utf8.h"

#define NS_PER_S 1000000000ull

static void metric_text(struct buffer *out, const char *s)
{
	buffer_add(out, s, strlen(s));
}

/* A page has tens of thousands of numbers; printf would be most of its price. */
static void metric_digits(struct buffer *out, uint64_t value, int least)
{
	char d[20];
	size_t at = sizeof(d);

	for (; value || least > 0; least--) {
		d[--at] = (char)('0' + value % 10);
		value /= 10;
	}
	buffer_add(out, d + at, sizeof(d) - at);
}

static void metric_label_open(struct buffer *out, const char *name)
{
	if (out->len && out->data[out->len - 1] != '{')
		buffer_add(out, ",", 1);
	metric_text(out, name);
	buffer_add(out, "=\"", 2);
}

void metric_label(struct buffer *out, const char *name, const char *value)
{
	size_t len = strlen(value), plain = 0, n;
	uint32_t c;

	metric_label_open(out, name);
	for (size_t i = 0; i < len; i += n) {
		n = utf8_decode(value + i, len - i, &c);
		if (n && utf8_columns(c) >= 0 && c != '"' && c != '\\')
			continue;
		buffer_add(out, value + plain, i - plain);
		if (!n || (c != '\n' && utf8_columns(c) < 0))
			buffer_add(out, "?", 1);
		else
			metric_text(out, c == '\n' ? "\\n" : c == '"' ? "\\\"" : "\\\\");
		n = n ? n : 1;
		plain = i + n;
	}
	buffer_add(out, value + plain, len - plain);
	buffer_add(out, "\"", 1);
}

void metric_label_uint(struct buffer *out, const char *name, uint64_t value)
{
	metric_label_open(out, name);
	metric_digits(out, value, 1);
	buffer_add(out, "\"", 1);
}

void metric_name(struct buffer *out, const char *name)
{
	metric_text(out, name);
}

void metric_value_uint(struct buffer *out, uint64_t value)
{
	buffer_add(out, "} ", 2);
	metric_digits(out, value, 1);
	buffer_add(out, "\n", 1);
}

void metric_value_ns(struct buffer *out, uint64_t ns)
{
	buffer_add(out, "} ", 2);
	metric_digits(out, ns / NS_PER_S, 1);
	buffer_add(out, ".", 1);
	metric_digits(out, ns % NS_PER_S, 9);
	buffer_add(out, "\n", 1);
}

void metric_value_real(struct buffer *out, double value)
{
	buffer_printf(out, "} %.9g\n", isfinite(value) ? value : 0.0);
}
