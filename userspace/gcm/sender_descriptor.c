/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of our own series: made once a process, so that units and descriptions are there; one
 * that is there already is the same one. Without them the service makes its own of the first point.
 */
#include <errno.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/gcm/sender_private.h"

#define TRIES	 5
#define AGAIN_MS 60000

void descriptors_want(struct sender *s, const struct series_set *set)
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

/* What the service said of one. */
static void descriptor_answer(struct sender *s, struct descriptor *d, const struct answer *a,
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
		"cloud-monitoring: %s%s: its descriptor could not be made, so its unit and description will "
		"be "
		"missing; others are not told of: %s",
		s->opt.prefix, d->row->name, a->why);
}

bool descriptors_make(struct sender *s, uint64_t timeout_ms)
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
			next = false; /* for the points it is counted, if there is time left for
					 them */
			sender_trouble(s, why);
			s->stats.up = false;
		} else {
			answer_read(&a, err, &reply, 1);
			descriptor_answer(s, d, &a, now_ms);
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
