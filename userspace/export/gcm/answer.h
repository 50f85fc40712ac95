/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - what the service said of a request, and so what becomes of each point in it. Pure. */
#ifndef EXPORT_ANSWER_H
#define EXPORT_ANSWER_H

#include "userspace/export/gcm/sender.h"

enum fate {
	FATE_WRITTEN,
	FATE_DROPPED,
	FATE_AGAIN, /* once the service is better */
	FATE_ALONE, /* at once, without those that were named: nobody knows whether it was
		     * written */
	FATE_HALF,  /* at once, in smaller requests: one of several is refused, and nobody said
		     * which */
};

enum answer_kind {
	ANSWER_TAKEN, /* 200 */
	ANSWER_GARBAGE,
	ANSWER_CANCELLED, /* by ourselves */
	ANSWER_TOKEN,	  /* 401 */
	ANSWER_QUOTA,	  /* 429 */
	ANSWER_AWAY,	  /* 5xx, 408, network, a redirect */
	ANSWER_PARTIAL,	  /* some were written */
	ANSWER_REFUSED,	  /* none was */
};

struct answer {
	enum answer_kind kind;
	uint8_t fate[REQUEST_SERIES];	   /* enum fate, of each point in the request */
	uint8_t cause[REQUEST_SERIES];	   /* enum sender_drop, of those not written */
	uint32_t blind[SENDER_DROP_COUNT]; /* of those FATE_WRITTEN so many were not, it is not told
					      which */
	bool maybe;			   /* those FATE_AGAIN may have been written */
	bool start;			   /* a start was older than an end before it */
	bool quota;	  /* 429, whatever it says of each point: the rate is too high */
	int64_t retry_ms; /* as the service wants; -1: not told */
	char why[200];	  /* one line, printable; "" where all is well */
};
/* err: of the sending; count: points in the request, at most REQUEST_SERIES. All of reply is
 * hostile. */
void answer_read(struct answer *ret, int err, const struct web_reply *reply, uint32_t count);

#endif
