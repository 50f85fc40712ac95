/* SPDX-License-Identifier: Apache-2.0 */
/* web.c - performs one HTTP request: options, headers, body, reply, and the time to wait before a
 * retry. */
#include "userspace/cloud/web.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/cloud/web_set.h"

#define WEB_HEAD_MAX	(64u << 10) /* limit of the size of all header lines of a reply, in bytes */
#define WEB_RETRY_MAX_S (24L * 3600)
#define WEB_POLL_MS	1000

struct web {
	CURLM *multi; /* keeps connections open for later requests */
	CURL *easy;
	/* trusted certificates from the environment; NULL: curl's default */
	char *ca_file, *ca_path;
	atomic_bool cancelled;
	char error[CURL_ERROR_SIZE];
};

/* A running request. */
struct web_turn {
	CURL *easy;
	const struct web_request *request;
	struct web_reply *reply;
	size_t head; /* size of the header lines received so far, in bytes */
	int64_t retry_s, retry_date_s;
	/* the connection is open, including TLS and proxy, and the request is being sent */
	bool ready;
	bool no_memory;
	bool head_too_long;
};

static char *web_environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? strdup(value) : NULL;
}

int web_open(struct web **ret)
{
	struct web *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	if (curl_global_init(CURL_GLOBAL_DEFAULT)) {
		free(w);
		log_error("HTTP client: libcurl cannot be initialised");
		return -EIO;
	}
	w->multi = curl_multi_init();
	w->easy = curl_easy_init();
	if (!w->multi || !w->easy) {
		web_close(w);
		log_error("HTTP client: out of memory");
		return -ENOMEM;
	}
	/* Use the variables that the curl tool uses. */
	w->ca_file = web_environment("CURL_CA_BUNDLE");
	if (!w->ca_file) {
		w->ca_file = web_environment("SSL_CERT_FILE");
		w->ca_path = web_environment("SSL_CERT_DIR");
	}
	*ret = w;
	return 0;
}

void web_close(struct web *w)
{
	if (!w)
		return;
	curl_easy_cleanup(w->easy);
	curl_multi_cleanup(w->multi);
	curl_global_cleanup();
	free(w->ca_file);
	free(w->ca_path);
	free(w);
}

void web_reply_free(struct web_reply *r)
{
	buffer_free(&r->body);
	memset(r, 0, sizeof(*r));
}

void web_cancel(struct web *w)
{
	atomic_store(&w->cancelled, true);
	curl_multi_wakeup(w->multi);
}

bool web_is_cancelled(const struct web *w)
{
	return atomic_load(&w->cancelled);
}

void web_escape(struct buffer *out, const char *text)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

	for (; *text; text++) {
		if (strchr(plain, *text))
			buffer_add(out, text, 1);
		else
			buffer_printf(out, "%%%02X", (unsigned)(unsigned char)*text);
	}
}

/* ---- replies */

/* Returns true if the body is passed to request->take(), because the status is 200, and not stored
 * in reply->body. */
static bool web_is_taken(const struct web_turn *t)
{
	long status = 0;

	if (!t->request->take)
		return false;
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	return status == 200;
}

static size_t web_take_body(char *data, size_t size, size_t n, void *ctx)
{
	struct web_turn *t = ctx;
	struct buffer *body = &t->reply->body;
	size_t len = size * n, room = WEB_BODY_MAX - body->len;

	if (web_is_taken(t)) {
		t->reply->cut = !t->request->take(t->request->ctx, data, len);
		return t->reply->cut ? CURL_WRITEFUNC_ERROR : len;
	}
	buffer_add(body, data, len < room ? len : room);
	t->no_memory = body->failed;
	t->reply->cut = len > room;
	return t->no_memory || t->reply->cut ? CURL_WRITEFUNC_ERROR : len;
}

/* Parses a number of seconds, limited to a day. Returns -1 if the text has other characters than
 * digits. */
static int64_t web_seconds(const char *text)
{
	int64_t value = 0;

	if (!*text)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -1;
		value = value * 10 + (*text - '0');
		if (value > WEB_RETRY_MAX_S)
			value = WEB_RETRY_MAX_S;
	}
	return value;
}

static void web_type(char *out, size_t len, const char *value)
{
	size_t n = strcspn(value, "; \t");

	log_escape(out, len, value, n);
	for (; *out; out++)
		if (*out >= 'A' && *out <= 'Z')
			*out = (char)(*out - 'A' + 'a');
}

static void web_header(struct web_turn *t, const char *name, const char *value)
{
	struct web_reply *r = t->reply;
	time_t date;

	if (!strcasecmp(name, "content-type")) {
		web_type(r->type, sizeof(r->type), value);
	} else if (!strcasecmp(name, "metadata-flavor")) {
		log_escape(r->flavor, sizeof(r->flavor), value, strlen(value));
	} else if (!strcasecmp(name, "date")) {
		date = curl_getdate(value, NULL);
		r->date_ns = date > 0 && date < INT64_MAX / 1000000000 ? (int64_t)date * 1000000000
								       : 0;
	} else if (!strcasecmp(name, "retry-after")) {
		t->retry_s = web_seconds(value);
		t->retry_date_s = t->retry_s < 0 ? curl_getdate(value, NULL) : -1;
	}
}

static void web_forget_headers(struct web_turn *t)
{
	t->reply->type[0] = t->reply->flavor[0] = '\0';
	t->reply->date_ns = 0;
	t->retry_s = t->retry_date_s = -1;
}

/* Processes one header line of a reply. Preliminary replies ("100 Continue") have header lines,
 * too, which are discarded. */
static size_t web_take_header(char *data, size_t size, size_t n, void *ctx)
{
	char line[512], *value;
	size_t len = size * n;
	struct web_turn *t = ctx;

	t->head += len;
	if (t->head > WEB_HEAD_MAX) {
		t->head_too_long = true;
		return CURL_WRITEFUNC_ERROR;
	}
	if (len >= 5 && !memcmp(data, "HTTP/", 5))
		web_forget_headers(t);
	if ((data[0] == '\r' || data[0] == '\n') && web_is_taken(t)) {
		t->reply->cut = !t->request->take(t->request->ctx, data, 0);
		return t->reply->cut ? CURL_WRITEFUNC_ERROR : len;
	}
	if (len >= sizeof(line) || memchr(data, '\0', len))
		return len;
	memcpy(line, data, len);
	line[len] = '\0';
	value = strchr(line, ':');
	if (!value)
		return len;
	*value++ = '\0';
	value += strspn(value, " \t");
	for (len = strlen(value); len && strchr(" \t\r\n", value[len - 1]); len--)
		value[len - 1] = '\0';
	web_header(t, line, value);
	return size * n;
}

/* libcurl calls this when the connection is open, directly before it sends the request. */
static int web_ready(void *ctx, char *to, char *from, int to_port, int from_port)
{
	struct web_turn *t = ctx;

	(void)to;
	(void)from;
	(void)to_port;
	(void)from_port;
	t->ready = true;
	return CURL_PREREQFUNC_OK;
}

/* Computes when to retry. A date in Retry-After is compared with the server's time if the reply has
 * a header Date, otherwise with this machine's clock. */
static void web_settle_retry(struct web_turn *t)
{
	struct web_reply *r = t->reply;
	int64_t s = t->retry_s;

	if (s < 0 && t->retry_date_s > 0) {
		s = t->retry_date_s - (r->date_ns ? r->date_ns : clock_real_ns()) / 1000000000;
		s = s < 0 ? 0 : s > WEB_RETRY_MAX_S ? WEB_RETRY_MAX_S : s;
	}
	r->retry_after_ms = s < 0 ? -1 : s * 1000;
}

/* ---- requests */

static bool web_is_line(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

/* Makes the list of headers. Returns NULL after an error, with the reason in r->why. Rejects
 * headers with line breaks, which could add another header. */
static struct curl_slist *web_headers(const struct web_request *rq, struct web_reply *r)
{
	/* An empty "Expect:" makes libcurl send a body without waiting for "100 Continue". */
	struct curl_slist *list = curl_slist_append(NULL, "Expect:"), *more;

	for (const char *const *h = rq->headers; list && h && *h; h++) {
		if (!web_is_line(*h)) {
			snprintf(r->why, sizeof(r->why),
				 "a header of the request contains a line break");
			curl_slist_free_all(list);
			return NULL;
		}
		more = curl_slist_append(list, *h);
		if (!more)
			curl_slist_free_all(list);
		list = more;
	}
	if (!list)
		snprintf(r->why, sizeof(r->why), "out of memory");
	return list;
}

static CURLcode web_set(struct web *w, const struct web_request *rq, struct curl_slist *headers,
			struct web_turn *t)
{
	CURLcode err;
	CURL *e = w->easy;

	curl_easy_reset(e);
	err = web_set_ways(e, rq);
	if (!err)
		err = web_set_trust(e, rq, w->ca_file, w->ca_path);
	SET(CURLOPT_HTTPHEADER, headers);
	SET(CURLOPT_USERAGENT, "gp-bpf/" GP_VERSION);
	SET(CURLOPT_ERRORBUFFER, w->error);
	SET(CURLOPT_WRITEFUNCTION, web_take_body);
	SET(CURLOPT_WRITEDATA, t);
	SET(CURLOPT_HEADERFUNCTION, web_take_header);
	SET(CURLOPT_HEADERDATA, t);
	SET(CURLOPT_PREREQFUNCTION, web_ready);
	SET(CURLOPT_PREREQDATA, t);
	return err;
}

/* ---- one request */

/* Blocks SIGPIPE in this thread, because OpenSSL writes to sockets without MSG_NOSIGNAL, and
 * libcurl is configured not to change signal handlers. */
static void web_hold_pipe_signal(sigset_t *before, bool *pending)
{
	sigset_t pipe, now;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigemptyset(&now);
	sigpending(&now);
	*pending = sigismember(&now, SIGPIPE) == 1;
	pthread_sigmask(SIG_BLOCK, &pipe, before);
}

static void web_release_pipe_signal(const sigset_t *before, bool pending)
{
	static const struct timespec none;
	sigset_t pipe;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	if (!pending)
		while (sigtimedwait(&pipe, NULL, &none) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Runs the request until it is complete. Returns CURLE_ABORTED_BY_CALLBACK if it was cancelled. */
static CURLcode web_run(struct web *w)
{
	CURLcode result = CURLE_FAILED_INIT;
	CURLMcode err;
	CURLMsg *msg;
	int running = 1, left;

	if (atomic_load(&w->cancelled))
		return CURLE_ABORTED_BY_CALLBACK;
	if (curl_multi_add_handle(w->multi, w->easy))
		return CURLE_OUT_OF_MEMORY;
	while (running) {
		err = curl_multi_perform(w->multi, &running);
		if (!err && running)
			err = curl_multi_poll(w->multi, NULL, 0, WEB_POLL_MS, NULL);
		if (err)
			break;
		if (running && atomic_load(&w->cancelled)) {
			result = CURLE_ABORTED_BY_CALLBACK;
			break;
		}
	}
	while ((msg = curl_multi_info_read(w->multi, &left)))
		if (msg->msg == CURLMSG_DONE)
			result = msg->data.result;
	curl_multi_remove_handle(w->multi, w->easy);
	return result;
}

static enum web_failure web_failure_of(CURLcode code, bool ready)
{
	static const struct {
		CURLcode code;
		enum web_failure failure;
	} rows[] = {
		{CURLE_OK, WEB_NONE},
		{CURLE_COULDNT_RESOLVE_HOST, WEB_RESOLVE},
		{CURLE_COULDNT_RESOLVE_PROXY, WEB_RESOLVE},
		{CURLE_COULDNT_CONNECT, WEB_CONNECT},
		{CURLE_PROXY, WEB_CONNECT},
		{CURLE_SSL_CONNECT_ERROR, WEB_TLS},
		{CURLE_PEER_FAILED_VERIFICATION, WEB_TLS},
		{CURLE_SSL_CACERT_BADFILE, WEB_TLS},
		{CURLE_SSL_CERTPROBLEM, WEB_TLS},
		{CURLE_SSL_CIPHER, WEB_TLS},
		{CURLE_SSL_ISSUER_ERROR, WEB_TLS},
		{CURLE_SSL_CRL_BADFILE, WEB_TLS},
		{CURLE_SSL_INVALIDCERTSTATUS, WEB_TLS},
		{CURLE_OPERATION_TIMEDOUT, WEB_TIMEOUT},
		{CURLE_ABORTED_BY_CALLBACK, WEB_CANCELLED},
		{CURLE_SEND_ERROR, WEB_BROKEN},
		{CURLE_RECV_ERROR, WEB_BROKEN},
		{CURLE_GOT_NOTHING, WEB_BROKEN},
		{CURLE_PARTIAL_FILE, WEB_BROKEN},
		{CURLE_WEIRD_SERVER_REPLY, WEB_BROKEN},
		{CURLE_UNSUPPORTED_PROTOCOL, WEB_OTHER},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].code != code)
			continue;
		/* If a connection breaks before the request is sent, a proxy refused it. If
		 * connecting fails after the request was sent, libcurl had reused a connection that
		 * broke, and the request may have arrived. */
		if (!ready && rows[i].failure == WEB_BROKEN)
			return WEB_CONNECT;
		if (ready && rows[i].failure >= WEB_RESOLVE && rows[i].failure <= WEB_TLS)
			return WEB_BROKEN;
		return rows[i].failure;
	}
	return ready ? WEB_BROKEN : WEB_OTHER;
}

static void web_finish(struct web *w, struct web_turn *t, CURLcode code)
{
	struct web_reply *r = t->reply;
	const char *text;
	long size = 0;

	if (code == CURLE_WRITE_ERROR && r->cut)
		code = CURLE_OK;
	curl_easy_getinfo(w->easy, CURLINFO_RESPONSE_CODE, &r->status);
	curl_easy_getinfo(w->easy, CURLINFO_REQUEST_SIZE, &size);
	r->sent = t->ready && (size > 0 || r->status);
	r->failure = web_failure_of(code, t->ready);
	web_settle_retry(t);
	if (!code)
		return;
	text = t->head_too_long			    ? "the reply's headers are too long"
	       : code == CURLE_ABORTED_BY_CALLBACK  ? "cancelled"
	       : code == CURLE_UNSUPPORTED_PROTOCOL ? "only http:// and https:// are supported"
	       : w->error[0]			    ? w->error
						    : curl_easy_strerror(code);
	log_escape(r->why, sizeof(r->why), text, strlen(text));
}

int web_send(struct web *w, const struct web_request *rq, struct web_reply *ret)
{
	struct web_turn t = {
		.easy = w->easy, .request = rq, .reply = ret, .retry_s = -1, .retry_date_s = -1};
	struct curl_slist *headers;
	sigset_t before;
	CURLcode code;
	bool pending;

	web_reply_free(ret);
	ret->retry_after_ms = -1;
	ret->failure = WEB_OTHER;
	headers = web_headers(rq, ret);
	if (!headers)
		return -EIO;
	w->error[0] = '\0';
	code = web_set(w, rq, headers, &t);
	if (!code) {
		web_hold_pipe_signal(&before, &pending);
		code = web_run(w);
		web_release_pipe_signal(&before, pending);
	}
	web_finish(w, &t, code);
	curl_easy_reset(w->easy);
	curl_slist_free_all(headers);
	if (t.no_memory || code == CURLE_OUT_OF_MEMORY)
		return -ENOMEM;
	return ret->failure ? -EIO : 0;
}
