/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/store/job_names.h"

#include <errno.h>
#include <sqlite3.h>
#include <stddef.h>
#include <sys/stat.h>

#include "userspace/store/schema.h"

#define BUSY_MS 100

static int job_names_application_id(sqlite3 *sql)
{
	sqlite3_stmt *stmt;
	int is = -1;

	if (sqlite3_prepare_v2(sql, "PRAGMA application_id", -1, &stmt, NULL))
		return -1;
	if (sqlite3_step(stmt) == SQLITE_ROW)
		is = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	return is;
}

static int job_names_read(sqlite3 *sql, job_name_fn *fn, void *ctx)
{
	sqlite3_stmt *stmt;
	int err;

	if (job_names_application_id(sql) != STORE_APPLICATION_ID)
		return -EMEDIUMTYPE;
	if (sqlite3_prepare_v2(
		    sql,
		    "SELECT CASE name WHEN '' THEN key ELSE name END FROM jobs ORDER BY id DESC LIMIT 256",
		    -1, &stmt, NULL))
		return -EPROTO;
	while ((err = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);

		if (name)
			fn(ctx, name);
	}
	sqlite3_finalize(stmt);
	return err == SQLITE_DONE ? 0 : -EIO;
}

int store_job_names(const char *path, job_name_fn *fn, void *ctx)
{
	struct stat is;
	sqlite3 *sql = NULL;
	int err;

	if (stat(path, &is))
		return -errno;
	if (!S_ISREG(is.st_mode))
		return -EMEDIUMTYPE;
	if (sqlite3_open_v2(path, &sql, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL)) {
		sqlite3_close(sql);
		return -EIO;
	}
	sqlite3_busy_timeout(sql, BUSY_MS);
	sqlite3_db_config(sql, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(sql, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	err = job_names_read(sql, fn, ctx);
	sqlite3_close(sql);
	return err;
}
