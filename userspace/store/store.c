/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/path.h"
#include "userspace/store/schema.h"
#include "userspace/store/store_private.h"

#define BUSY_NS	     2000000000ull
#define BUSY_TURN_MS 5
#define DAMAGED_MAX  1000
#define ROOT_DIR     "/var/lib/gp-bpf"

const char *store_why(int err)
{
	switch (err) {
	case -EBADMSG:
		return "damaged";
	case -EPROTO:
		return "written by a newer gp-bpf";
	case -EMEDIUMTYPE:
		return "not a store of gp-bpf; name another file";
	case -EUCLEAN:
		return "its tables do not match its version (user_version): created incompletely, or changed by another program; move the file away to start a new store";
	case -EBUSY:
		return "locked by another process (fuser -v FILE shows which)";
	default:
		return path_why(err);
	}
}

const char *store_path(const struct store *st)
{
	return st->path;
}

int store_default_path(char out[PATH_MAX], const char *state_dir)
{
	const char *base = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int n;

	if (state_dir || geteuid() == 0)
		n = snprintf(out, PATH_MAX, "%s/" STORE_FILE, state_dir ? state_dir : ROOT_DIR);
	else if (base && *base == '/')
		n = snprintf(out, PATH_MAX, "%s/gp-bpf/" STORE_FILE, base);
	else if (home && *home == '/')
		n = snprintf(out, PATH_MAX, "%s/.local/state/gp-bpf/" STORE_FILE, home);
	else
		return -ENOENT;
	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int store_make_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	int fd;

	if (!slash || slash == path)
		return 0;
	if (snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = path_folder(folder, 0700, NULL);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Returns true if the file is a store of gp-bpf, or empty. Only such a file may be renamed when it
 * is damaged; any other file must not be changed, as the user may have named it by mistake. */
static bool store_is_ours(int fd, const char *path)
{
	static const char magic[16] = "SQLite format 3";
	const char *slash = strrchr(path, '/');
	char head[sizeof(magic)];
	ssize_t n = pread(fd, head, sizeof(head), 0);

	return !n || (n == sizeof(head) && !memcmp(head, magic, sizeof(magic))) ||
	       !strcmp(slash ? slash + 1 : path, STORE_FILE);
}

/* Opens the file; creates it if missing, with access for this user only. Does not follow a symbolic
 * link, which another user may have made. Sets st->dev and st->ino. */
static int store_file_make(struct store *st, enum store_mode mode)
{
	static const int how[] = {
		[STORE_READ] = O_RDONLY, [STORE_NOTE] = O_RDWR, [STORE_WRITE] = O_RDWR | O_CREAT};
	int fd = path_open(st->path, how[mode] | O_NOFOLLOW, 0600), err = fd < 0 ? fd : 0;
	struct stat is;

	if (!err && fstat(fd, &is))
		err = -errno;
	else if (!err && (!S_ISREG(is.st_mode) || !store_is_ours(fd, st->path)))
		err = -EMEDIUMTYPE;
	st->dev = err ? 0 : is.st_dev;
	st->ino = err ? 0 : is.st_ino;
	if (fd >= 0)
		close(fd);
	return err;
}

bool store_moved(const struct store *st)
{
	struct stat is;

	return !st->memory && (stat(st->path, &is) || is.st_dev != st->dev || is.st_ino != st->ino);
}

/* Called by SQLite while another process locks the file. Waits for a moment; returns 1 to try
 * again, 0 to give up. */
static int store_busy(void *ctx, int tries)
{
	struct store *st = ctx;
	uint64_t now_ns = clock_mono_ns(), until_ns = st->until_ns ? *st->until_ns : 0;

	if (!tries)
		st->busy_ns = now_ns;
	if (now_ns - st->busy_ns >= BUSY_NS || (until_ns && now_ns >= until_ns))
		return 0;
	poll(NULL, 0, BUSY_TURN_MS);
	return 1;
}

/* Opens the file in SQLite, which opens by name and must not follow links. So the name is resolved
 * first, and must still be that of the file that was checked. Only the kernel can resolve names in
 * /proc (/proc/PID/root), so they are used unchanged. */
static int store_sql_open(struct store *st, int flags)
{
	char name[PATH_MAX];
	struct stat is;

	if (st->memory || !strncmp(st->path, "/proc/", 6))
		return store_error(sqlite3_open_v2(st->path, &st->sql, flags, NULL));
	if (!realpath(st->path, name) || stat(name, &is))
		return -errno;
	if (is.st_dev != st->dev || is.st_ino != st->ino)
		return -ELOOP;
	return store_error(sqlite3_open_v2(name, &st->sql, flags | SQLITE_OPEN_NOFOLLOW, NULL));
}

static int store_connect_file(struct store *st, enum store_mode mode)
{
	int flags = SQLITE_OPEN_NOMUTEX |
		    (mode == STORE_READ ? SQLITE_OPEN_READONLY
					: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
	int err = st->memory ? 0 : store_file_make(st, mode);

	if (err)
		return err;
	err = store_sql_open(st, flags);
	if (err)
		return err;
	sqlite3_extended_result_codes(st->sql, 1);
	sqlite3_busy_handler(st->sql, store_busy, st);
	/* The file may come from an attacker: do not run triggers in it, and do not trust its
	 * tables. */
	sqlite3_db_config(st->sql, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(st->sql, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(st->sql, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	return store_exec(st, "PRAGMA cell_size_check = ON");
}

static int store_settle(struct store *st)
{
	static const char *const settings[] = {
		"PRAGMA auto_vacuum = INCREMENTAL", /* has an effect only on a new file */
		"PRAGMA journal_mode = WAL",
		/* If gp-bpf is killed, nothing is lost; after a power failure, the last seconds
		 * are. */
		"PRAGMA synchronous = NORMAL",
		"PRAGMA journal_size_limit = 8388608",
	};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(settings) / sizeof(settings[0]); i++)
		err = store_exec(st, settings[i]);
	return err;
}

/* Returns the version of the tables. -EMEDIUMTYPE: the file belongs to another program; -EPROTO:
 * written by a newer gp-bpf; -EUCLEAN: there are tables, but no version. */
static int store_version_of(struct store *st)
{
	int64_t application, version, tables;
	int err = store_number(st, &application, "PRAGMA application_id", "");

	err = err ? err : store_number(st, &version, "PRAGMA user_version", "");
	err = err ? err : store_number(st, &tables, "SELECT count(*) FROM sqlite_schema", "");
	if (err)
		return err;
	if (application != STORE_APPLICATION_ID && (application || version || tables))
		return -EMEDIUMTYPE;
	if (version > STORE_VERSION)
		return -EPROTO;
	if (!version && tables)
		return -EUCLEAN;
	return version < 0 ? -EMEDIUMTYPE : (int)version;
}

/* Migrates to the current version. Each migration and its version number are written in one
 * transaction, so that only one of two processes that start at once migrates. */
static int store_migrate(struct store *st)
{
	char end[96];
	int version = store_version_of(st), err = version < 0 ? version : 0;

	while (!err && version < STORE_VERSION) {
		err = store_exec(st, "BEGIN IMMEDIATE");
		if (err)
			break;
		version = store_version_of(st);
		err = version < 0 ? version : 0;
		if (!err && version < STORE_VERSION) {
			err = store_exec(st, store_steps[version]);
			snprintf(end, sizeof(end),
				 "PRAGMA application_id = %d; PRAGMA user_version = %d",
				 STORE_APPLICATION_ID, ++version);
			err = err ? err : store_exec(st, end);
		}
		err = store_commit(st, err);
	}
	return err;
}

static int store_quick_check(struct store *st)
{
	sqlite3_stmt *stmt;
	char said[32];
	int err;

	stmt = store_find(st, &err, "PRAGMA quick_check(1)", "");
	if (!stmt)
		return err == -ENOENT ? -EBADMSG : err;
	store_text(stmt, 0, said, sizeof(said));
	store_done(stmt);
	return strcmp(said, "ok") != 0 ? -EBADMSG : 0;
}

static int store_begin_writing(struct store *st)
{
	int err = store_version_of(st);

	err = err < 0 ? err : store_settle(st);
	err = err ? err : store_quick_check(st);
	err = err ? err : store_migrate(st);
	return err ? err : store_names_load(st, true);
}

static int store_begin_reading(struct store *st)
{
	int version = store_version_of(st), err = version < 0 ? version : 0;
	struct store *writer;

	if (!err && version < STORE_VERSION) {
		err = store_open(&writer, st->path, STORE_WRITE);
		if (!err)
			store_close(writer);
	}
	return err ? err : store_names_load(st, false);
}

void store_hand_over(struct store *st)
{
	sqlite3_db_config(st->sql, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

static void store_disconnect(struct store *st)
{
	while (st->cached)
		sqlite3_finalize(st->cache[--st->cached].stmt);
	sqlite3_close(st->sql);
	st->sql = NULL;
}

/* ---- damage ---------------------------------------------------------------------------------- */

static int store_rename_damaged(const char *path, const char *end, unsigned n)
{
	char from[PATH_MAX + 8], to[PATH_MAX + 32];

	snprintf(from, sizeof(from), "%s%s", path, end);
	snprintf(to, sizeof(to), "%s.damaged-%u%s", path, n, end);
	return rename(from, to) ? -errno : 0;
}

static int store_set_aside(const struct store *st)
{
	char name[PATH_MAX + 32];
	unsigned n = 1;
	int err;

	do
		snprintf(name, sizeof(name), "%s.damaged-%u", st->path, n);
	while (!access(name, F_OK) && n++ < DAMAGED_MAX);
	err = store_rename_damaged(st->path, "", n);
	if (err) {
		log_error("%s: the store is damaged and cannot be renamed: %s; move the file away",
			  st->path, strerror(-err));
		return err;
	}
	store_rename_damaged(st->path, "-wal", n);
	store_rename_damaged(st->path, "-shm", n);
	log_warn("%s: the store is damaged; renamed it to %s and started a new store", st->path,
		 name);
	return 0;
}

int store_open(struct store **ret, const char *path, enum store_mode mode)
{
	return store_open_until(ret, path, mode, NULL);
}

int store_open_until(struct store **ret, const char *path, enum store_mode mode,
		     const _Atomic uint64_t *until_ns)
{
	struct store *st = calloc(1, sizeof(*st));
	int err;

	if (!st)
		return -ENOMEM;
	if (snprintf(st->path, sizeof(st->path), "%s", path) >= PATH_MAX) {
		free(st);
		return -ENAMETOOLONG;
	}
	st->memory = !strcmp(path, ":memory:");
	st->until_ns = until_ns;
	sum_names_init(&st->names);
	for (int attempt = 0;; attempt++) {
		err = store_connect_file(st, mode);
		if (!err)
			err = mode == STORE_WRITE ? store_begin_writing(st)
						  : store_begin_reading(st);
		if (err != -EBADMSG || mode != STORE_WRITE || st->memory || attempt)
			break;
		store_disconnect(st);
		if (store_set_aside(st))
			break;
	}
	if (err) {
		store_close(st);
		return err;
	}
	*ret = st;
	return 0;
}

void store_close(struct store *st)
{
	if (!st)
		return;
	store_disconnect(st);
	buffer_free(&st->ledger);
	buffer_free(&st->sketch);
	free(st);
}
