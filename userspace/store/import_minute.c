/* SPDX-License-Identifier: Apache-2.0 */
/* A history cut into minutes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/store/import_private.h"
#include "userspace/store/intake.h"
#include "userspace/store/write.h"

#define MINUTE_NS (uint64_t) STORE_MINUTE_NS

struct minuting {
	struct import *im;
	int64_t rank;
	const struct goodput_done *done;
	size_t left;
	struct intake_minute m;
	bool open;
	struct store_totals *sum;
	int err;
};

/* ---- names
 * ------------------------------------------------------------------------------------------- */

static uint32_t slot_of(const struct import *im, const struct goodput_piece *p)
{
	if (p->bucket != BUCKET_CUSTOM)
		return p->bucket;
	for (uint32_t i = 0; i < im->nslots; i++)
		if (im->slots[i].name == p->name)
			return im->slots[i].slot;
	return BUCKET_CUSTOM;
}

int import_names(struct import *im)
{
	const struct goodput_history *h = im->history;
	char type[LEDGER_TYPE_MAX], name[SUMS_NAME_MAX];
	int err = 0;

	for (size_t i = 0; !err && i < h->npieces && im->nslots < LEDGER_TYPES; i++) {
		const struct goodput_piece *p = &h->pieces[i];
		const char *text;
		uint32_t slot;

		if (p->bucket != BUCKET_CUSTOM || p->name == LEDGER_REST ||
		    slot_of(im, p) != BUCKET_CUSTOM)
			continue;
		text = goodput_name(im->in->names, p->name);
		log_escape(type, sizeof(type), text, strlen(text));
		sum_name_of_type(name, type);
		err = store_slot(im->st, name, &slot);
		im->slots[im->nslots].name = p->name;
		im->slots[im->nslots++].slot = slot;
	}
	return err;
}

/* ---- pieces
 * ------------------------------------------------------------------------------------------ */

static bool piece_clip(const struct goodput_piece *p, uint64_t *from_ns, uint64_t *to_ns)
{
	*from_ns = p->from_ns > *from_ns ? p->from_ns : *from_ns;
	*to_ns = p->to_ns < *to_ns ? p->to_ns : *to_ns;
	return *from_ns < *to_ns;
}

void import_sums(const struct import *im, uint64_t from_ns, uint64_t to_ns, struct sums *ret)
{
	const struct goodput_history *h = im->history;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = goodput_piece_at(h->pieces, h->npieces, from_ns); i < h->npieces; i++) {
		uint64_t a_ns = from_ns, b_ns = to_ns;

		if (!piece_clip(&h->pieces[i], &a_ns, &b_ns))
			break;
		ret->ns[slot_of(im, &h->pieces[i])] += (int64_t)(b_ns - a_ns);
	}
}

/* ---- minutes
 * ----------------------------------------------------------------------------------------- */

static void minute_end(struct minuting *mi)
{
	if (!mi->open || mi->err)
		return;
	mi->err = write_minute(mi->im->st, mi->rank, &mi->m);
	sums_add(&mi->sum->sums, &mi->m.sums);
	mi->sum->steps += mi->m.steps;
	sketch_merge(&mi->sum->times, &mi->m.times);
	mi->open = false;
}

static void minute_of(struct minuting *mi, uint64_t at_ns)
{
	int64_t minute = (int64_t)(at_ns / MINUTE_NS);

	if (mi->open && mi->m.minute == minute)
		return;
	minute_end(mi);
	memset(&mi->m, 0, sizeof(mi->m));
	mi->m.minute = minute;
	mi->m.until_ns = (int64_t)at_ns;
	mi->open = true;
}

static void steps_until(struct minuting *mi, uint64_t to_ns)
{
	for (; mi->left && (mi->done->end_us <= 0 || (uint64_t)mi->done->end_us * 1000 <= to_ns);
	     mi->done++, mi->left--) {
		mi->m.steps += mi->done->count;
		if (mi->done->each_us != GOODPUT_UNKNOWN)
			sketch_add(&mi->m.times,
				   mi->done->each_us > 0 ? (uint64_t)mi->done->each_us * 1000 : 0);
	}
}

static void piece_add(struct minuting *mi, uint32_t slot, uint64_t from_ns, uint64_t to_ns)
{
	while (from_ns < to_ns && !mi->err) {
		uint64_t end_ns = (from_ns / MINUTE_NS + 1) * MINUTE_NS;
		bool coarse = !(from_ns % MINUTE_NS) && to_ns - from_ns >= IMPORT_COARSE_NS;

		if (coarse)
			end_ns = to_ns - to_ns % MINUTE_NS;
		end_ns = end_ns < to_ns ? end_ns : to_ns;
		minute_of(mi, from_ns);
		mi->m.sums.ns[slot] += (int64_t)(end_ns - from_ns);
		mi->m.until_ns = (int64_t)end_ns;
		steps_until(mi, end_ns);
		if (coarse)
			minute_end(mi);
		from_ns = end_ns;
	}
}

int import_minutes(struct import *im, int64_t rank, uint64_t from_ns, uint64_t to_ns,
		   const struct goodput_done *done, size_t n, struct store_totals *ret)
{
	struct minuting mi = {.im = im, .rank = rank, .done = done, .left = n, .sum = ret};
	const struct goodput_history *h = im->history;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = goodput_piece_at(h->pieces, h->npieces, from_ns); i < h->npieces && !mi.err;
	     i++) {
		uint64_t a_ns = from_ns, b_ns = to_ns;

		if (!piece_clip(&h->pieces[i], &a_ns, &b_ns))
			break;
		piece_add(&mi, slot_of(im, &h->pieces[i]), a_ns, b_ns);
	}
	if (mi.left && !mi.open) /* of a run whose clock is behind that of the one before it */
		minute_of(&mi, to_ns);
	steps_until(&mi, UINT64_MAX);
	minute_end(&mi);
	return mi.err;
}
