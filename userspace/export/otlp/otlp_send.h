/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_send.h - sends to one OTLP/HTTP endpoint for each signal and interprets the answers
 * (opentelemetry-proto, docs/specification.md, OTLP/HTTP Response): 2xx is success, and its
 * partialSuccess gives the number of rejected items; 429, 502, 503, 504 and failed connections are
 * retried after Retry-After, or after a delay that doubles; other failures are not retried. Not
 * thread-safe. */
#ifndef EXPORT_OTLP_SEND_H
#define EXPORT_OTLP_SEND_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/backoff.h"
#include "userspace/base/buffer.h"
#include "userspace/cloud/web.h"
#include "userspace/export/otlp/otlp_config.h"

enum otlp_fate {
	OTLP_TAKEN,
	OTLP_AGAIN,   /* send the same request again, not before next_ms */
	OTLP_REFUSED, /* do not send the request again */
};

struct otlp_sender {
	struct web *web;
	const struct otlp_endpoint *endpoint; /* one for each signal */
	struct {
		uint64_t next_ms; /* earliest time of the next request, CLOCK_MONOTONIC */
		struct backoff backoff;
		uint64_t logged_ms; /* time of the last log line about an error; 0: none */
		bool up;	    /* the last request was accepted */
	} signal[OTLP_SIGNALS];
	struct buffer packed;
	char trouble[200]; /* error of the last request that was not fully accepted; "": none */
};

/* Sends one request. ret_rejected: the number of items that the server rejected from an accepted
 * request. Returns by deadline_ms. */
enum otlp_fate otlp_send(struct otlp_sender *s, enum otlp_signal signal, const struct buffer *body,
			 uint64_t deadline_ms, uint64_t *ret_rejected);
void otlp_sender_free(struct otlp_sender *s); /* frees members of s, except web */

#endif
