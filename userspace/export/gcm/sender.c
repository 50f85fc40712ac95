/* SPDX-License-Identifier: Apache-2.0 */
/* sender.c - selects, sends and queues points for Cloud Monitoring, and makes metric
 * descriptors. */
#include "userspace/export/gcm/sender.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/export/gcm/answer.h"
#include "userspace/export/gcm/sender_private.h"

/* ---- from a set of series to points that may be sent ----------------------------------------- */

struct taking {
	struct series_set set; /* copy of the caller's set; only `item` is owned */
	bool *keep;
	uint64_t *key;
	uint64_t dropped[SENDER_DROP_COUNT];
};

static bool sender_taking_open(struct taking *t, const struct series_set *set)
{
	size_t n = set->count ? set->count : 1;

	*t = (struct taking){.set = *set};
	t->set.item = malloc(n * sizeof(*set->item));
	t->keep = calloc(n, sizeof(*t->keep));
	t->key = calloc(n, sizeof(*t->key));
	if (!t->set.item || !t->keep || !t->key)
		return false;
	memcpy(t->set.item, set->item, set->count * sizeof(*set->item));
	return true;
}

static void sender_taking_close(struct taking *t)
{
	free(t->set.item);
	free(t->keep);
	free(t->key);
}

static bool sender_is_cumulative(const struct series *p)
{
	return p->row->kind == SERIES_CUMULATIVE && !p->row->library;
}

/* While points wait on disk, a series gets at most one new cumulative point in 2 * opt.spacing_ms,
 * or the backlog would never end. Returns true if this point must be omitted. Nothing is lost,
 * because the next point's sum includes this one. */
static bool sender_too_dense(struct sender *s, const struct series *p, uint64_t key)
{
	int64_t end_ns = s->behind && sender_is_cumulative(p) ? tracks_end_ns(s->tracks, key) : 0;

	return end_ns && p->end_ns - end_ns < 2 * (int64_t)s->opt.spacing_ms * NS_PER_MS;
}

static void sender_choose(struct sender *s, struct taking *t, const struct series_set *set,
			  bool *soon, bool last)
{
	uint64_t now_ms = s->env.mono_ms(s->env.ctx);

	for (uint32_t i = 0; i < set->count; i++) {
		struct series *p = &t->set.item[i];
		enum track_verdict v;

		if (last && !soon[i])
			continue;
		t->key[i] = series_key(set, p, s->opt.prefix);
		v = tracks_ask(s->tracks, set, p, t->key[i], now_ms, last);
		if (v == TRACK_SOON && soon)
			soon[i] = true;
		else if (v == TRACK_UNFIT)
			t->dropped[SENDER_DROP_invalid]++;
		else if (v == TRACK_ROOM)
			t->dropped[SENDER_DROP_quota]++;
		else if (v != TRACK_FIT)
			t->dropped[v == TRACK_SOON ? SENDER_DROP_frequent : SENDER_DROP_older]++;
		else if (!series_fit(&t->set, p))
			t->dropped[SENDER_DROP_invalid]++;
		else if (sender_too_dense(s, p, t->key[i]))
			t->dropped[SENDER_DROP_superseded]++;
		else
			t->keep[i] = true;
		/* Note the point now, so that tracks_ask() rejects a second point of this series.
		 */
		if (t->keep[i])
			tracks_note(s->tracks, set, p, set->item[i].start_ns, t->key[i], now_ms);
	}
}

/* Drops unsent points in memory that newer points of the set replace. */
static void sender_supersede(struct sender *s, struct taking *t)
{
	struct table *newer = s->held.count ? table_new() : NULL;

	for (uint32_t i = 0; newer && i < t->set.count; i++) {
		if (t->keep[i])
			table_put(newer, t->key[i], t);
	}
	for (uint32_t i = 0; newer && i < s->held.count; i++) {
		struct batch_point *p = &s->held.item[i];

		if (p->gone || !table_get(newer, p->key))
			continue;
		p->gone = true;
		t->dropped[p->cumulative ? p->cause : SENDER_DROP_superseded]++;
	}
	table_free(newer, NULL);
	batch_sweep(&s->held);
}

static void sender_render(struct sender *s, struct taking *t)
{
	struct batch_piece piece[REQUEST_SERIES];
	struct request_item item[REQUEST_SERIES];
	uint32_t at = 0, n;

	while (request_next(&t->set, s->opt.prefix, t->keep, &at, &s->body, item, &n)) {
		if (batch_split(s->body.data, s->body.len, piece, REQUEST_SERIES) != (int)n) {
			t->dropped[SENDER_DROP_invalid] += n;
			continue;
		}
		for (uint32_t i = 0; i < n; i++) {
			const struct series *p = &t->set.item[item[i].series];
			struct batch_point point = {.key = t->key[item[i].series],
						    .end_ns = p->end_ns};

			point.cumulative = sender_is_cumulative(p);
			point.cause = SENDER_DROP_unavailable;
			if (batch_add(&s->held, &point, piece[i].text, piece[i].len))
				t->dropped[SENDER_DROP_unkept]++;
		}
	}
}

/* Copies the points of the set that may be written now to s->held, where they replace older points.
 * soon: gets a flag for each point that is too soon after the previous point of its series; NULL:
 * these points are dropped. last: take only the flagged points, with later end times that the
 * service accepts. */
static void sender_take(struct sender *s, const struct series_set *set, bool *soon, bool last)
{
	struct taking t;

	if (sender_taking_open(&t, set)) {
		sender_choose(s, &t, set, soon, last);
		sender_supersede(s, &t);
		sender_render(s, &t);
		for (int c = 0; c < SENDER_DROP_COUNT; c++)
			sender_count(s, (enum sender_drop)c, t.dropped[c],
				     c == SENDER_DROP_unavailable || c == SENDER_DROP_quota
					     ? s->stats.trouble
					     : "");
	} else {
		sender_count(s, SENDER_DROP_unkept, set->count, "no memory");
	}
	sender_taking_close(&t);
}

/* Returns the time (UTC) from which the service accepts all points flagged in `soon`. */
static int64_t sender_due_ns(struct sender *s, const struct series_set *set, const bool *soon)
{
	int64_t due_ns = 0, end_ns;

	for (uint32_t i = 0; i < set->count; i++) {
		if (!soon[i])
			continue;
		end_ns = tracks_end_ns(s->tracks, series_key(set, &set->item[i], s->opt.prefix)) +
			 s->opt.spacing_ms * NS_PER_MS;
		due_ns = end_ns > due_ns ? end_ns : due_ns;
	}
	return due_ns;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

/* Metric descriptors give gp-bpf's own series their units and descriptions. Each gp-bpf process
 * makes all descriptors once; making an existing descriptor again changes nothing. For a series
 * without a descriptor, the service derives one from the series's first point. */

#define TRIES	 5
#define AGAIN_MS 60000

/* Adds the rows of the set that have no descriptor yet to the list of descriptors to make. */
static void sender_descriptors_want(struct sender *s, const struct series_set *set)
{
	const struct series_row *before = NULL;

	for (uint32_t i = 0; i < set->count; i++) {
		const struct series_row *row = set->item[i].row;
		uint32_t k = 0;

		if (row == before || row->library)
			continue;
		before = row;
		while (k < s->ndescriptors && s->descriptor[k].row != row)
			k++;
		if (k == s->ndescriptors && k < ROWS_MAX)
			s->descriptor[s->ndescriptors++] = (struct descriptor){.row = row};
	}
}

/* Handles the answer for one descriptor. */
static void sender_descriptor_answer(struct sender *s, struct descriptor *d, const struct answer *a,
				     uint64_t now_ms)
{
	d->done = a->kind == ANSWER_TAKEN || a->kind == ANSWER_REFUSED || a->kind == ANSWER_TOKEN ||
		  a->kind == ANSWER_PARTIAL || ++d->tries == TRIES;
	d->again_ms = now_ms + AGAIN_MS;
	if (a->retry_ms > AGAIN_MS)
		d->again_ms = now_ms + (uint64_t)a->retry_ms;
	if (a->kind == ANSWER_TAKEN || !d->done || s->undescribed)
		return;
	s->undescribed = true;
	log_warn(
		"cloud-monitoring: %s%s: cannot create the metric descriptor: %s; the metric has no unit and description; further such errors are not logged",
		s->opt.prefix, d->row->name, a->why);
}

/* Makes the missing descriptors. Returns false if the service is unreachable. */
static bool sender_descriptors_make(struct sender *s, uint64_t timeout_ms)
{
	uint64_t now_ms = s->env.mono_ms(s->env.ctx);
	struct buffer path = {0}, body = {0};
	bool away = false, next = true;
	char why[200];

	buffer_printf(&path, "/v3/projects/%s/metricDescriptors", s->opt.project);
	for (uint32_t i = 0; next && i < s->ndescriptors && !path.failed; i++) {
		struct web_reply reply = {.retry_after_ms = -1};
		struct descriptor *d = &s->descriptor[i];
		struct answer a;
		int err;

		if (d->done || now_ms < d->again_ms)
			continue;
		buffer_clear(&body);
		request_descriptor(&body, d->row, s->opt.prefix, s->opt.project);
		err = sender_post(s, path.data, &body, timeout_ms, &reply, why, sizeof(why));
		if (err == -EAGAIN || err == -EACCES) {
			/* Without a token, sending points fails, too, and the failure is counted
			 * then. */
			next = false;
			sender_trouble(s, why);
			s->stats.up = false;
		} else {
			answer_read(&a, err, &reply, 1);
			sender_descriptor_answer(s, d, &a, now_ms);
			next = d->done;
			away = err == -EIO;
			if (away) {
				sender_trouble(s, a.why);
				s->stats.up = false;
				sender_backoff(s, -1, false);
			}
		}
		web_reply_free(&reply);
	}
	buffer_free(&path);
	buffer_free(&body);
	return !away;
}

/* Pause between requests with points from disk: after an outage many nodes send them at once. */
#define CATCH_UP_MS  2000
#define KEEP_TOLD_MS (3600 * 1000) /* time between log lines about points on disk */
/* Limit for each set: how often a refused request is divided into two. 16 times are enough to find
 * 2 bad points among 200. */
#define HALVES_MAX    16
#define LAST_SPARE_MS 1000 /* time reserved for the last request before the deadline */

/* ---- opening and closing --------------------------------------------------------------------- */

static void sender_disk_queue_begin(struct sender *s)
{
	int err;

	if (!s->opt.disk_queue)
		return;
	err = disk_queue_open(&s->disk_queue, s->opt.disk_queue, s->opt.disk_queue_max);
	if (err == -EBUSY)
		log_warn(
			"cloud-monitoring: %s: in use by another process; unsent points are not kept; give each process its own folder",
			s->opt.disk_queue);
	else if (err)
		log_warn(
			"cloud-monitoring: %s: cannot be opened: %s; unsent points are not kept; the folder must belong to this user, and no other user may write to it",
			s->opt.disk_queue, strerror(-err));
	else if (disk_queue_points(s->disk_queue))
		log_info("cloud-monitoring: %" PRIu64 " points from an earlier run will be sent",
			 disk_queue_points(s->disk_queue));
}

/* Loads the saved tracks (the last points of series). Without them, the service refuses the first
 * point of each series whose start time was changed by tracks_restart(). */
static void sender_tracks_begin(struct sender *s)
{
	int err = s->disk_queue
			  ? tracks_load(s->tracks, disk_queue_folder(s->disk_queue),
					s->env.real_ns(s->env.ctx), s->env.mono_ms(s->env.ctx))
			  : 0;

	if (err)
		log_warn(
			"cloud-monitoring: %s/tracks: cannot be read: %s; the service may refuse the first point of a series",
			s->opt.disk_queue, strerror(-err));
}

static void sender_tracks_keep(struct sender *s)
{
	int err = s->disk_queue ? tracks_save(s->tracks, disk_queue_folder(s->disk_queue)) : 0;

	if (err && !s->untracked)
		log_warn(
			"cloud-monitoring: %s/tracks: cannot be written: %s; after a restart the service may refuse the first point of a series",
			s->opt.disk_queue, strerror(-err));
	s->untracked = err;
}

int sender_open_with(struct sender **ret, const struct sender_options *o,
		     const struct sender_env *env)
{
	uint32_t spacing_ms = o->spacing_ms ? o->spacing_ms : SENDER_SPACING_MS;
	struct sender *s = calloc(1, sizeof(*s));

	if (s)
		s->tracks = tracks_new(spacing_ms);
	if (!s || !s->tracks) {
		free(s);
		return -ENOMEM;
	}
	s->opt = *o;
	s->env = *env;
	s->opt.endpoint = o->endpoint ? o->endpoint : SENDER_ENDPOINT;
	s->opt.prefix = o->prefix ? o->prefix : SERIES_OWN_PREFIX;
	s->opt.spacing_ms = spacing_ms;
	s->opt.disk_queue_max = o->disk_queue_max ? o->disk_queue_max : SENDER_DISK_QUEUE_MAX;
	request_path(&s->path, o->project);
	if (s->path.failed) {
		sender_close(s);
		return -ENOMEM;
	}
	sender_disk_queue_begin(s);
	sender_tracks_begin(s);
	*ret = s;
	return 0;
}

void sender_close(struct sender *s)
{
	if (!s)
		return;
	if (s->sent)
		sender_tracks_keep(s);
	disk_queue_close(s->disk_queue);
	tracks_free(s->tracks);
	batch_free(&s->held);
	batch_free(&s->oldest);
	buffer_free(&s->url);
	buffer_free(&s->path);
	buffer_free(&s->body);
	buffer_free(&s->header);
	free(s);
}

/* ---- the queue on disk ----------------------------------------------------------------------- */

static bool sender_has_backlog(const struct sender *s)
{
	return s->oldest.count || (s->disk_queue && disk_queue_points(s->disk_queue));
}

static void sender_count_disk_queue(struct sender *s)
{
	struct disk_queue_lost lost;

	if (!s->disk_queue)
		return;
	disk_queue_lost(s->disk_queue, &lost);
	sender_count(s, SENDER_DROP_room, lost.room - s->lost.room, s->opt.disk_queue);
	sender_count(s, SENDER_DROP_aged, lost.aged - s->lost.aged, "");
	if (lost.damaged != s->lost.damaged)
		log_warn("cloud-monitoring: %s: queued points cannot be read and are skipped",
			 s->opt.disk_queue);
	s->stats.damaged = lost.damaged;
	s->lost = lost;
	s->stats.queued = disk_queue_points(s->disk_queue);
	s->stats.disk_queue_bytes = disk_queue_bytes(s->disk_queue);
}

/* Logs that points go to disk: at most once an hour, and not if they only queue after earlier
 * points, for which a line was logged. */
static void sender_report_keeping(struct sender *s)
{
	uint64_t now_ms = s->env.mono_ms(s->env.ctx);

	if (s->keeping || !*s->stats.trouble || (s->kept_ms && now_ms - s->kept_ms < KEEP_TOLD_MS))
		return;
	s->keeping = true;
	s->kept_ms = now_ms;
	log_warn("cloud-monitoring: points are queued in %s until they can be sent: %s",
		 s->opt.disk_queue, s->stats.trouble);
}

/* Appends the unsent cumulative points in memory to the queue on disk. */
static void sender_keep(struct sender *s)
{
	uint32_t item[REQUEST_SERIES], at = 0, n, kept = 0;

	while (s->disk_queue && (n = batch_body(&s->held, &at, true, &s->body, item))) {
		kept += !disk_queue_add(s->disk_queue, &s->held, item, n) ? n : 0;
		for (uint32_t i = 0; i < n; i++)
			s->held.item[item[i]].gone = true;
	}
	batch_sweep(&s->held);
	if (kept)
		sender_report_keeping(s);
}

/* Sends one record of the queue on disk, unless one of its series was sent too recently. While the
 * queue has points, new cumulative points of all series queue after them, which keeps each series
 * in order. */
static void sender_catch_up(struct sender *s)
{
	uint64_t now_ms = s->env.mono_ms(s->env.ctx), ready_ms = 0, sent_ms;
	int64_t oldest_ns = s->env.real_ns(s->env.ctx) - SENDER_KEEP_S * NS_PER_S;
	uint32_t at = 0;

	s->catch_ms = now_ms + CATCH_UP_MS;
	if (!s->oldest.count && disk_queue_peek(s->disk_queue, oldest_ns, &s->oldest))
		return;
	for (uint32_t i = 0; i < s->oldest.count; i++) {
		sent_ms = tracks_sent_ms(s->tracks, s->oldest.item[i].key);
		ready_ms = sent_ms > ready_ms ? sent_ms : ready_ms;
	}
	if (ready_ms && ready_ms + s->opt.spacing_ms > now_ms) {
		s->catch_ms = ready_ms + s->opt.spacing_ms;
		return;
	}
	sender_deliver(s, &s->oldest, &at, SENDER_DEADLINE_MS);
	batch_sweep(&s->oldest);
	if (s->oldest.count)
		return;
	batch_clear(&s->oldest);
	disk_queue_pop(s->disk_queue);
	if (s->keeping && !sender_has_backlog(s)) {
		s->keeping = false;
		log_info(
			"cloud-monitoring: the queue on disk is empty: all its points were written or refused");
	}
}

/* ---- sending --------------------------------------------------------------------------------- */

static void sender_drop_aged(struct sender *s)
{
	int64_t oldest_ns = s->env.real_ns(s->env.ctx) - SENDER_KEEP_S * NS_PER_S;
	uint64_t aged = 0;

	for (uint32_t i = 0; i < s->held.count; i++) {
		if (s->held.item[i].end_ns >= oldest_ns)
			continue;
		s->held.item[i].gone = true;
		aged++;
	}
	sender_count(s, SENDER_DROP_aged, aged, "");
	if (aged)
		batch_sweep(&s->held);
}

/* Sends the points in s->held. No request begins after until_ms; each ends by limit_ms. */
static void sender_flush_held(struct sender *s, uint64_t until_ms, uint64_t limit_ms)
{
	uint64_t now_ms = s->env.mono_ms(s->env.ctx);
	uint32_t at = 0;
	bool more = true;

	sender_drop_aged(s);
	if (now_ms < s->next_ms || now_ms >= until_ms || !s->held.count)
		return;
	if (!sender_descriptors_make(s, limit_ms - now_ms < SENDER_DEADLINE_MS
						? limit_ms - now_ms
						: SENDER_DEADLINE_MS))
		more = false;
	while (more && (now_ms = s->env.mono_ms(s->env.ctx)) < until_ms)
		more = sender_deliver(s, &s->held, &at,
				      limit_ms - now_ms < SENDER_DEADLINE_MS ? limit_ms - now_ms
									     : SENDER_DEADLINE_MS);
	batch_sweep(&s->held);
}

/* Waits until the service accepts the points that came too soon after the previous ones, and sends
 * them. */
static void sender_send_soon(struct sender *s, const struct series_set *set, bool *soon,
			     uint64_t deadline_ms)
{
	uint64_t now_ms = s->env.mono_ms(s->env.ctx), count = 0;
	int64_t wait_ns = sender_due_ns(s, set, soon) - s->env.real_ns(s->env.ctx);
	uint64_t wait_ms = wait_ns > 0 ? (uint64_t)(wait_ns / NS_PER_MS) + 1 : 0;

	for (uint32_t i = 0; i < set->count; i++)
		count += soon[i];
	if (!count)
		return;
	if (now_ms + wait_ms + LAST_SPARE_MS > deadline_ms) {
		sender_count(s, SENDER_DROP_frequent, count, "gp-bpf ended first");
		return;
	}
	s->env.sleep_ms(s->env.ctx, wait_ms);
	sender_take(s, set, soon, true);
	if (sender_has_backlog(s))
		sender_keep(s);
	sender_flush_held(s, deadline_ms, deadline_ms);
}

static void sender_send_last(struct sender *s, const struct series_set *set, bool *soon,
			     uint64_t deadline_ms)
{
	/* This is the last attempt: ignore gp-bpf's own pauses, but not a delay that the service
	 * asked for. */
	if (!s->quota)
		s->next_ms = 0;
	sender_flush_held(s, deadline_ms, deadline_ms);
	if (soon)
		sender_send_soon(s, set, soon, deadline_ms);
	sender_keep(s);
	sender_count(s, SENDER_DROP_closing, s->held.count, s->stats.trouble);
	batch_clear(&s->held);
}

void sender_send(struct sender *s, const struct series_set *set, int64_t now_real_ns,
		 uint64_t deadline_ms, bool last)
{
	bool *soon = last && set->count ? calloc(set->count, sizeof(*soon)) : NULL;

	s->halves = HALVES_MAX;
	s->half_taken = false;
	(void)now_real_ns; /* unused, because each point has its own end time */
	sender_count(s, SENDER_DROP_unkept, set->unkept, "");
	tracks_prune(s->tracks, s->env.mono_ms(s->env.ctx));
	sender_descriptors_want(s, set);
	s->behind = !last && sender_has_backlog(s);
	sender_take(s, set, soon, false);
	if (sender_has_backlog(s))
		sender_keep(s);
	if (last)
		sender_send_last(s, set, soon, deadline_ms);
	else
		sender_flush_held(s, deadline_ms, deadline_ms);
	if (s->backoff.failures)
		sender_keep(s);
	s->sent = true;
	if (tracks_moved(s->tracks))
		sender_tracks_keep(s);
	sender_count_disk_queue(s);
	free(soon);
}

bool sender_wait(struct sender *s, uint64_t until_ms)
{
	uint64_t now_ms, due_ms;

	while (s->held.count || sender_has_backlog(s)) {
		now_ms = s->env.mono_ms(s->env.ctx);
		due_ms = s->next_ms;
		if (!s->held.count && s->catch_ms > due_ms)
			due_ms = s->catch_ms;
		if (now_ms >= until_ms)
			return true;
		if (due_ms > now_ms) {
			s->env.sleep_ms(s->env.ctx,
					(due_ms < until_ms ? due_ms : until_ms) - now_ms);
			continue;
		}
		if (s->held.count)
			sender_flush_held(s, until_ms, now_ms + SENDER_DEADLINE_MS);
		else
			sender_catch_up(s);
		if (s->backoff.failures)
			sender_keep(s);
		sender_count_disk_queue(s);
	}
	return false;
}

void sender_stats(const struct sender *s, struct sender_stats *ret)
{
	*ret = s->stats;
}

/* ---- the real web and clock ------------------------------------------------------------------ */

#define SLEEP_PART_MS 100 /* a sleeping thread checks for cancellation this often */

static int sender_real_send(void *ctx, const struct web_request *rq, struct web_reply *ret)
{
	const struct sender *s = ctx;

	return web_send(s->web, rq, ret);
}

static int sender_real_token(void *ctx, struct buffer *ret_header, char *why, size_t len)
{
	const struct sender *s = ctx;

	return google_token(s->google, ret_header, why, len);
}

static void sender_real_refused(void *ctx)
{
	const struct sender *s = ctx;

	google_token_refused(s->google);
}

static const char *sender_real_quota(void *ctx)
{
	const struct sender *s = ctx;

	return google_quota_project(s->google);
}

static uint64_t sender_real_mono_ms(void *ctx)
{
	(void)ctx;
	return clock_mono_ns() / NS_PER_MS;
}

static int64_t sender_real_wall_ns(void *ctx)
{
	(void)ctx;
	return clock_real_ns();
}

static void sender_real_sleep_ms(void *ctx, uint64_t ms)
{
	const struct sender *s = ctx;
	uint64_t part_ms;

	for (; ms && !web_is_cancelled(s->web); ms -= part_ms) {
		part_ms = ms < SLEEP_PART_MS ? ms : SLEEP_PART_MS;
		nanosleep(&(struct timespec){0, (long)(part_ms * NS_PER_MS)}, NULL);
	}
}

static double sender_real_random(void *ctx)
{
	(void)ctx;
	return backoff_random();
}

int sender_open(struct sender **ret, const struct sender_options *o, struct web *web,
		struct google *google)
{
	const struct sender_env env = {.send = sender_real_send,
				       .token = sender_real_token,
				       .refused = sender_real_refused,
				       .quota = sender_real_quota,
				       .mono_ms = sender_real_mono_ms,
				       .real_ns = sender_real_wall_ns,
				       .sleep_ms = sender_real_sleep_ms,
				       .random = sender_real_random};
	int err = sender_open_with(ret, o, &env);

	if (err) {
		log_error("cloud-monitoring: cannot start: %s", strerror(-err));
		return err;
	}
	(*ret)->web = web;
	(*ret)->google = google;
	(*ret)->env.ctx = *ret;
	return 0;
}
