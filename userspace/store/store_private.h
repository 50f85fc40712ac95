/* SPDX-License-Identifier: Apache-2.0 */
/* store_private.h - struct store, and functions that use SQLite, for the files of store/ only. */
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
	/* time of clock_mono_ns() after which waiting for a locked file ends; NULL or 0: the
	 * default limit */
	const _Atomic uint64_t *until_ns;
	/* when waiting for a file locked by another process began */
	uint64_t busy_ns;
	uint64_t dev, ino;
	struct sum_names names;
	struct {
		/* text: a literal of the code, so that its address identifies the statement */
		const char *text;
		sqlite3_stmt *stmt;
	} cache[STORE_STATEMENTS];
	uint32_t cached;
	/* Buffers for encoded values of the row that is being written. */
	struct buffer ledger, sketch;
	uint64_t unreadable; /* number of damaged ledgers and sketches that were read */
	/* Number of minutes written whose buckets add up to more time than the minute had. This is
	 * a bug. */
	uint64_t overfull;
};

int store_error(int rc); /* Converts an SQLite result code to -errno. */

/* Prepares a statement and binds its parameters. types has a letter for each parameter: i int64_t,
 * I int64_t with INT64_MIN as NULL, r double with NAN as NULL, t text, s struct sums *, k struct
 * sketch *. text must be a literal, because the statement is cached by the address of its text.
 * Returns NULL on an error, with *ret_err set. */
sqlite3_stmt *store_ask(struct store *st, int *ret_err, const char *text, const char *types, ...);
/* For loops: advances a statement (of store_ask(), may be NULL) to its next row. Returns false
 * after the last row, or if *err is -errno or becomes it; the statement is released then. */
bool store_next(sqlite3_stmt *stmt, int *err);
/* Like store_ask(), but also reads the first row. Returns NULL with *ret_err -ENOENT if there is no
 * row. */
sqlite3_stmt *store_find(struct store *st, int *ret_err, const char *text, const char *types, ...);
void store_done(sqlite3_stmt *stmt); /* releases a statement whose rows were not all read */
/* Runs a statement without result rows. */
int store_run(struct store *st, const char *text, const char *types, ...);
/* Runs n statements until one fails. All get the same int64_t parameters; a statement that uses
 * only some of them refers to them by number (?2). */
int store_run_all(struct store *st, const char *const *texts, size_t n, const int64_t *ids);
#define STORE_RUN_ALL(st, texts, ...)                                                              \
	store_run_all(st, texts, sizeof(texts) / sizeof(*(texts)), (const int64_t[]){__VA_ARGS__})
int store_exec(struct store *st, const char *text);
/* Ends a transaction: commits if err is 0, otherwise rolls back. Returns err, or the error of the
 * commit. A transaction whose commit fails is rolled back, too. */
int store_commit(struct store *st, int err);
/* Reads the first column of the first row of a query. Returns 0, -ENOENT if there is no row, or
 * -errno. */
int store_number(struct store *st, int64_t *ret, const char *text, const char *types, ...);

#define STORE_NULL INT64_MIN
int64_t store_int(sqlite3_stmt *stmt, int column); /* returns STORE_NULL for NULL */
int64_t store_int_or(sqlite3_stmt *stmt, int column, int64_t null);
double store_real(sqlite3_stmt *stmt, int column); /* NULL gives NAN */
void store_text(sqlite3_stmt *stmt, int column, char *out, size_t len);
/* Reads sums or a sketch from a column. A damaged value is read as zero and counted; the first one
 * is logged. Returns 0, or -errno if the file could not be read. */
int store_sums(struct store *st, sqlite3_stmt *stmt, int column, struct sums *ret);
int store_sketch(struct store *st, sqlite3_stmt *stmt, int column, struct sketch *ret);

/* the exclusions within a span of time, ordered by time; overlapping ones are joined */
struct store_cuts {
	struct store_span *span;
	uint32_t count;
};

/* Reads the exclusions that touch the span. The caller frees ret->span, also after an error. */
int store_cuts_load(struct store *st, const struct store_span *span, struct store_cuts *ret);
/* Returns how much time (ns) in [from, to) is excluded. */
int64_t store_cuts_within(const struct store_cuts *a, int64_t from, int64_t to);

/* Returns true if the path does not name the open file any more: it names another file or none. */
bool store_moved(const struct store *st);
/* Loads the names of buckets from the store. write: adds missing names of buckets to the store. */
int store_names_load(struct store *st, bool write);
/* Finds the slot of struct sums for a bucket by its name; adds the name to the store if it is
 * missing. *ret is BUCKET_CUSTOM if there is no free slot. Call outside of a transaction. */
int store_slot(struct store *st, const char *name, uint32_t *ret);
/* Reserves slots of struct sums for the types of custom events of a model (sums.h). Call
 * store_type() for each type before its slot is used. Call both outside of a transaction. */
int store_types(struct store *st);
int store_type(struct store *st, uint32_t type, const char *name);

#endif
