/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/gcm/sender.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/gcm/sender_private.h"

#define CATCH_UP_MS   2000 /* between requests from the spool: a fleet comes back at once */
#define KEEP_TOLD_MS  (3600 * 1000)
#define HALVES_MAX    16   /* to find two of 200 points */
#define LAST_SPARE_MS 1000 /* that the last request is left at least */

const char *const sender_drop_name[SENDER_DROP_COUNT] = {
#define X(name) [SENDER_DROP_##name] = #name,
	SENDER_DROPS(X)
#undef X
};

/* ---- opening and closing
 * ------------------------------------------------------------------------------ */

static void spool_begin(struct sender *s)
{
	int err;

	if (!s->opt.spool)
		return;
	err = spool_open(&s->spool, s->opt.spool, s->opt.spool_max);
	if (err == -EBUSY)
		log_warn(
			"cloud-monitoring: %s is another process's: what cannot be written is not kept here; "
			"give each its own folder",
			s->opt.spool);
	else if (err)
		log_warn(
			"cloud-monitoring: %s: %s: what cannot be written is not kept; the folder has to be "
			"this "
			"user's, and nobody else's to write",
			s->opt.spool, strerror(-err));
	else if (spool_points(s->spool))
		log_info("cloud-monitoring: %" PRIu64 " points of earlier are still to be written",
			 spool_points(s->spool));
}

/* Without them a series whose start was moved is begun anew, which the service refuses once. */
static void tracks_begin(struct sender *s)
{
	int err = s->spool ? tracks_load(s->tracks, spool_folder(s->spool),
					 s->env.real_ns(s->env.ctx), s->env.mono_ms(s->env.ctx))
			   : 0;

	if (err)
		log_warn(
			"cloud-monitoring: %s/tracks: %s: where series began is not known from earlier",
			s->opt.spool, strerror(-err));
}

static void tracks_keep(struct sender *s)
{
	int err = s->spool ? tracks_save(s->tracks, spool_folder(s->spool)) : 0;

	if (err && !s->untracked)
		log_warn(
			"cloud-monitoring: %s/tracks: %s: where series began will not be known after a "
			"restart",
			s->opt.spool, strerror(-err));
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
	s->opt.spool_max = o->spool_max ? o->spool_max : SENDER_SPOOL_MAX;
	request_path(&s->path, o->project);
	if (s->path.failed) {
		sender_close(s);
		return -ENOMEM;
	}
	spool_begin(s);
	tracks_begin(s);
	*ret = s;
	return 0;
}

void sender_close(struct sender *s)
{
	if (!s)
		return;
	if (s->sent)
		tracks_keep(s);
	spool_close(s->spool);
	tracks_free(s->tracks);
	parcel_free(&s->held);
	parcel_free(&s->oldest);
	buffer_free(&s->url);
	buffer_free(&s->path);
	buffer_free(&s->body);
	buffer_free(&s->header);
	free(s);
}

/* ---- the spool
 * ------------------------------------------------------------------------------------------
 */

static bool has_backlog(const struct sender *s)
{
	return s->oldest.count || (s->spool && spool_points(s->spool));
}

static void count_spool(struct sender *s)
{
	struct spool_lost lost;

	if (!s->spool)
		return;
	spool_lost(s->spool, &lost);
	sender_count(s, SENDER_DROP_room, lost.room - s->lost.room, s->opt.spool);
	sender_count(s, SENDER_DROP_aged, lost.aged - s->lost.aged, "");
	if (lost.damaged != s->lost.damaged)
		log_warn(
			"cloud-monitoring: %s: points that were kept cannot be read; they are skipped",
			s->opt.spool);
	s->stats.damaged = lost.damaged;
	s->lost = lost;
	s->stats.spooled = spool_points(s->spool);
	s->stats.spool_bytes = spool_bytes(s->spool);
}

/* Once an hour: a service that comes and goes is not worth more lines. Behind points of earlier, of
 * which was told, they go without trouble. */
static void tell_keeping(struct sender *s)
{
	uint64_t now_ms = s->env.mono_ms(s->env.ctx);

	if (s->keeping || !*s->stats.trouble || (s->kept_ms && now_ms - s->kept_ms < KEEP_TOLD_MS))
		return;
	s->keeping = true;
	s->kept_ms = now_ms;
	log_warn("cloud-monitoring: points are kept in %s until they can be written: %s",
		 s->opt.spool, s->stats.trouble);
}

/* Cumulative points that are held go to the disk: behind those that are there. */
static void keep(struct sender *s)
{
	uint32_t item[REQUEST_SERIES], at = 0, n, kept = 0;

	while (s->spool && (n = parcel_body(&s->held, &at, true, &s->body, item))) {
		kept += !spool_add(s->spool, &s->held, item, n) ? n : 0;
		for (uint32_t i = 0; i < n; i++)
			s->held.item[item[i]].gone = true;
	}
	parcel_sweep(&s->held);
	if (kept)
		tell_keeping(s);
}

/* Of the backlog one record, if it is time. Those of a series keep their order: as long as there
 * are older ones of anything, new cumulative points go behind them. */
static void catch_up(struct sender *s)
{
	uint64_t now_ms = s->env.mono_ms(s->env.ctx), ready_ms = 0, sent_ms;
	int64_t oldest_ns = s->env.real_ns(s->env.ctx) - SENDER_KEEP_S * NS_PER_S;
	uint32_t at = 0;

	s->catch_ms = now_ms + CATCH_UP_MS;
	if (!s->oldest.count && spool_peek(s->spool, oldest_ns, &s->oldest))
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
	parcel_sweep(&s->oldest);
	if (s->oldest.count)
		return;
	parcel_clear(&s->oldest);
	spool_pop(s->spool);
	if (s->keeping && !has_backlog(s)) {
		s->keeping = false;
		log_info(
			"cloud-monitoring: all points that were kept are written, or were refused");
	}
}

/* ---- sending
 * ---------------------------------------------------------------------------------------------
 */

static void drop_aged(struct sender *s)
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
		parcel_sweep(&s->held);
}

/* Requests of what is held, none begun after until_ms; each ends by limit_ms. */
static void flush(struct sender *s, uint64_t until_ms, uint64_t limit_ms)
{
	uint64_t now_ms = s->env.mono_ms(s->env.ctx);
	uint32_t at = 0;
	bool more = true;

	drop_aged(s);
	if (now_ms < s->next_ms || now_ms >= until_ms || !s->held.count)
		return;
	if (!descriptors_make(s, limit_ms - now_ms < SENDER_DEADLINE_MS ? limit_ms - now_ms
									: SENDER_DEADLINE_MS))
		more = false;
	while (more && (now_ms = s->env.mono_ms(s->env.ctx)) < until_ms)
		more = sender_deliver(s, &s->held, &at,
				      limit_ms - now_ms < SENDER_DEADLINE_MS ? limit_ms - now_ms
									     : SENDER_DEADLINE_MS);
	parcel_sweep(&s->held);
}

/* Those that come too soon after the one before, once they are due. */
static void send_soon(struct sender *s, const struct series_set *set, bool *soon,
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
		sender_count(s, SENDER_DROP_frequent, count, "the end came first");
		return;
	}
	s->env.sleep_ms(s->env.ctx, wait_ms);
	sender_take(s, set, soon, true);
	if (has_backlog(s))
		keep(s);
	flush(s, deadline_ms, deadline_ms);
}

static void send_last(struct sender *s, const struct series_set *set, bool *soon,
		      uint64_t deadline_ms)
{
	/* There is no later; only what the service asked for is kept to. */
	if (!s->quota)
		s->next_ms = 0;
	flush(s, deadline_ms, deadline_ms);
	if (soon)
		send_soon(s, set, soon, deadline_ms);
	keep(s);
	sender_count(s, SENDER_DROP_closing, s->held.count, s->stats.trouble);
	parcel_clear(&s->held);
}

void sender_send(struct sender *s, const struct series_set *set, int64_t now_real_ns,
		 uint64_t deadline_ms, bool last)
{
	bool *soon = last && set->count ? calloc(set->count, sizeof(*soon)) : NULL;

	s->halves = HALVES_MAX;
	s->half_taken = false;
	(void)now_real_ns; /* each point has its end */
	sender_count(s, SENDER_DROP_unkept, set->unkept, "");
	tracks_prune(s->tracks, s->env.mono_ms(s->env.ctx));
	descriptors_want(s, set);
	s->behind = !last && has_backlog(s);
	sender_take(s, set, soon, false);
	if (has_backlog(s))
		keep(s);
	if (last)
		send_last(s, set, soon, deadline_ms);
	else
		flush(s, deadline_ms, deadline_ms);
	if (s->fails)
		keep(s);
	s->sent = true;
	if (tracks_moved(s->tracks))
		tracks_keep(s);
	count_spool(s);
	free(soon);
}

bool sender_wait(struct sender *s, uint64_t until_ms)
{
	uint64_t now_ms, due_ms;

	while (s->held.count || has_backlog(s)) {
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
			flush(s, until_ms, now_ms + SENDER_DEADLINE_MS);
		else
			catch_up(s);
		if (s->fails)
			keep(s);
		count_spool(s);
	}
	return false;
}

void sender_stats(const struct sender *s, struct sender_stats *ret)
{
	*ret = s->stats;
}
