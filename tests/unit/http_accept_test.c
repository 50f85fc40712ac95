/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "userspace/http/http_accept.h"

#define OM "application/openmetrics-text"

static const struct {
	const char *accept;
	enum prometheus_format format;
} formats[] = {
	{NULL, PROMETHEUS_TEXT},
	{"", PROMETHEUS_TEXT},
	{"*/*", PROMETHEUS_TEXT},
	{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
	 PROMETHEUS_TEXT}, /* a browser */
	/* Prometheus 2.42, 2.20, 3.x, and 3.x with native histograms */
	{OM ";version=1.0.0," OM ";version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
	 PROMETHEUS_OPENMETRICS},
	{OM "; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", PROMETHEUS_TEXT},
	{OM ";version=1.0.0;escaping=allow-utf-8;q=0.6," OM
	    ";version=0.0.1;q=0.5,text/plain;version=1.0.0;"
	    "escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
	 PROMETHEUS_OPENMETRICS},
	{"application/"
	 "vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6," OM
	 ";version=1.0.0;escaping=allow-utf-8;q=0.5," OM
	 ";version=0.0.1;q=0.4,text/plain;version=1.0.0;"
	 "escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
	 PROMETHEUS_OPENMETRICS},
	/* Prometheus told to scrape text 0.0.4 first */
	{"text/plain;version=0.0.4;q=0.6," OM ";version=1.0.0;q=0.5,*/*;q=0.2", PROMETHEUS_TEXT},
	/* names, versions, other parameters */
	{OM, PROMETHEUS_OPENMETRICS},
	{"APPLICATION/OpenMetrics-Text; VERSION=\"1.0.0\"; charset=UTF-8", PROMETHEUS_OPENMETRICS},
	{OM ";version=2.0.0", PROMETHEUS_TEXT},
	{OM ";version=2.0.0, text/plain;q=0.1", PROMETHEUS_TEXT},
	{OM ";charset=latin1", PROMETHEUS_TEXT},
	{OM ";escaping=underscores;foo=bar;q=1", PROMETHEUS_OPENMETRICS},
	{OM ";version=\"1.0.0, text/plain\"", PROMETHEUS_TEXT},
	{"text/plain;version=1.0.0, " OM ";q=0.1", PROMETHEUS_OPENMETRICS},
	/* q, and what has none */
	{OM ";q=0.5, text/plain;q=0.6", PROMETHEUS_TEXT},
	{OM ";q=0.600, text/plain;q=0.599", PROMETHEUS_OPENMETRICS},
	{OM ";q=0", PROMETHEUS_TEXT},
	{OM ";q=0, */*", PROMETHEUS_TEXT},
	{"text/plain;q=0, */*;q=0.1", PROMETHEUS_OPENMETRICS},
	{"text/plain;q=0," OM ";q=0", PROMETHEUS_TEXT},
	{"*/*;q=0", PROMETHEUS_TEXT},
	{OM ";q=1.5", PROMETHEUS_TEXT},
	{OM ";q=1.5, text/plain;q=0.1", PROMETHEUS_TEXT},
	{OM ";q=-1", PROMETHEUS_TEXT},
	{OM ";q=", PROMETHEUS_TEXT},
	{OM ";q=0.1x", PROMETHEUS_TEXT},
	{OM ";q=1.0000001", PROMETHEUS_OPENMETRICS},
	/* ties and wildcards: the more specific range says a format's q */
	{"text/plain, " OM, PROMETHEUS_TEXT},
	{OM ", text/plain", PROMETHEUS_OPENMETRICS},
	{OM ", */*", PROMETHEUS_OPENMETRICS},
	{"*/*, " OM, PROMETHEUS_OPENMETRICS},
	{OM ";q=0.1, */*;q=0.9", PROMETHEUS_TEXT},
	{"application/*", PROMETHEUS_OPENMETRICS},
	{"application/*, text/*", PROMETHEUS_OPENMETRICS},
	{"text/*, application/*", PROMETHEUS_TEXT},
	{"application/*;q=0.5, " OM ";version=1.0.0;q=0.2, text/plain;q=0.3", PROMETHEUS_TEXT},
	{OM ";q=0.2, " OM ";q=0.9, text/plain;q=0.5", PROMETHEUS_OPENMETRICS},
	/* garbage */
	{",,,;;;", PROMETHEUS_TEXT},
	{";q=1", PROMETHEUS_TEXT},
	{"\"", PROMETHEUS_TEXT},
	{"\"\\", PROMETHEUS_TEXT},
	{OM ";version=\"1.0.0", PROMETHEUS_TEXT},
	{"\x01\xff/\xfe;q=\xff, " OM, PROMETHEUS_OPENMETRICS},
	{"application/openmetrics-textual", PROMETHEUS_TEXT},
	{"application/openmetrics", PROMETHEUS_TEXT},
	{"=;=;=", PROMETHEUS_TEXT},
};

static void format_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (http_accept_format(formats[i].accept) != formats[i].format)
			fail_msg("Accept: %s", formats[i].accept);
}

static const struct {
	const char *accept;
	bool gzip;
} codings[] = {
	{NULL, false},
	{"", false},
	{"gzip", true},
	{"gzip, deflate, br", true},
	{"GZIP", true},
	{"x-gzip", true},
	{"deflate, br", false},
	{"identity", false},
	{"gzip;q=0", false},
	{"gzip;q=0, *", false},
	{"identity;q=0", false},
	{"identity;q=0, *", true},
	{"identity;q=0, gzip", true},
	{"gzip;q=0.5, identity", false},
	{"gzip;q=1.0, identity; q=0.5, *;q=0", true},
	{"gzip;q=0.5, identity;q=0.5", true},
	{"*", false},
	{"*;q=0", false},
	{"*;q=0, gzip;q=0.1", true},
	{"gzip;q=x", false},
	{"gzipped", false},
	{"gzip;q=0.001", true},
};

static void gzip_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(codings) / sizeof(codings[0]); i++)
		if (http_accept_gzip(codings[i].accept) != codings[i].gzip)
			fail_msg("Accept-Encoding: %s", codings[i].accept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(format_table),
		cmocka_unit_test(gzip_table),
	};

	return cmocka_run_group_tests_name("http_accept", tests, NULL, NULL);
}
