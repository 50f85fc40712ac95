/* SPDX-License-Identifier: Apache-2.0 */
/* Names of buckets, and their numbers in a store. */
#include <string.h>

#include "userspace/store/store_private.h"

static int names_write(struct store *st)
{
	int err = store_exec(st, "BEGIN IMMEDIATE");

	if (err)
		return err;
	for (int b = 0; !err && b < BUCKET_COUNT; b++)
		err = store_run(st, "INSERT OR IGNORE INTO names (name) VALUES (?)", "t",
				bucket_name[b]);
	err = err ? err : store_exec(st, "COMMIT");
	if (err)
		store_exec(st, "ROLLBACK");
	return err;
}

int store_names_load(struct store *st, bool write)
{
	char name[SUMS_NAME_MAX];
	sqlite3_stmt *stmt;
	int err, more;

	err = write ? names_write(st) : 0;
	if (err)
		return err;
	stmt = store_ask(st, &err, "SELECT id, name FROM names ORDER BY id", "");
	if (!stmt)
		return err;
	while ((more = store_row(stmt)) > 0) {
		store_text(stmt, 1, name, sizeof(name));
		sum_names_add(&st->names, name, sqlite3_column_int64(stmt, 0));
	}
	return more;
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
		/* As many as there are slots, whoever adds them. */
		err = store_run(
			st,
			"INSERT OR IGNORE INTO names (name) SELECT ?1 WHERE (SELECT count(*) FROM "
			"names) < ?2",
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
