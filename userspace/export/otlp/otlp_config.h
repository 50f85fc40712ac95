/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_config.h - destination, interval and identity of the telemetry: from the exporter's
 * argument, [URL][,interval=SECONDSs][,sample=STEPS][,compression=gzip], and from the environment
 * variables of the OpenTelemetry specification (protocol/exporter.md, resource/sdk.md):
 * OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS, _TIMEOUT and _COMPRESSION, each also with TRACES_ or
 * METRICS_ before its last word, OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME. The argument
 * overrides the environment. Headers are secrets, which no message contains; an address that is not
 * a URL may contain one, so messages show only its host. */
#ifndef EXPORT_OTLP_CONFIG_H
#define EXPORT_OTLP_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#define OTLP_ENDPOINT	"http://127.0.0.1:4318"
#define OTLP_HEADERS	16
#define OTLP_ATTRIBUTES 64
#define OTLP_SAMPLE_MAX 1000000000u

enum otlp_signal { OTLP_TRACES, OTLP_METRICS, OTLP_SIGNALS };
extern const char *const otlp_signal_name[OTLP_SIGNALS]; /* "traces", "metrics" */

struct otlp_endpoint {
	char *url;
	char *headers[OTLP_HEADERS +
		      3]; /* "Name: value", including Content-Type and -Encoding; NULL-terminated */
	uint64_t timeout_ms;
	bool gzip;
};

struct otlp_attribute {
	char *key, *value;
};

struct otlp_config {
	struct otlp_endpoint endpoint[OTLP_SIGNALS];
	uint64_t interval_ns;
	uint32_t sample; /* one in this number of steps becomes a span */
	/* attributes of the resource; service.name is the first */
	struct otlp_attribute attributes[OTLP_ATTRIBUTES];
	uint32_t nattributes;
	char host[256]; /* host name of this machine */
};

/* Checks only the argument. Returns 0, or -EINVAL after logging the error. */
int otlp_config_check(const char *argument);
/* Reads argument (may be NULL) and environment. Returns 0, or -errno after logging the error. In
 * both cases the caller frees *ret with otlp_config_free(). */
int otlp_config_read(struct otlp_config *ret, const char *argument);
void otlp_config_free(struct otlp_config *c);

#endif
