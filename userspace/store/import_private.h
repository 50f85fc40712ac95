/* SPDX-License-Identifier: Apache-2.0 */
/* import_private.h - what import.c and import_minute.c share. */
#ifndef STORE_IMPORT_PRIVATE_H
#define STORE_IMPORT_PRIVATE_H

#include "userspace/ingest/goodput_record.h"
#include "userspace/store/import.h"
#include "userspace/store/query.h"
#include "userspace/store/store_private.h"

struct import {
	struct store *st;
	const struct store_import *in;
	const struct goodput_history *history;
	struct {
		uint32_t name, slot;
	} slots[LEDGER_TYPES + 1]; /* of custom events */
	uint32_t nslots;
	int64_t job, session;
};

/* Slots for all names of the history. Outside of a transaction. */
int import_names(struct import *im);
/* What lies in [from_ns, to_ns) */
void import_sums(const struct import *im, uint64_t from_ns, uint64_t to_ns, struct sums *ret);
/* Minutes of a rank from that, with n steps that are done by then; ret: what they add up to. */
int import_minutes(struct import *im, int64_t rank, uint64_t from_ns, uint64_t to_ns,
		   const struct goodput_done *done, size_t n, struct store_totals *ret);

#endif
