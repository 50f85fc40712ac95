/* SPDX-License-Identifier: Apache-2.0 */
/* store_private.h - use of SQLite by the files of store/. */
#ifndef STORE_STORE_PRIVATE_H
#define STORE_STORE_PRIVATE_H

#include <sqlite3.h>

#include "userspace/base/buffer.h"
#include "userspace/store/query.h"
#include "userspace/store/sketch.h"
#include "userspace/store/store.h"
#include "userspace/store/sums.h"

#define STORE_STATEMENTS 192

struct store {
	sqlite3 *sql;
	char path[PATH_MAX];
	bool memory;
	const _Atomic uint64_t *until_ns; /* when to stop waiting for a locked file; NULL: unset */
	uint64_t busy_ns;		  /* since when the file is locked */
	uint64_t dev, ino;
	struct sum_names names;
	struct {
		const char *text; /* compared by its address: a literal */
		sqlite3_stmt *stmt;
	} cache[STORE_STATEMENTS];
	uint32_t cached;
	struct buffer ledger, sketch; /* of the row that is being written */
	uint64_t unreadable;	      /* damaged ledgers and sketches */
	uint64_t overfull;	      /* minutes with unexplained extra time */
};

int store_error(int rc); /* Converts an SQLite code to -errno. */

/* Prepares a statement with its parameters bound by types: i int64_t, I int64_t with INT64_MIN as
 * NULL, r double with NAN as NULL, t text, s struct sums *, k struct sketch *. text is a literal;
 * the statement is cached. NULL: see *ret_err. */
sqlite3_stmt *store_ask(struct store *st, int *ret_err, const char *text, const char *types, ...);
/* Advances a statement of store_ask() (or NULL) to its next row: for loops. Returns false after the
 * last row, and if *err is or becomes -errno; then the statement is released. */
bool store_next(sqlite3_stmt *stmt, int *err);
/* Like store_ask(), and reads the first row. NULL with -ENOENT: there is no row. */
sqlite3_stmt *store_find(struct store *st, int *ret_err, const char *text, const char *types, ...);
void store_done(sqlite3_stmt *stmt); /* releases a statement before its last row */
/* Runs a statement without result rows. */
int store_run(struct store *st, const char *text, const char *types, ...);
/* Runs n statements until one fails. All get the same parameters, all int64_t; a statement that
 * uses fewer of them refers to them by number (?2). */
int store_run_all(struct store *st, const char *const *texts, size_t n, const int64_t *ids);
#define STORE_RUN_ALL(st, texts, ...)                                                              \
	store_run_all(st, texts, sizeof(texts) / sizeof(*(texts)), (const int64_t[]){__VA_ARGS__})
int store_exec(struct store *st, const char *text);
/* Ends a transaction: commits if err is 0, otherwise rolls back. Returns err, or the error of the
 * commit, after which the transaction is rolled back, too. */
int store_commit(struct store *st, int err);
/* Reads the first column of the first row. -ENOENT: no row. */
int store_number(struct store *st, int64_t *ret, const char *text, const char *types, ...);

#define STORE_NULL INT64_MIN
int64_t store_int(sqlite3_stmt *stmt, int column); /* NULL gives STORE_NULL */
int64_t store_int_or(sqlite3_stmt *stmt, int column, int64_t null);
double store_real(sqlite3_stmt *stmt, int column); /* NULL gives NAN */
void store_text(sqlite3_stmt *stmt, int column, char *out, size_t len);
/* Reads sums. Returns 0; -errno: reading the file failed. An invalid value is logged once, counted,
 * and read as zero. */
int store_sums(struct store *st, sqlite3_stmt *stmt, int column, struct sums *ret);
int store_sketch(struct store *st, sqlite3_stmt *stmt, int column, struct sketch *ret);

struct store_cuts { /* exclusions, sorted and joined */
	struct store_span *span;
	uint32_t count;
};

/* Reads the exclusions that touch the span. The caller frees ret->span, also after an error. */
int store_cuts_load(struct store *st, const struct store_span *span, struct store_cuts *ret);
/* Returns the excluded time (ns) in [from, to). */
int64_t store_cuts_within(const struct store_cuts *a, int64_t from, int64_t to);

/* Returns true if the path is missing or names another file now. */
bool store_moved(const struct store *st);
/* Loads the names of buckets; write: adds those that are missing. */
int store_names_load(struct store *st, bool write);
/* Finds the slot of a bucket's name; adds the name if it is missing. BUCKET_CUSTOM: no slot is
 * left. Call outside of a transaction. */
int store_slot(struct store *st, const char *name, uint32_t *ret);
/* Makes slots those of a model's types (sums.h); each type has to be named by store_type(). Call
 * both outside of a transaction. */
int store_types(struct store *st);
int store_type(struct store *st, uint32_t type, const char *name);

#endif
