/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - history of jobs in one SQLite file. This header has the file, its version and its
 * state; writer.h writes observations to it; query.h reads it, and adds the user's marks and
 * exclusions.
 *
 * Several processes may use one file at once (write-ahead log: readers never wait for a writer). A
 * struct store is used by one thread. The contents of a file are not trusted: texts are bounded
 * when written and escaped when shown.
 *
 * Errors are -errno: -ENOSPC: no space; -EROFS or -EACCES: not writable; -EBUSY: locked by another
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
	STORE_READ, /* for queries; the file must exist, and is migrated if it is writable */
	/* For writing a few rows; the file must exist, and is not checked for damage. */
	STORE_NOTE,
	STORE_WRITE, /* created if missing */
};

struct store;

/* Opens a store. path ":memory:": a private store without a file. With STORE_WRITE, a damaged file
 * is renamed to PATH.damaged-N, which is logged, and a new file is created. Returns 0 or -errno. */
int store_open(struct store **ret, const char *path, enum store_mode mode);
/* Opens a store like store_open(). *until_ns: time of clock_mono_ns() until which the store waits
 * for a file that another process locks; 0: it waits 2 s each time. Any thread may change
 * *until_ns, which must outlive the store. */
int store_open_until(struct store **ret, const char *path, enum store_mode mode,
		     const _Atomic uint64_t *until_ns);
void store_close(struct store *st); /* st may be NULL */
/* Call before store_close() when another process waits for the file. Keeps the write-ahead log, so
 * that closing does not wait for the disk. */
void store_hand_over(struct store *st);
const char *store_path(const struct store *st);

/* Returns the number of damaged values (sums or step times) that were read since the store was
 * opened. They count as 0. */
uint64_t store_unreadable(const struct store *st);

/* Writes the default path of the store: in the state directory, otherwise in /var/lib/gp-bpf for
 * root, otherwise in $XDG_STATE_HOME/gp-bpf (default ~/.local/state/gp-bpf). Returns 0,
 * -ENAMETOOLONG, or -ENOENT if there is no home directory. */
int store_default_path(char out[PATH_MAX], const char *state_dir);
/* Makes the folder of the file and the folders above, with access for this user only. Returns 0 or
 * -errno. */
int store_make_folder(const char *path);

/* Returns the text for an error (-errno) that a function of store/ returned. */
const char *store_why(int err);

#endif
