/* SPDX-License-Identifier: Apache-2.0 */
/* otlp.c - the OpenTelemetry exporter: --export
 * otlp[:URL][,interval=SECONDSs][,sample=STEPS][,compression=gzip]. The main thread makes spans of
 * facts and queues them; the exporter's thread sends spans and metrics at each interval. In a
 * replay the main thread sends, and waits for the server. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "userspace/base/clock.h"
#include "userspace/base/json_text.h"
#include "userspace/base/log.h"
#include "userspace/export/exporter.h"
#include "userspace/export/otlp/otlp_config.h"
#include "userspace/export/otlp/otlp_metric.h"
#include "userspace/export/otlp/otlp_queue.h"
#include "userspace/export/otlp/otlp_send.h"
#include "userspace/export/otlp/otlp_text.h"
#include "userspace/export/otlp/otlp_tree.h"
#include "userspace/export/export_worker.h"

#define NS_PER_MS   1000000ull
#define NS_PER_S    1000000000ull
#define FLUSH_NS    (10 * NS_PER_S)
#define REPLAY_MS   30000      /* a replay gives up after this time without an answer */
#define BATCH_SPANS 512	       /* limit of spans in a request: the specification's default */
#define BATCH_BYTES (1u << 20) /* limit of the bytes of spans in a request */
#define NAP_MS	    50	       /* a sleeping thread checks for cancellation this often */

/* Reasons why spans and points are dropped, which are counted separately. */
#define DROPS(X)                                                                                   \
	X(queue)      /* spans: the queue was full, or no memory */                                \
	X(refused)    /* the server refused the request, or did not answer in OTLP */              \
	X(rejected)   /* the server accepted the request, but not these items */                   \
	X(undated)    /* spans: too many processes, or unknown wall time */                        \
	X(unsent)     /* points that were not accepted, and that no later points replaced */       \
	X(superseded) /* points that later ones replaced before they were accepted: no loss */     \
	X(closing)    /* spans that were not sent before gp-bpf ended */

enum drop {
#define X(name) DROP_##name,
	DROPS(X)
#undef X
		DROP_COUNT
};

static const char *const drop_name[DROP_COUNT] = {
#define X(name) [DROP_##name] = #name,
	DROPS(X)
#undef X
};

struct otlp {
	struct otlp_config config;
	struct otlp_queue *queue;
	struct otlp_tree *tree; /* only the main thread uses it */
	struct otlp_sender sender;
	struct export_worker *worker; /* NULL in a replay */
	uint64_t due_ns;	      /* replay: time of the next snapshot */
	/* Members from here on are used by the thread that sends. */
	struct buffer spans; /* spans taken from the queue, not sent yet */
	uint32_t nspans;
	struct buffer body;
	struct program_config program;
	uint64_t sent, dropped[DROP_COUNT];
	uint64_t untaken; /* points of the last metrics that the server did not accept */
	int64_t last_ns;
	uint64_t unplaced;    /* copy of otlp_tree_view.unplaced, made by the main thread; atomic */
	uint64_t answered_ms; /* replay: time of the server's last answer, or of the start */
};

/* ---- bodies ---------------------------------------------------------------------------------- */

static void otlp_body_open(struct otlp *o, const char *resources, const char *scopes,
			   const char *items)
{
	struct buffer *b = &o->body;

	buffer_clear(b);
	json_open(b, NULL, '{');
	json_open(b, resources, '[');
	json_open(b, NULL, '{');
	json_open(b, "resource", '{');
	json_open(b, "attributes", '[');
	for (uint32_t i = 0; i < o->config.nattributes; i++)
		otlp_text(b, o->config.attributes[i].key, o->config.attributes[i].value);
	otlp_text(b, "perf_tag", o->program.perf_tag);
	otlp_text(b, "session_tag", o->program.session_tag);
	json_close(b, ']');
	json_close(b, '}');
	json_open(b, scopes, '[');
	json_open(b, NULL, '{');
	json_open(b, "scope", '{');
	json_string(b, "name", "gp-bpf");
	json_string(b, "version", GP_VERSION);
	json_close(b, '}');
	json_open(b, items, '[');
}

static void otlp_body_close(struct otlp *o)
{
	buffer_add(&o->body, "]}]}]}", 6);
}

/* ---- spans ----------------------------------------------------------------------------------- */

static enum otlp_fate otlp_spans_send(struct otlp *o, uint64_t deadline_ms)
{
	uint64_t rejected;
	enum otlp_fate fate;

	if (!o->nspans)
		o->nspans = otlp_queue_take(o->queue, BATCH_SPANS, BATCH_BYTES, &o->spans);
	if (!o->nspans)
		return OTLP_TAKEN;
	otlp_body_open(o, "resourceSpans", "scopeSpans", "spans");
	buffer_add(&o->body, o->spans.data, o->spans.len);
	otlp_body_close(o);
	if (o->body.failed || o->spans.failed) { /* out of memory */
		buffer_free(&o->body);
		buffer_free(&o->spans);
		o->body.failed = o->spans.failed = false;
		o->dropped[DROP_queue] += o->nspans;
		o->nspans = 0;
		return OTLP_REFUSED;
	}
	fate = otlp_send(&o->sender, OTLP_TRACES, &o->body, deadline_ms, &rejected);
	if (fate == OTLP_AGAIN)
		return fate;
	rejected = rejected < o->nspans ? rejected : o->nspans;
	if (fate == OTLP_TAKEN) {
		o->sent += o->nspans - rejected;
		o->dropped[DROP_rejected] += rejected;
		o->last_ns = clock_real_ns();
	} else {
		o->dropped[DROP_refused] += o->nspans;
	}
	o->nspans = 0;
	buffer_clear(&o->spans);
	return fate;
}

static bool otlp_spans_wait(const struct otlp *o)
{
	struct otlp_queue_view q;

	otlp_queue_view(o->queue, &q);
	return o->nspans || q.spans;
}

static uint64_t otlp_now_ms(void)
{
	return clock_mono_ns() / NS_PER_MS;
}

/* Sends the spans that are queued now. Spans that are queued during the call wait for the next
 * interval, because requests would be small. No request begins after until_ms. Each may run until
 * limit_ms: if it were cut short and sent again, its spans could be duplicated. */
static void otlp_spans_flush(struct otlp *o, uint64_t until_ms, uint64_t limit_ms)
{
	struct otlp_queue_view q;
	uint64_t left;
	uint32_t n;

	otlp_queue_view(o->queue, &q);
	left = q.spans + o->nspans;
	while (left && otlp_now_ms() < until_ms &&
	       otlp_now_ms() >= o->sender.signal[OTLP_TRACES].next_ms) {
		if (!o->nspans)
			o->nspans = otlp_queue_take(o->queue, BATCH_SPANS, BATCH_BYTES, &o->spans);
		n = o->nspans;
		if (!n || otlp_spans_send(o, limit_ms) == OTLP_AGAIN)
			return;
		left -= n < left ? n : left;
	}
}

/* ---- metrics --------------------------------------------------------------------------------- */

/* Sends the metrics of a snapshot. Metrics that are not accepted are not sent again, because the
 * next ones include their counts. */
static void otlp_metrics_send(struct otlp *o, const struct snapshot *s, uint64_t deadline_ms)
{
	uint64_t rejected, points;
	uint32_t at = 0;
	bool away = otlp_now_ms() < o->sender.signal[OTLP_METRICS].next_ms;

	/* Points that the server did not accept are lost in a replay. Otherwise the next points
	 * replace them. */
	o->dropped[o->worker ? DROP_superseded : DROP_unsent] += o->untaken;
	o->untaken = 0;
	do {
		otlp_body_open(o, "resourceMetrics", "scopeMetrics", "metrics");
		points = otlp_metrics(&o->body, s, &at);
		otlp_body_close(o);
		if (!points || o->body.failed)
			continue;
		if (away) {
			o->untaken += points;
			continue;
		}
		switch (otlp_send(&o->sender, OTLP_METRICS, &o->body, deadline_ms, &rejected)) {
		case OTLP_TAKEN:
			rejected = rejected < points ? rejected : points;
			o->sent += points - rejected;
			o->dropped[DROP_rejected] += rejected;
			o->last_ns = clock_real_ns();
			break;
		case OTLP_AGAIN:
			o->untaken += points;
			away = true;
			break;
		case OTLP_REFUSED:
			o->dropped[DROP_refused] += points;
			break;
		}
	} while (at);
	if (o->body.failed) {
		buffer_free(&o->body);
		o->body.failed = false;
	}
}

/* ---- the worker ------------------------------------------------------------------------------ */

static void otlp_fill_view(struct otlp *o, struct export_view *view)
{
	struct otlp_queue_view q;

	_Static_assert((int)DROP_COUNT <= EXPORT_CAUSES, "room for each cause");
	otlp_queue_view(o->queue, &q);
	o->dropped[DROP_undated] = __atomic_load_n(&o->unplaced, __ATOMIC_RELAXED);
	view->up = o->sender.signal[OTLP_TRACES].up || o->sender.signal[OTLP_METRICS].up;
	view->sent = o->sent;
	view->waiting = q.spans + o->nspans;
	view->waiting_bytes = q.bytes + o->spans.len;
	view->last_ns = o->last_ns;
	view->ndropped = DROP_COUNT;
	for (uint32_t i = 0; i < DROP_COUNT; i++) {
		view->dropped[i].cause = drop_name[i];
		view->dropped[i].count = o->dropped[i] + (i == DROP_queue ? q.dropped : 0);
	}
	memcpy(view->trouble, o->sender.trouble, sizeof(view->trouble));
}

/* Drops and counts all spans that are still queued. */
static void otlp_spans_drop(struct otlp *o)
{
	while (otlp_spans_wait(o)) {
		if (!o->nspans)
			o->nspans = otlp_queue_take(o->queue, BATCH_SPANS, BATCH_BYTES, &o->spans);
		o->dropped[DROP_closing] += o->nspans;
		o->nspans = 0;
		buffer_clear(&o->spans);
	}
}

static void otlp_nap(uint64_t until_ms)
{
	struct timespec ts;
	uint64_t now = otlp_now_ms(), ms = until_ms > now ? until_ms - now : 0;

	ms = ms < NAP_MS ? ms : NAP_MS;
	ts = (struct timespec){.tv_nsec = (long)(ms * NS_PER_MS)};
	nanosleep(&ts, NULL);
}

/* Sends spans, with retries, until no span is left or deadline_ms is reached. */
static void otlp_spans_insist(struct otlp *o, uint64_t deadline_ms)
{
	while (otlp_spans_wait(o) && otlp_now_ms() < deadline_ms &&
	       !web_is_cancelled(o->sender.web)) {
		otlp_spans_flush(o, deadline_ms, deadline_ms);
		if (!otlp_spans_wait(o))
			break;
		if (o->sender.signal[OTLP_TRACES].next_ms >= deadline_ms)
			break;
		otlp_nap(o->sender.signal[OTLP_TRACES].next_ms);
	}
}

static bool otlp_work(void *ctx, struct snapshot *s, uint64_t deadline_ns, bool last,
		      struct export_view *view)
{
	uint64_t until_ms = deadline_ns / NS_PER_MS;
	struct otlp *o = ctx;

	o->program = s->program;
	otlp_metrics_send(o, s, until_ms);
	if (last)
		otlp_spans_insist(o, until_ms);
	else
		otlp_spans_flush(o, until_ms,
				 until_ms + o->config.endpoint[OTLP_TRACES].timeout_ms);
	otlp_fill_view(o, view);
	return true;
}

static bool otlp_idle(void *ctx, uint64_t until_ns, struct export_view *view)
{
	uint64_t until_ms = until_ns / NS_PER_MS;
	struct otlp *o = ctx;
	struct otlp_queue_view q;

	otlp_queue_view(o->queue, &q);
	if (o->nspans || q.spans >= BATCH_SPANS || q.bytes >= BATCH_BYTES)
		otlp_spans_flush(o, until_ms,
				 until_ms + o->config.endpoint[OTLP_TRACES].timeout_ms);
	otlp_fill_view(o, view);
	return true;
}

static void otlp_cancel(void *ctx)
{
	struct otlp *o = ctx;

	web_cancel(o->sender.web);
}

/* ---- the exporter ---------------------------------------------------------------------------- */

static void otlp_free(struct otlp *o)
{
	otlp_tree_free(o->tree);
	otlp_queue_free(o->queue);
	otlp_sender_free(&o->sender);
	web_close(o->sender.web);
	otlp_config_free(&o->config);
	buffer_free(&o->spans);
	buffer_free(&o->body);
	free(o);
}

static int otlp_start(struct otlp *o, const struct export_options *opt)
{
	struct export_worker_job job = {
		.name = export_otlp.name,
		.ctx = o,
		.interval_ns = o->config.interval_ns,
		.flush_ns = FLUSH_NS,
		.work = otlp_work,
		.idle = otlp_idle,
		.cancel = otlp_cancel,
	};
	int err = web_open(&o->sender.web);

	if (err)
		return err;
	o->sender.endpoint = o->config.endpoint;
	o->queue = otlp_queue_new(0, 0);
	o->tree = o->queue ? otlp_tree_new(o->queue, o->config.sample, o->config.host) : NULL;
	if (!o->tree)
		return -ENOMEM;
	o->answered_ms = otlp_now_ms();
	return opt->replay ? 0 : export_worker_open(&o->worker, &job);
}

static int otlp_check(const char *arg, const struct export_options *opt)
{
	(void)opt;
	return otlp_config_check(arg);
}

static int otlp_open(void **ret_state, const char *arg, const struct export_options *opt)
{
	struct otlp *o = calloc(1, sizeof(*o));
	int err;

	if (!o)
		return -ENOMEM;
	err = otlp_config_read(&o->config, arg);
	if (!err)
		err = otlp_start(o, opt);
	if (err) {
		otlp_free(o);
		return err;
	}
	*ret_state = o;
	return 0;
}

/* Sends the queued spans of a replay, on the main thread. Waits up to REPLAY_MS for a server that
 * does not answer. */
static void otlp_replay_flush(struct otlp *o)
{
	uint64_t sent = o->sent, now = otlp_now_ms();

	if (now < o->answered_ms + REPLAY_MS)
		otlp_spans_insist(o, now + REPLAY_MS);
	if (o->sent > sent)
		o->answered_ms = otlp_now_ms();
}

static void otlp_fact(void *state, const struct fact *f)
{
	struct otlp *o = state;
	struct otlp_tree_view tree;
	struct otlp_queue_view q;

	otlp_tree_fact(o->tree, f);
	otlp_tree_view(o->tree, &tree);
	__atomic_store_n(&o->unplaced, tree.unplaced, __ATOMIC_RELAXED);
	if (o->worker)
		return;
	otlp_queue_view(o->queue, &q);
	if (q.spans >= BATCH_SPANS || q.bytes >= BATCH_BYTES)
		otlp_replay_flush(o);
}

static void otlp_snapshot(void *state, struct snapshot *s)
{
	struct otlp *o = state;

	otlp_tree_config(o->tree, &s->program);
	otlp_tree_tick(o->tree, s->mono_ns);
	if (o->worker) {
		export_worker_snapshot(o->worker, s);
		return;
	}
	o->program = s->program;
	if (s->real_ns && otlp_now_ms() - o->answered_ms < REPLAY_MS)
		otlp_metrics_send(o, s,
				  otlp_now_ms() + o->config.endpoint[OTLP_METRICS].timeout_ms);
	otlp_replay_flush(o);
	o->due_ns = s->mono_ns + o->config.interval_ns;
}

static bool otlp_due(void *state, uint64_t mono_ns)
{
	const struct otlp *o = state;

	return !o->worker && mono_ns >= o->due_ns;
}

static void otlp_view(void *state, struct export_view *ret)
{
	struct otlp *o = state;

	ret->name = export_otlp.name;
	if (o->worker)
		export_worker_view(o->worker, ret);
	else
		otlp_fill_view(o, ret);
}

static void otlp_end(void *state, bool soon)
{
	struct otlp *o = state;

	if (o->worker)
		export_worker_end(o->worker, soon);
}

/* Returns -EIO if a replay lost spans or points; 0 for a watch, whose failures were logged when
 * they happened. */
static int otlp_close(void *state)
{
	struct otlp *o = state;
	bool replay = !o->worker;
	struct export_view view = {.name = export_otlp.name};
	uint64_t lost = 0;

	export_worker_close(o->worker, NULL);
	otlp_spans_drop(o);
	o->dropped[DROP_unsent] += o->untaken;
	otlp_fill_view(o, &view);
	for (uint32_t i = 0; i < DROP_COUNT; i++)
		lost += i != DROP_superseded ? view.dropped[i].count : 0;
	if (lost)
		log_warn("--export otlp: %llu of %llu spans and points were not sent%s%s",
			 (unsigned long long)lost, (unsigned long long)(lost + view.sent),
			 *view.trouble ? ": " : "", view.trouble);
	otlp_free(o);
	return replay && lost ? -EIO : 0;
}

const struct exporter export_otlp = {
	.name = "otlp",
	.help = "OpenTelemetry spans and metrics, to a Collector; [URL][,interval=10s][,sample=100]",
	.spec = {"otlp", "otlp:URL"},
	.usage = {[EXPORT_EVENTS] = "otlp[:URL]"},
	.url = true,
	.check = otlp_check,
	.open = otlp_open,
	.fact = otlp_fact,
	.snapshot = otlp_snapshot,
	.due = otlp_due,
	.view = otlp_view,
	.end = otlp_end,
	.close = otlp_close,
};
