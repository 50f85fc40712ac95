/* SPDX-License-Identifier: Apache-2.0 */
/* statement.c - prepares, caches and runs SQL statements, and reads the rows of their results. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/store/store_private.h"

#define TEXT_MAX 4096

int store_error(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_PERM:
	case SQLITE_AUTH:
	case SQLITE_CANTOPEN:
		return -EACCES;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_CONSTRAINT:
		return -EEXIST;
	case SQLITE_NOMEM:
		return -ENOMEM;
	/* SQLite's code for a wrong statement: a table or column is missing, or exists twice */
	case SQLITE_ERROR:
		return -EUCLEAN;
	default:
		return -EIO;
	}
}

static sqlite3_stmt *statement_get(struct store *st, const char *text, int *ret_rc)
{
	sqlite3_stmt *stmt = NULL;
	uint32_t i = 0;

	/* A cached statement whose rows are still being read cannot be used for a second query. */
	while (i < st->cached &&
	       (st->cache[i].text != text || sqlite3_stmt_busy(st->cache[i].stmt)))
		i++;
	if (i < st->cached)
		return st->cache[i].stmt;
	/* cannot happen: gp-bpf has fewer different statements than the cache has entries */
	if (st->cached == STORE_STATEMENTS) {
		*ret_rc = SQLITE_NOMEM;
		return NULL;
	}
	*ret_rc = sqlite3_prepare_v3(st->sql, text, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL);
	if (*ret_rc != SQLITE_OK) {
		log_debug("%s: %s", st->path, sqlite3_errmsg(st->sql));
		return NULL;
	}
	st->cache[st->cached].text = text;
	st->cache[st->cached++].stmt = stmt;
	return stmt;
}

static int statement_bind_buffer(sqlite3_stmt *stmt, int at, const struct buffer *b)
{
	if (b->failed)
		return SQLITE_NOMEM;
	return b->len ? sqlite3_bind_blob(stmt, at, b->data, (int)b->len, SQLITE_TRANSIENT)
		      : sqlite3_bind_zeroblob(stmt, at, 0);
}

static int statement_bind_one(struct store *st, sqlite3_stmt *stmt, int at, char type, va_list *ap)
{
	const char *text;
	int64_t number;
	double real;

	switch (type) {
	case 'i':
	case 'I':
		number = va_arg(*ap, int64_t);
		return type == 'I' && number == STORE_NULL ? sqlite3_bind_null(stmt, at)
							   : sqlite3_bind_int64(stmt, at, number);
	case 'r':
		real = va_arg(*ap, double);
		return isnan(real) ? sqlite3_bind_null(stmt, at)
				   : sqlite3_bind_double(stmt, at, real);
	case 't':
		text = va_arg(*ap, const char *);
		return sqlite3_bind_text(stmt, at, text, (int)strnlen(text, TEXT_MAX),
					 SQLITE_TRANSIENT);
	case 's':
		buffer_clear(&st->ledger);
		sums_write(va_arg(*ap, const struct sums *), &st->names, &st->ledger);
		return statement_bind_buffer(stmt, at, &st->ledger);
	default:
		buffer_clear(&st->sketch);
		sketch_write(va_arg(*ap, const struct sketch *), &st->sketch);
		return statement_bind_buffer(stmt, at, &st->sketch);
	}
}

static sqlite3_stmt *statement_ask(struct store *st, int *ret_err, const char *text,
				   const char *types, va_list *ap)
{
	int rc = SQLITE_OK;
	sqlite3_stmt *stmt = statement_get(st, text, &rc);

	for (int i = 0; stmt && rc == SQLITE_OK && types[i]; i++)
		rc = statement_bind_one(st, stmt, i + 1, types[i], ap);
	*ret_err = store_error(rc);
	return *ret_err ? NULL : stmt;
}

sqlite3_stmt *store_ask(struct store *st, int *ret_err, const char *text, const char *types, ...)
{
	sqlite3_stmt *stmt;
	va_list ap;

	va_start(ap, types);
	stmt = statement_ask(st, ret_err, text, types, &ap);
	va_end(ap);
	return stmt;
}

void store_done(sqlite3_stmt *stmt)
{
	sqlite3_reset(stmt);
	sqlite3_clear_bindings(stmt);
}

/* Advances a statement to the next row. Returns 1: there is a row; 0: no more rows, or -errno. In
 * the last two cases the statement is released. */
static int statement_row(sqlite3_stmt *stmt)
{
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_ROW)
		return 1;
	if (rc != SQLITE_DONE)
		log_debug("%s", sqlite3_errmsg(sqlite3_db_handle(stmt)));
	store_done(stmt);
	return store_error(rc);
}

bool store_next(sqlite3_stmt *stmt, int *err)
{
	int row = stmt && !*err ? statement_row(stmt) : 0;

	if (stmt && *err)
		store_done(stmt);
	if (row < 0)
		*err = row;
	return row > 0;
}

static sqlite3_stmt *statement_find(struct store *st, int *ret_err, const char *text,
				    const char *types, va_list *ap)
{
	sqlite3_stmt *stmt = statement_ask(st, ret_err, text, types, ap);

	if (store_next(stmt, ret_err))
		return stmt;
	*ret_err = *ret_err ? *ret_err : -ENOENT;
	return NULL;
}

sqlite3_stmt *store_find(struct store *st, int *ret_err, const char *text, const char *types, ...)
{
	sqlite3_stmt *stmt;
	va_list ap;

	va_start(ap, types);
	stmt = statement_find(st, ret_err, text, types, &ap);
	va_end(ap);
	return stmt;
}

int store_run(struct store *st, const char *text, const char *types, ...)
{
	sqlite3_stmt *stmt;
	va_list ap;
	int err;

	va_start(ap, types);
	stmt = statement_ask(st, &err, text, types, &ap);
	va_end(ap);
	return stmt ? statement_row(stmt) : err;
}

int store_run_all(struct store *st, const char *const *texts, size_t n, const int64_t *ids)
{
	int err = 0;

	for (size_t i = 0; !err && i < n; i++) {
		sqlite3_stmt *stmt = store_ask(st, &err, texts[i], "");

		for (int at = 1; stmt && at <= sqlite3_bind_parameter_count(stmt); at++)
			sqlite3_bind_int64(stmt, at, ids[at - 1]);
		err = stmt ? statement_row(stmt) : err;
	}
	return err;
}

int store_exec(struct store *st, const char *text)
{
	int rc = sqlite3_exec(st->sql, text, NULL, NULL, NULL);

	if (rc != SQLITE_OK)
		log_debug("%s: %s", st->path, sqlite3_errmsg(st->sql));
	return store_error(rc);
}

int store_commit(struct store *st, int err)
{
	err = err ? err : store_exec(st, "COMMIT");
	if (err && !sqlite3_get_autocommit(st->sql))
		store_exec(st, "ROLLBACK");
	return err;
}

int store_number(struct store *st, int64_t *ret, const char *text, const char *types, ...)
{
	sqlite3_stmt *stmt;
	va_list ap;
	int err;

	va_start(ap, types);
	stmt = statement_find(st, &err, text, types, &ap);
	va_end(ap);
	if (!stmt)
		return err;
	*ret = sqlite3_column_int64(stmt, 0);
	store_done(stmt);
	return 0;
}

int64_t store_int_or(sqlite3_stmt *stmt, int column, int64_t null)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL
		       ? null
		       : sqlite3_column_int64(stmt, column);
}

int64_t store_int(sqlite3_stmt *stmt, int column)
{
	return store_int_or(stmt, column, STORE_NULL);
}

double store_real(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL
		       ? NAN
		       : sqlite3_column_double(stmt, column);
}

void store_text(sqlite3_stmt *stmt, int column, char *out, size_t len)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	/* Escape the text: the file may come from an attacker, and the text is shown to users. */
	log_escape(out, len, text ? text : "",
		   text ? (size_t)sqlite3_column_bytes(stmt, column) : 0);
}

/* ---- names of buckets, and their numbers in a store ------------------------------------------ */

static int statement_names_write(struct store *st)
{
	int err = store_exec(st, "BEGIN IMMEDIATE");

	if (err)
		return err;
	for (int b = 0; !err && b < BUCKET_COUNT; b++)
		err = store_run(st, "INSERT OR IGNORE INTO names (name) VALUES (?)", "t",
				bucket_name[b]);
	return store_commit(st, err);
}

int store_names_load(struct store *st, bool write)
{
	char name[SUMS_NAME_MAX];
	sqlite3_stmt *stmt;
	int err = write ? statement_names_write(st) : 0;

	if (err)
		return err;
	stmt = store_ask(st, &err, "SELECT id, name FROM names ORDER BY id", "");
	while (store_next(stmt, &err)) {
		store_text(stmt, 1, name, sizeof(name));
		sum_names_add(&st->names, name, sqlite3_column_int64(stmt, 0));
	}
	return err;
}

int store_slot(struct store *st, const char *name, uint32_t *ret)
{
	int err = 0;

	for (int attempt = 0; !err && attempt < 2; attempt++) {
		for (uint32_t i = 0; i < st->names.count; i++) {
			if (!st->names.id[i] || strcmp(st->names.name[i], name) != 0)
				continue;
			*ret = i;
			return 0;
		}
		if (attempt)
			break;
		/* The statement itself checks the limit, which therefore also holds if other
		 * processes add names. */
		err = store_run(
			st,
			"INSERT OR IGNORE INTO names (name) SELECT ?1 WHERE (SELECT count(*) FROM names) < ?2",
			"ti", name, (int64_t)SUMS_NAMES_MAX);
		err = err ? err : store_names_load(st, false);
	}
	*ret = BUCKET_CUSTOM;
	return err;
}

int store_types(struct store *st)
{
	sum_names_init(&st->names);
	sum_names_reserve(&st->names);
	return store_names_load(st, false);
}

int store_type(struct store *st, uint32_t type, const char *name)
{
	char full[SUMS_NAME_MAX];
	uint32_t slot;

	sum_names_type(&st->names, type, name);
	sum_name_of_type(full, name);
	return store_slot(st, full, &slot);
}

/* ---- sums and step times of a row, read from its blobs --------------------------------------- */

/* Counts a damaged value, and logs the first one. Returns 0, so that reading continues. */
static int statement_unreadable(struct store *st, const char *what)
{
	if (!st->unreadable++)
		log_warn(
			"store %s: the %s of a row are damaged, or were written by a newer gp-bpf; they count as 0",
			st->path, what);
	return 0;
}

uint64_t store_unreadable(const struct store *st)
{
	return st->unreadable;
}

int store_sums(struct store *st, sqlite3_stmt *stmt, int column, struct sums *ret)
{
	const void *data = sqlite3_column_blob(stmt, column);
	size_t len = (size_t)sqlite3_column_bytes(stmt, column);
	int err = sums_read(ret, &st->names, data, len);

	/* Another process may have added names after this one opened the store: load them. */
	if (err == -ENOENT) {
		err = store_names_load(st, false);
		if (err)
			return err;
		err = sums_read(ret, &st->names, data, len);
	}
	if (!err)
		return 0;
	memset(ret, 0, sizeof(*ret));
	return statement_unreadable(st, "sums");
}

int store_sketch(struct store *st, sqlite3_stmt *stmt, int column, struct sketch *ret)
{
	const void *data = sqlite3_column_blob(stmt, column);
	int err = sketch_read(ret, data, (size_t)sqlite3_column_bytes(stmt, column));

	if (!err)
		return 0;
	memset(ret, 0, sizeof(*ret));
	return statement_unreadable(st, "step times");
}
