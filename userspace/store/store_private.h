/* SPDX-License-Identifier: Apache-2.0 */
/* store_private.h - helpers to use SQLite, for the files of store/ only. */
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
	/* time of clock_mono_ns() when to give up waiting for a locked file; NULL or 0: no such
	 * time */
	const _Atomic uint64_t *until_ns;
	/* since when the file has been locked by another process */
	uint64_t busy_ns;
	uint64_t dev, ino;
	struct sum_names names;
	struct {
		/* the statement's text is a literal, so its address identifies it */
		const char *text;
		sqlite3_stmt *stmt;
	} cache[STORE_STATEMENTS];
	uint32_t cached;
	struct buffer ledger, sketch; /* encoded values of the row that is being written */
	uint64_t unreadable;	      /* number of damaged ledgers and sketches that were read */
	/* number of minutes written with more time than they last, which is a bug */
	uint64_t overfull;
};

int store_error(int rc); /* Converts an SQLite code to -errno. */

/* Prepares a statement and binds its parameters. types has a letter for each: i int64_t, I int64_t
 * with INT64_MIN as NULL, r double with NAN as NULL, t text, s struct sums *, k struct sketch *.
 * text must be a literal, because the statement is cached by its address. Returns NULL on an error,
 * see *ret_err. */
sqlite3_stmt *store_ask(struct store *st, int *ret_err, const char *text, const char *types, ...);
/* For loops: advances a statement (of store_ask(), may be NULL) to its next row. Returns false
 * after the last row, or if *err is or becomes -errno; then the statement is released. */
bool store_next(sqlite3_stmt *stmt, int *err);
/* Prepares a statement as store_ask() does, and reads its first row. Returns NULL with *ret_err
 * -ENOENT if there is no row. */
sqlite3_stmt *store_find(struct store *st, int *ret_err, const char *text, const char *types, ...);
void store_done(sqlite3_stmt *stmt); /* releases a statement before its last row */
/* Runs a statement without result rows. */
int store_run(struct store *st, const char *text, const char *types, ...);
/* Runs n statements until one fails. All get the same int64_t parameters; a statement that uses
 * only some of them refers to them by number (?2). */
int store_run_all(struct store *st, const char *const *texts, size_t n, const int64_t *ids);
#define STORE_RUN_ALL(st, texts, ...)                                                              \
	store_run_all(st, texts, sizeof(texts) / sizeof(*(texts)), (const int64_t[]){__VA_ARGS__})
int store_exec(struct store *st, const char *text);
/* Ends a transaction: commits if err is 0, otherwise rolls back. Returns err, or the error of the
 * commit, after which the transaction is rolled back, too. */
int store_commit(struct store *st, int err);
/* Reads the first column of the first row. Returns -ENOENT if there is no row. */
int store_number(struct store *st, int64_t *ret, const char *text, const char *types, ...);

#define STORE_NULL INT64_MIN
int64_t store_int(sqlite3_stmt *stmt, int column); /* returns STORE_NULL for NULL */
int64_t store_int_or(sqlite3_stmt *stmt, int column, int64_t null);
double store_real(sqlite3_stmt *stmt, int column); /* NULL gives NAN */
void store_text(sqlite3_stmt *stmt, int column, char *out, size_t len);
/* Reads sums from a column. A damaged value is counted, the first one is logged, and it is read as
 * zero. Returns 0; -errno: the file could not be read. */
int store_sums(struct store *st, sqlite3_stmt *stmt, int column, struct sums *ret);
int store_sketch(struct store *st, sqlite3_stmt *stmt, int column, struct sketch *ret);

/* the exclusions within a span of time, in order; those that overlap are joined */
struct store_cuts {
	struct store_span *span;
	uint32_t count;
};

/* Reads the exclusions that touch the span. The caller frees ret->span, also after an error. */
int store_cuts_load(struct store *st, const struct store_span *span, struct store_cuts *ret);
/* Returns how much time (ns) in [from, to) is excluded. */
int64_t store_cuts_within(const struct store_cuts *a, int64_t from, int64_t to);

/* Returns true if the path now names another file than the open one, or none. */
bool store_moved(const struct store *st);
/* Loads the names of buckets from the store. write: adds those that it does not have. */
int store_names_load(struct store *st, bool write);
/* Finds the slot of a bucket by its name; adds the name to the store if it is missing. *ret is
 * BUCKET_CUSTOM if there is no free slot. Call outside of a transaction. */
int store_slot(struct store *st, const char *name, uint32_t *ret);
/* Reserves slots for a model's types of custom events (sums.h). Name each type with store_type()
 * before use. Call both outside of a transaction. */
int store_types(struct store *st);
int store_type(struct store *st, uint32_t type, const char *name);

#endif
