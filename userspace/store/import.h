/* SPDX-License-Identifier: Apache-2.0 */
/* import.h - imports a log of the instrumented library as a separate job, marked as imported,
 * beside any observed job: minutes, runs, disruptions, checkpoints. Its sums equal those of `gp-bpf
 * account` to the nanosecond. A bucket that lasts IMPORT_COARSE_NS or longer becomes one row for
 * its whole minutes, so a log has at most three rows for each piece of its history. A job is
 * identified by its name and its start. Importing its log again, or a longer one with all its runs,
 * replaces the stored rows; the job's number and marks stay. A shorter log, which is a beginning of
 * the stored one, changes nothing. */
#ifndef STORE_IMPORT_H
#define STORE_IMPORT_H

#include "userspace/ingest/goodput_names.h"
#include "userspace/account/log/answer.h"
#include "userspace/store/store.h"

#define IMPORT_COARSE_NS (10 * STORE_MINUTE_NS)

struct store_import {
	const char *command; /* command line of gp-bpf, stored to show where the job came from */
	/* result of reading the log with closed semantics (account/closed), with its history */
	const struct goodput_answer *answer;
	const struct goodput_names *names; /* names in the log */
	int64_t now_ns;			   /* UTC */
};

enum store_imported {
	STORE_IMPORT_NEW,
	STORE_IMPORT_REPLACED, /* a shorter log of the same job was replaced */
	/* the store already has this log, or a longer one; nothing was changed */
	STORE_IMPORT_KNOWN,
};

/* Imports a log in one transaction. *ret_job: number of the job. Returns 0 or -errno; -ENODATA: the
 * log covers no time; -EEXIST: the store has a log of the same name that overlaps this one, and
 * neither contains the other. */
int store_import(struct store *st, const struct store_import *in, enum store_imported *ret,
		 int64_t *ret_job);

#endif
