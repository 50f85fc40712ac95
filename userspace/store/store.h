/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - history of jobs in one SQLite file. This header: the file, its version, its state;
 * writer.h writes observations to it, query.h reads it and adds the user's marks and exclusions.
 * Several processes may use one file at once (WAL: readers never wait for a writer). A struct store
 * is used by one thread.
 * The contents of a file are not trusted: texts are bounded when written and escaped when shown.
 * Errors: 0 or -errno; -ENOSPC: no room; -EROFS or -EACCES: not writable; -EBUSY: locked by another
 * process; -EBADMSG: damaged; -EPROTO: written by a newer gp-bpf; -EMEDIUMTYPE: a file of another
 * program; -EUCLEAN: its tables are not those of its version; -EIO, -ENOMEM. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define STORE_FILE	"store.db"
#define STORE_MINUTE_NS 60000000000ll

enum store_mode {
	STORE_READ,  /* for queries; must exist; migrated if it is writable */
	STORE_NOTE,  /* to write a few rows; must exist; not checked for damage as a whole */
	STORE_WRITE, /* created if missing */
};

struct store;

/* path ":memory:" is a private store. A damaged file is renamed to PATH.damaged-N, which is logged,
 * and a new one is created (STORE_WRITE). Returns 0 or -errno. */
int store_open(struct store **ret, const char *path, enum store_mode mode);
/* Like store_open(). until_ns: time of clock_mono_ns() after which a locked file is not waited for
 * (2 s at most each time); 0: no such time. Any thread may change it. It must outlive the store. */
int store_open_until(struct store **ret, const char *path, enum store_mode mode,
		     const _Atomic uint64_t *until_ns);
void store_close(struct store *st); /* st may be NULL */
/* Makes store_close() quick for another process that waits for the file: the write-ahead log stays,
 * so closing does not wait for the disk. */
void store_hand_over(struct store *st);
const char *store_path(const struct store *st);

/* Returns the number of damaged sums and step times read since the store was opened; they count as
 * 0. */
uint64_t store_unreadable(const struct store *st);

/* Writes the default path: in the state directory, else /var/lib/gp-bpf for root, else
 * $XDG_STATE_HOME/gp-bpf (default ~/.local/state/gp-bpf). Returns 0, -ENAMETOOLONG, or -ENOENT:
 * there is no home. */
int store_default_path(char out[PATH_MAX], const char *state_dir);
/* Makes the folder of the file and its parents, accessible for this user only. Returns 0 or
 * -errno. */
int store_make_folder(const char *path);

/* Returns a text for an error of this module. */
const char *store_why(int err);

#endif
