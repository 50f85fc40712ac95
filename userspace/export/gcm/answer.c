/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c - reads Cloud Monitoring's answer to a request: which points were written, and why
 * others were not. The answer is a google.rpc.Status as JSON with details of
 * google.monitoring.v3.CreateTimeSeriesSummary and google.rpc.RetryInfo. Its texts are those that
 * the service was observed to send. */
#include "userspace/export/gcm/answer.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/log.h"

/* Limits for reading an answer. */
#define DETAILS_MAX 64	    /* limit of elements of "details"; further ones are ignored */
#define RETRY_MAX_S 86400.0 /* limit of the service's retry delay, in seconds */
#define SEGMENT_MAX 4096    /* limit of one statement in an error message, in bytes */

/* Error codes of google/rpc/code.proto. */
enum rpc_code {
	RPC_NONE = 0,
	RPC_CANCELLED = 1,
	RPC_UNKNOWN = 2,
	RPC_DEADLINE = 4,
	RPC_NOT_FOUND = 5,
	RPC_DENIED = 7,
	RPC_EXHAUSTED = 8,
	RPC_ABORTED = 10,
	RPC_INTERNAL = 13,
	RPC_UNAVAILABLE = 14,
	RPC_UNAUTHENTICATED = 16,
};

struct summary {
	bool there;
	double total, success;
	const cJSON *errors;
};

struct reading {
	struct answer *to;
	uint32_t count, named;
	enum sender_drop cause; /* cause given by the HTTP status or the error's status */
	bool whole;		/* the whole request was refused because of the points named */
	bool partial;		/* the answer says that each point was checked */
	struct summary summary;
};

static enum sender_drop answer_cause_of_status(long status)
{
	switch (status) {
	case 401:
	case 403:
	case 407:
		return SENDER_DROP_denied;
	case 404:
		return SENDER_DROP_missing;
	case 429:
		return SENDER_DROP_quota;
	case 408:
	case 409:
	case 499:
		return SENDER_DROP_unavailable;
	case 501:
		return SENDER_DROP_invalid;
	default:
		/* A status below 400 is a redirect by a proxy or a login page, not by the service.
		 */
		return status >= 500 || status < 400 ? SENDER_DROP_unavailable
						     : SENDER_DROP_invalid;
	}
}

static enum sender_drop answer_cause_of_code(double code, enum sender_drop otherwise)
{
	switch (code >= 0 && code < 100 ? (int)code : 0) {
	case RPC_EXHAUSTED:
		return SENDER_DROP_quota;
	case RPC_CANCELLED:
	case RPC_UNKNOWN:
	case RPC_DEADLINE:
	case RPC_ABORTED:
	case RPC_INTERNAL:
	case RPC_UNAVAILABLE:
		return SENDER_DROP_unavailable;
	case RPC_DENIED:
	case RPC_UNAUTHENTICATED:
		return SENDER_DROP_denied;
	case RPC_NOT_FOUND:
		return SENDER_DROP_missing;
	case RPC_NONE:
		return otherwise;
	default:
		return SENDER_DROP_invalid;
	}
}

static const struct {
	const char *text, *also;
	enum sender_drop cause;
	enum fate fate;
} texts[] = {
	{"older end time", NULL, SENDER_DROP_older, FATE_DROPPED},
	{"older start time", NULL, SENDER_DROP_older, FATE_DROPPED},
	{"must be written in order", NULL, SENDER_DROP_older, FATE_DROPPED},
	{"more frequently than", NULL, SENDER_DROP_frequent, FATE_DROPPED},
	{"written more than", "in the past", SENDER_DROP_aged, FATE_DROPPED},
	/* The limit of series is per day: retrying would only delay other points. */
	{"too many time series", NULL, SENDER_DROP_quota, FATE_DROPPED},
	{"internal error occurred", NULL, SENDER_DROP_unavailable, FATE_AGAIN},
};

/* Decides what to do with a point that was not written: by the error text if gp-bpf knows it (may
 * change *cause), otherwise by the cause. */
static enum fate answer_fate_of(const char *text, enum sender_drop *cause)
{
	for (size_t i = 0; text && i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!strstr(text, texts[i].text) || (texts[i].also && !strstr(text, texts[i].also)))
			continue;
		*cause = texts[i].cause;
		return texts[i].fate;
	}
	return *cause == SENDER_DROP_quota || *cause == SENDER_DROP_unavailable ? FATE_AGAIN
										: FATE_DROPPED;
}

/* Sets the fate of point i, unless an earlier statement of the answer has set it. */
static void answer_name_point(struct reading *r, uint32_t i, enum fate fate, enum sender_drop cause)
{
	if (r->to->fate[i] != FATE_WRITTEN)
		return;
	r->to->fate[i] = (uint8_t)fate;
	r->to->cause[i] = (uint8_t)cause;
	r->named++;
}

/* Reads a list of point numbers, "0-53,60]". Returns the position after it; NULL: not a list. */
static const char *answer_name_ranges(struct reading *r, const char *at, enum fate fate,
				      enum sender_drop cause)
{
	unsigned long from, to;
	char *end;

	do {
		if (!isdigit((unsigned char)*at))
			return NULL;
		from = to = strtoul(at, &end, 10);
		if (*end == '-' && isdigit((unsigned char)end[1]))
			to = strtoul(end + 1, &end, 10);
		for (; from <= to && from < r->count; from++)
			answer_name_point(r, (uint32_t)from, fate, cause);
		at = end;
	} while (*at++ == ',');
	return at[-1] == ']' ? at : NULL;
}

/* Reads one statement: "WHAT: timeSeries[3]", "timeSeries[0-53,60]: WHAT", "Field
 * timeSeries[1].points[0] WHAT". */
static void answer_read_segment(struct reading *r, const char *segment, enum sender_drop cause)
{
	static const char *const names[] = {"timeSeries[", "time_series["};
	enum fate fate = answer_fate_of(segment, &cause);
	const char *at;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (at = segment; at && (at = strstr(at, names[i]));) {
			bool field = at >= segment + 6 && !strncmp(at - 6, "Field ", 6);

			r->whole |= field || i;
			at = answer_name_ranges(r, at + strlen(names[i]), fate, cause);
		}
	}
	if (strstr(segment, "older start time"))
		r->to->start = true;
}

/* Reads all statements of an error message; semicolons separate them. */
static void answer_read_message(struct reading *r, const char *text, enum sender_drop cause)
{
	char segment[SEGMENT_MAX];
	size_t len;

	if (strstr(text, "could not be written"))
		r->partial = true;
	for (; *text; text += len + (text[len] == ';')) {
		len = strcspn(text, ";");
		snprintf(segment, sizeof(segment), "%.*s",
			 len < SEGMENT_MAX ? (int)len : SEGMENT_MAX - 1, text);
		answer_read_segment(r, segment, cause);
	}
}

static double answer_number(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	if (cJSON_IsString(v)) /* the service writes 64-bit integers as strings */
		return strtod(v->valuestring, NULL);
	return cJSON_IsNumber(v) ? v->valuedouble : 0;
}

static const char *answer_text_of(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	return cJSON_IsString(v) ? v->valuestring : "";
}

static bool answer_is_type(const cJSON *detail, const char *name)
{
	const char *type = answer_text_of(detail, "@type"), *slash = strrchr(type, '/');

	return !strcmp(slash ? slash + 1 : type, name);
}

static void answer_read_detail(struct reading *r, const cJSON *detail)
{
	double total, success, seconds;

	if (answer_is_type(detail, "google.monitoring.v3.CreateTimeSeriesSummary")) {
		total = answer_number(detail, "totalPointCount");
		success = answer_number(detail, "successPointCount");
		/* A summary whose counts do not fit the request is ignored. */
		if (r->summary.there || total != r->count || !(success >= 0) || success > total)
			return;
		r->summary = (struct summary){true, total, success,
					      cJSON_GetObjectItemCaseSensitive(detail, "errors")};
	} else if (answer_is_type(detail, "google.rpc.RetryInfo")) {
		seconds = strtod(answer_text_of(detail, "retryDelay"), NULL);
		if (!(seconds > 0))
			return;
		seconds = fmin(seconds, RETRY_MAX_S) * 1000;
		if ((int64_t)seconds > r->to->retry_ms)
			r->to->retry_ms = (int64_t)seconds;
	}
}

/* Returns how many points of one error in the summary were not named in any message; at most
 * `left`. */
static uint32_t answer_nameless(const cJSON *error, enum sender_drop cause, uint32_t left,
				uint32_t named[SENDER_DROP_COUNT])
{
	double count = fmax(0, fmin(answer_number(error, "pointCount"), REQUEST_SERIES));
	uint32_t unnamed = (uint32_t)count, known = unnamed < named[cause] ? unnamed : named[cause];

	named[cause] -= known;
	unnamed -= known;
	return unnamed < left ? unnamed : left;
}

/* Counts failed points that no message named, by the causes in the summary. */
static void answer_read_summary(struct reading *r)
{
	uint32_t failed = r->count - (uint32_t)r->summary.success, named[SENDER_DROP_COUNT] = {0};
	uint32_t rest = failed > r->named ? failed - r->named : 0, left = rest, unnamed, most = 0;
	enum sender_drop cause, main_cause = r->cause;
	bool again = false;
	const cJSON *e, *status;

	if (!rest)
		return;
	for (uint32_t i = 0; i < r->count; i++)
		named[r->to->cause[i]] += r->to->fate[i] != FATE_WRITTEN;
	cJSON_ArrayForEach(e, r->summary.errors)
	{
		status = cJSON_GetObjectItemCaseSensitive(e, "status");
		cause = answer_cause_of_code(answer_number(status, "code"), r->cause);
		again |= answer_fate_of(answer_text_of(status, "message"), &cause) == FATE_AGAIN;
		unnamed = answer_nameless(e, cause, left, named);
		r->to->blind[cause] += unnamed;
		left -= unnamed;
		if (unnamed > most) {
			most = unnamed;
			main_cause = cause;
		}
	}
	r->to->blind[r->cause] += left;
	/* The answer does not name the failed points. If one of them may be sent again, all points
	 * are sent again, and the service refuses those that it already has. Otherwise, if some
	 * points were written, only the counts in `blind` are known. */
	if (!again && rest < r->count - r->named)
		return;
	r->to->maybe |= rest < r->count - r->named;
	memset(r->to->blind, 0, sizeof(r->to->blind));
	if (again && main_cause != SENDER_DROP_quota)
		main_cause = SENDER_DROP_unavailable;
	for (uint32_t i = 0; i < r->count; i++)
		answer_name_point(r, i, again ? FATE_AGAIN : FATE_DROPPED, main_cause);
}

static void answer_read_error(struct reading *r, const cJSON *error)
{
	const cJSON *details = cJSON_GetObjectItemCaseSensitive(error, "details"), *d, *e, *status;
	const char *message = answer_text_of(error, "message");
	uint32_t seen = 0;

	if (!strcmp(answer_text_of(error, "status"), "RESOURCE_EXHAUSTED"))
		r->cause = SENDER_DROP_quota;
	cJSON_ArrayForEach(d, details)
	{
		if (seen++ == DETAILS_MAX)
			break;
		answer_read_detail(r, d);
	}
	/* The code of an error in the summary is more specific than the code of the reply. */
	cJSON_ArrayForEach(e, r->summary.errors)
	{
		status = cJSON_GetObjectItemCaseSensitive(e, "status");
		answer_read_message(r, answer_text_of(status, "message"),
				    answer_cause_of_code(answer_number(status, "code"), r->cause));
	}
	answer_read_message(r, message, r->cause);
	if (*message)
		log_escape(r->to->why, sizeof(r->to->why), message, strlen(message));
}

/* Parses a body that is one JSON value. Returns NULL if other text follows it. */
static cJSON *answer_parse(const struct buffer *body)
{
	const char *end = NULL;
	cJSON *root;

	if (!body->data || !body->len)
		return NULL;
	root = cJSON_ParseWithLengthOpts(body->data, body->len, &end, false);
	while (root && end < body->data + body->len && isspace((unsigned char)*end))
		end++;
	if (root && end != body->data + body->len) {
		cJSON_Delete(root);
		return NULL;
	}
	return root;
}

static void answer_all_points(struct reading *r, enum fate fate, enum sender_drop cause)
{
	for (uint32_t i = 0; i < r->count; i++)
		answer_name_point(r, i, fate, cause);
}

static void answer_read_failure(struct reading *r, const struct web_reply *reply, const cJSON *root)
{
	const cJSON *error = cJSON_GetObjectItemCaseSensitive(root, "error");
	enum sender_drop cause;
	enum fate fate;

	r->cause = answer_cause_of_status(reply->status);
	r->to->retry_ms = reply->retry_after_ms;
	r->to->maybe = r->cause == SENDER_DROP_unavailable;
	snprintf(r->to->why, sizeof(r->to->why), "HTTP %ld", reply->status);
	if (error)
		answer_read_error(r, error);
	r->to->quota = r->cause == SENDER_DROP_quota;
	if (r->summary.there) {
		answer_read_summary(r);
	} else if (r->named) {
		/* If the service cannot parse a field, it refuses the whole request: send the
		 * points that it did not name again. If it cannot write a value, it refuses only
		 * that series. */
		if (r->whole && !r->partial)
			answer_all_points(r, FATE_ALONE, SENDER_DROP_invalid);
	} else {
		cause = r->cause;
		fate = answer_fate_of(error ? answer_text_of(error, "message") : NULL, &cause);
		if (cause == SENDER_DROP_invalid && reply->status != 501 && r->count > 1)
			fate = FATE_HALF;
		answer_all_points(r, fate, cause);
	}
	if (reply->status == 401)
		r->to->kind = ANSWER_TOKEN;
	else if (r->named < r->count)
		r->to->kind = ANSWER_PARTIAL;
	else if (r->cause == SENDER_DROP_quota)
		r->to->kind = ANSWER_QUOTA;
	else
		r->to->kind = r->cause == SENDER_DROP_unavailable ? ANSWER_AWAY : ANSWER_REFUSED;
}

static void answer_read_nothing(struct reading *r, int err, const struct web_reply *reply)
{
	bool cancelled = reply->failure == WEB_CANCELLED;

	r->to->kind = cancelled ? ANSWER_CANCELLED : ANSWER_AWAY;
	r->to->maybe = reply->sent && reply->failure != WEB_RESOLVE &&
		       reply->failure != WEB_CONNECT && reply->failure != WEB_TLS;
	if (reply->why[0])
		log_escape(r->to->why, sizeof(r->to->why), reply->why,
			   strnlen(reply->why, sizeof(reply->why)));
	else
		snprintf(r->to->why, sizeof(r->to->why), "%s", strerror(-err));
	answer_all_points(r, FATE_AGAIN, SENDER_DROP_unavailable);
}

void answer_read(struct answer *ret, int err, const struct web_reply *reply, uint32_t count)
{
	struct reading r = {.to = ret, .count = count < REQUEST_SERIES ? count : REQUEST_SERIES};
	cJSON *root;

	*ret = (struct answer){.retry_ms = -1};
	if (err || reply->failure != WEB_NONE) {
		answer_read_nothing(&r, err ? err : -EIO, reply);
		return;
	}
	root = reply->cut ? NULL : answer_parse(&reply->body);
	if (reply->status < 200 || reply->status > 299) {
		answer_read_failure(&r, reply, root);
	} else if (cJSON_IsObject(root) && !cJSON_GetObjectItemCaseSensitive(root, "error")) {
		ret->kind = ANSWER_TAKEN;
	} else {
		ret->kind = ANSWER_GARBAGE;
		snprintf(ret->why, sizeof(ret->why), "HTTP %ld with an unexpected body",
			 reply->status);
		answer_all_points(&r, FATE_DROPPED, SENDER_DROP_garbage);
	}
	cJSON_Delete(root);
}
