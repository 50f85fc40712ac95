/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - what is kept of jobs: one SQLite file. Here: the file, its version, its health;
 * writer.h puts what is seen into it, query.h reads it and adds marks and exclusions that people
 * give.
 *
 * Several processes may use one file at once (WAL: readers never wait for a writer). One struct
 * store is one thread's. Nothing that a file holds is trusted: texts are bounded when written and
 * to be escaped when shown. Errors: 0 or -errno: -ENOSPC no room, -EROFS or -EACCES may not be
 * written, -EBUSY locked by another, -EBADMSG damaged, -EPROTO of a newer gp-bpf, -EMEDIUMTYPE a
 * file of something else, -EUCLEAN of tables that are not those of its version, -EIO, -ENOMEM. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define STORE_FILE	"store.db"
#define STORE_NAME_MAX	64
#define STORE_MINUTE_NS 60000000000ll

enum store_mode {
	STORE_READ,  /* must be there; brought up to date where it may be written */
	STORE_NOTE,  /* likewise, and a row or two are written; it is not looked at as a whole */
	STORE_WRITE, /* made where it is not */
};

struct store;

/* path ":memory:" is a store that nobody else sees. A file that is damaged is renamed to
 * PATH.damaged-N, which is said, and a new one begins (STORE_WRITE). */
int store_open(struct store **ret, const char *path, enum store_mode mode);
/* The same. until_ns, a time of clock_mono_ns() that any thread may change: a file that another
 * process locks is waited for 2 s each time, but not beyond it; 0: it is not set. It must outlive
 * the store. */
int store_open_until(struct store **ret, const char *path, enum store_mode mode,
		     const _Atomic uint64_t *until_ns);
void store_close(struct store *st); /* NULL is fine */
/* Another process opens it as soon as this one has closed it: closing will not wait for the disk,
 * for what is in the log stays there. */
void store_hand_over(struct store *st);
const char *store_path(const struct store *st);

/* How many sums and step times that were asked for since it was opened are damaged: they count as
 * nothing. */
uint64_t store_unreadable(const struct store *st);

/* Where the store is when nobody says: in the state directory, else /var/lib/gp-bpf for root, else
 * $XDG_STATE_HOME/gp-bpf (default ~/.local/state/gp-bpf). -ENAMETOOLONG, -ENOENT: no home. */
int store_default_path(char out[PATH_MAX], const char *state_dir);
/* Makes the folder that it lies in, and its parents, for us alone. */
int store_make_folder(const char *path);

/* For people: why, of a -errno of this module. */
const char *store_why(int err);

#endif
