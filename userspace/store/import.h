/* SPDX-License-Identifier: Apache-2.0 */
/* import.h - imports a log of the instrumented library into the store, as a separate job that is
 * marked as imported: minutes, runs, disruptions, checkpoints. The sums equal those of `gp-bpf
 * account` to the nanosecond.
 *
 * A piece of the log's history that is as long as IMPORT_COARSE_NS becomes one row for its whole
 * minutes. So a log has at most three rows for each piece.
 *
 * A job is identified by its name and its start. If its log is imported again, or a longer log with
 * all its runs, the stored rows are replaced; the job's number and marks stay. Importing a shorter
 * log, which is a beginning of the stored one, changes nothing. */
#ifndef STORE_IMPORT_H
#define STORE_IMPORT_H

#include "userspace/ingest/goodput_names.h"
#include "userspace/account/log/answer.h"
#include "userspace/store/store.h"

#define IMPORT_COARSE_NS (10 * STORE_MINUTE_NS)

struct store_import {
	/* Command line of gp-bpf, stored to show how the job was imported. */
	const char *command;
	/* the log as read with closed semantics (account/closed), with its history */
	const struct goodput_answer *answer;
	const struct goodput_names *names; /* names in the log */
	int64_t now_ns;			   /* UTC */
};

enum store_imported {
	STORE_IMPORT_NEW,
	/* The log contains all of a stored log of the same job. The stored log was replaced. */
	STORE_IMPORT_REPLACED,
	/* The store already has this log or a longer one. Nothing was changed. */
	STORE_IMPORT_KNOWN,
};

/* Imports a log in one transaction. *ret_job: number of the job. Returns 0 or -errno; -ENODATA: the
 * log covers no time; -EEXIST: the store has a log of the same name that overlaps this one, and
 * neither contains the other. */
int store_import(struct store *st, const struct store_import *in, enum store_imported *ret,
		 int64_t *ret_job);

#endif
