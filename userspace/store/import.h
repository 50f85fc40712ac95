/* SPDX-License-Identifier: Apache-2.0 */
/* import.h - what a log of the instrumented library tells of a job, as a job of its own in the
 * store: marked as told by a log, beside whatever was watched.
 *
 * Minutes, runs, disruptions, checkpoints; sums are those of the answer, to the nanosecond. Time of
 * one bucket over IMPORT_COARSE_NS and more is one row for its whole minutes, so a log has at most
 * three rows for each piece of its history, however long ago it is that it speaks of.
 *
 * A job is known by its name and by when it began. Its log again, or a longer one that has all its
 * runs, takes its place, the job's number and marks stay; a beginning of it changes nothing. */
#ifndef STORE_IMPORT_H
#define STORE_IMPORT_H

#include "userspace/ingest/goodput_names.h"
#include "userspace/account/log/answer.h"
#include "userspace/store/store.h"

#define IMPORT_COARSE_NS (10 * STORE_MINUTE_NS)

struct store_import {
	const char *command;		     /* that read it, for people */
	const struct goodput_answer *answer; /* closed semantics, with its history */
	const struct goodput_names *names;   /* the log's */
	int64_t now_ns;			     /* UTC */
};

enum store_imported {
	STORE_IMPORT_NEW,
	STORE_IMPORT_REPLACED, /* what was known of it */
	STORE_IMPORT_KNOWN,    /* more than that: nothing was changed */
};

/* One transaction. ret_job: its number there. 0 or -errno: -ENODATA the log tells of no time;
 * -EEXIST another log of that job, which overlaps this one, is in the store: it is neither a part
 * of this one, which has all its runs, nor does it begin with all of this one; only both together
 * tell what was, if they are of one job. */
int store_import(struct store *st, const struct store_import *in, enum store_imported *ret,
		 int64_t *ret_job);

#endif
