/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - reads Cloud Monitoring's answer to a request, and decides what to do with each point.
 * Pure. */
#ifndef EXPORT_ANSWER_H
#define EXPORT_ANSWER_H

#include "userspace/export/gcm/sender.h"

enum fate {
	FATE_WRITTEN,
	FATE_DROPPED,
	FATE_AGAIN, /* send the point again later, when the service works again */
	/* send the point again at once, without the points that the answer names; unknown whether
	 * it was written */
	FATE_ALONE,
	/* send the point again at once, in a smaller request: one of several points is refused, and
	 * the answer does not say which */
	FATE_HALF,
};

enum answer_kind {
	ANSWER_TAKEN, /* 200 */
	ANSWER_GARBAGE,
	ANSWER_CANCELLED, /* by gp-bpf */
	ANSWER_TOKEN,	  /* 401 */
	ANSWER_QUOTA,	  /* 429 */
	ANSWER_AWAY,	  /* the service cannot be reached: 5xx, 408, a network error, a redirect */
	ANSWER_PARTIAL,	  /* some points were written */
	ANSWER_REFUSED,	  /* no point was written */
};

struct answer {
	enum answer_kind kind;
	uint8_t fate[REQUEST_SERIES];  /* enum fate of each point in the request */
	uint8_t cause[REQUEST_SERIES]; /* enum sender_drop of each point that was not written */
	/* number of points counted as FATE_WRITTEN that were not written; the answer does not say
	 * which */
	uint32_t blind[SENDER_DROP_COUNT];
	bool maybe; /* points with FATE_AGAIN may have been written */
	/* the service refused a start time that was earlier than the end of the previous point */
	bool start;
	bool quota;	  /* 429 (too many requests), whatever the answer says of each point */
	int64_t retry_ms; /* delay that the service asks for; -1: none given */
	char why[200];	  /* the error in one printable line; "": none */
};
/* Reads the answer to a request. err: -errno of sending it; count: points in the request, at most
 * REQUEST_SERIES. The reply is not trusted. */
void answer_read(struct answer *ret, int err, const struct web_reply *reply, uint32_t count);

#endif
