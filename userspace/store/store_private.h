/* SPDX-License-Identifier: Apache-2.0 */
/* store_private.h - SQLite as the files of store/ use it. */
#ifndef STORE_STORE_PRIVATE_H
#define STORE_STORE_PRIVATE_H

#include <sqlite3.h>

#include "userspace/base/buffer.h"
#include "userspace/store/sketch.h"
#include "userspace/store/store.h"
#include "userspace/store/sums.h"

#define STORE_STATEMENTS 128

struct store {
	sqlite3 *sql;
	char path[PATH_MAX];
	bool memory;
	const _Atomic uint64_t *until_ns; /* NULL: none */
	uint64_t busy_ns;		  /* since the file is locked */
	uint64_t dev, ino;
	struct sum_names names;
	struct {
		const char *text; /* compared by its address: a literal */
		sqlite3_stmt *stmt;
	} cache[STORE_STATEMENTS];
	uint32_t cached;
	struct buffer ledger, sketch; /* of a row that is being written */
	uint64_t unreadable;	      /* ledgers and sketches that were none */
	uint64_t overfull; /* minutes that held more than they lasted, and nothing says why */
};

int store_error(int rc); /* of SQLite to -errno */

/* A statement, ready to be stepped, its parameters bound by types: i int64_t, I int64_t where
 * INT64_MIN is NULL, r double where NAN is NULL, t text, s struct sums *, k struct sketch *. text
 * is a literal: kept for the next time. NULL: *ret_err. */
sqlite3_stmt *store_ask(struct store *st, int *ret_err, const char *text, const char *types, ...);
/* 1: a row; 0: no more, -errno; both give the statement back. */
int store_row(sqlite3_stmt *stmt);
void store_done(sqlite3_stmt *stmt); /* of a statement that is left early */
/* Runs one that gives no row. */
int store_run(struct store *st, const char *text, const char *types, ...);
int store_exec(struct store *st, const char *text);
/* The first column of the first row. -ENOENT: no row. */
int store_number(struct store *st, int64_t *ret, const char *text, const char *types, ...);

#define STORE_NULL INT64_MIN
int64_t store_int(sqlite3_stmt *stmt, int column); /* NULL is STORE_NULL */
int64_t store_int_or(sqlite3_stmt *stmt, int column, int64_t null);
double store_real(sqlite3_stmt *stmt, int column); /* NULL is NAN */
void store_text(sqlite3_stmt *stmt, int column, char *out, size_t len);
/* An invalid value is logged once and counted, and read as nothing: returns 0. -errno: the file
 * failed. */
int store_sums(struct store *st, sqlite3_stmt *stmt, int column, struct sums *ret);
int store_sketch(struct store *st, sqlite3_stmt *stmt, int column, struct sketch *ret);

/* The file at its path is another one now, or none. */
bool store_moved(const struct store *st);
/* Numbers of the names of buckets; write: those that it lacks are added. */
int store_names_load(struct store *st, bool write);
/* The slot of a bucket's name, which is added where it is not there yet; BUCKET_CUSTOM: there is no
 * room for one more. Outside of a transaction. */
int store_slot(struct store *st, const char *name, uint32_t *ret);
/* Slots are those of a model's types from here on (sums.h); each is told once. Likewise. */
int store_types(struct store *st);
int store_type(struct store *st, uint32_t type, const char *name);

#endif
