/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_send.h - one OTLP/HTTP endpoint a signal: what goes there, what its answers mean
 * (opentelemetry-proto, docs/specification.md, OTLP/HTTP Response): 2xx is success, of which
 * partialSuccess says how much was not taken; 429, 502, 503 and 504 and a connection that fails are
 * tried again, after Retry-After or after a time that doubles; all else never is. One thread's. */
#ifndef EXPORT_OTLP_SEND_H
#define EXPORT_OTLP_SEND_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/cloud/web.h"
#include "userspace/export/otlp/otlp_config.h"

enum otlp_fate {
	OTLP_TAKEN,
	OTLP_AGAIN,   /* the same, not before next_ms */
	OTLP_REFUSED, /* never again */
};

struct otlp_sender {
	struct web *web;
	const struct otlp_way *way; /* of all signals */
	struct {
		uint64_t next_ms; /* on the monotonic clock: no request before */
		uint64_t pause_ms;
		uint64_t logged_ms; /* of the last line about it; 0: none */
		bool up;	    /* the last request was taken */
	} signal[OTLP_SIGNALS];
	struct buffer packed;
	char trouble[200]; /* of the last request that was not taken as it is; "": none */
};

/* ret_rejected: of what was taken, what the server says it did not keep. Ends by deadline_ms. */
enum otlp_fate otlp_send(struct otlp_sender *s, enum otlp_signal signal, const struct buffer *body,
			 uint64_t deadline_ms, uint64_t *ret_rejected);
void otlp_sender_free(struct otlp_sender *s); /* what it holds; web is the caller's */

#endif
