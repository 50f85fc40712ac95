/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/ingest/durable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "userspace/base/archive.h"
#include "userspace/base/clock.h"
#include "userspace/base/file.h"
#include "userspace/base/log.h"
#include "userspace/base/path.h"

#define STATE_MAGIC	  "GPBPFST\1"
#define STATE_FORMAT	  3
#define STATE_BYTES_MAX	  (1u << 30)
#define SOURCES		  3
#define HAND_OVER_NS	  10000000000ull
#define HAND_OVER_POLL_MS 10

struct durable {
	char dir[PATH_MAX];
	int lock;
	bool found;
	struct durable_state state;
	uint64_t first;	  /* number of the first tape segment that follows the saved state */
	uint64_t segment; /* number of the tape segment that is being written */
	/* the segment being written; NULL: not begun yet, or closed after an error */
	struct tape_writer *tape;
	/* position up to which each ring was read, by enum tape_source */
	uint64_t ring_at[SOURCES];
	bool failed;
};

struct header { /* header of the state file, before the saved states of stream and model */
	char boot_id[40];
	uint64_t first, ring_at[SOURCES];
	uint32_t stream_bytes, model_bytes;
};

static void durable_path_of(const struct durable *d, const char *name, char path[PATH_MAX + 32])
{
	snprintf(path, PATH_MAX + 32, "%s/%s", d->dir, name);
}

static void durable_segment_path(const struct durable *d, uint64_t segment,
				 char path[PATH_MAX + 32])
{
	char name[32];

	snprintf(name, sizeof(name), "tape-%010llu", (unsigned long long)segment);
	durable_path_of(d, name, path);
}

/* ---- lock ------------------------------------------------------------------------------------ */

static int durable_lock_try(int fd)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_SETLK, &whole) ? -errno : 0;
}

/* Returns the pid of the process that has locked the directory; 0: none. */
static pid_t durable_lock_owner(int fd)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_GETLK, &whole) || whole.l_type == F_UNLCK ? 0 : whole.l_pid;
}

static int durable_lock_wait(int fd, uint64_t for_ns)
{
	uint64_t until_ns = clock_mono_ns() + for_ns;
	int err = durable_lock_try(fd);

	while (err && clock_mono_ns() < until_ns) {
		poll(NULL, 0, HAND_OVER_POLL_MS);
		err = durable_lock_try(fd);
	}
	return err;
}

/* Asks the process that has locked the directory to hand over (SIGUSR1), and kills it if it does
 * not. Uses a pidfd, and checks again that this process has the lock, so that no other process gets
 * the signals. */
static int durable_lock_take(const struct durable *d)
{
	pid_t owner = durable_lock_owner(d->lock);
	int err, pidfd = owner ? (int)syscall(SYS_pidfd_open, owner, 0) : -1;

	if (pidfd >= 0 && durable_lock_owner(d->lock) == owner)
		syscall(SYS_pidfd_send_signal, pidfd, SIGUSR1, NULL, 0);
	err = durable_lock_wait(d->lock, HAND_OVER_NS);
	if (err && pidfd >= 0 && durable_lock_owner(d->lock) == owner) {
		log_warn("--takeover: process %d did not hand over; killing it", owner);
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
		err = durable_lock_wait(d->lock, HAND_OVER_NS);
	}
	if (pidfd >= 0)
		close(pidfd);
	return err;
}

static int durable_lock_open(struct durable *d, bool takeover)
{
	char path[PATH_MAX + 32];
	int err;

	durable_path_of(d, "lock", path);
	d->lock = path_open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	if (d->lock < 0) {
		err = d->lock;
		log_error("--durable: %s: %s", path, strerror(-err));
		return err;
	}
	err = durable_lock_try(d->lock);
	if (err && takeover)
		err = durable_lock_take(d);
	if (err)
		log_error("--durable: process %d already uses %s; stop it, or use --takeover",
			  durable_lock_owner(d->lock), d->dir);
	return err ? -EBUSY : 0;
}

pid_t durable_owner(const char *dir)
{
	char path[PATH_MAX + 32];
	pid_t owner;
	int fd;

	snprintf(path, sizeof(path), "%s/lock", dir);
	fd = path_open(path, O_RDWR | O_NOFOLLOW, 0);
	if (fd < 0)
		return 0;
	owner = durable_lock_owner(fd);
	close(fd);
	return owner;
}

/* ---- state ----------------------------------------------------------------------------------- */

static void durable_blob_archive(struct archive *a, struct buffer *blob)
{
	uint32_t len = (uint32_t)blob->len;

	archive_count(a, &len, STATE_BYTES_MAX, 1);
	if (archive_reads(a) && !a->error && len && !buffer_reserve(blob, len))
		archive_require(a, false);
	if (a->error)
		return;
	blob->len = len;
	archive_bytes(a, blob->data, len);
}

static void durable_state_archive(struct archive *a, struct header *h, struct durable_state *state)
{
	archive_fields(a, h, boot_id, first, ring_at);
	archive_fields(a, state, upto_ns, last_fact);
	durable_blob_archive(a, &state->stream);
	durable_blob_archive(a, &state->model);
	durable_blob_archive(a, &state->exports);
}

static void durable_state_free(struct durable_state *state)
{
	buffer_free(&state->stream);
	buffer_free(&state->model);
	buffer_free(&state->exports);
}

static void durable_segments_remove(const struct durable *d, uint64_t from, uint64_t until)
{
	char path[PATH_MAX + 32];

	for (uint64_t s = from; s < until; s++) {
		durable_segment_path(d, s, path);
		unlink(path);
	}
}

/* Removes all tape segments. Searches them by name, because their numbers are unknown if the state
 * file cannot be read. */
static void durable_segments_clear(const struct durable *d)
{
	DIR *dir = opendir(d->dir);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (!strncmp(e->d_name, "tape-", 5))
			unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
}

void durable_discard(struct durable *d)
{
	char path[PATH_MAX + 32];

	durable_path_of(d, "state", path);
	unlink(path);
	durable_segments_clear(d);
	durable_state_free(&d->state);
	memset(d->ring_at, 0, sizeof(d->ring_at));
	d->found = false;
	d->first = 0;
}

static void durable_state_load(struct durable *d)
{
	struct buffer bytes = {0};
	char path[PATH_MAX + 32], boot_id[40];
	struct header h = {0};
	struct archive a;
	const char *why = NULL;
	int err;

	durable_path_of(d, "state", path);
	err = path_read(path, &bytes, STATE_BYTES_MAX, 0);
	if (err != -ENOENT) {
		archive_read(&a, bytes.data, bytes.len, STATE_MAGIC, STATE_FORMAT);
		durable_state_archive(&a, &h, &d->state);
		err = err ? err : archive_end(&a);
		clock_boot_id(boot_id);
		why = err == -EPROTO ? "it is of another version of gp-bpf"
		      : err	     ? "it is damaged"
		      : !*boot_id || strcmp(boot_id, h.boot_id) ? "it is from before the last boot"
								: NULL;
	}
	buffer_free(&bytes);
	d->first = h.first;
	memcpy(d->ring_at, h.ring_at, sizeof(d->ring_at));
	d->found = !err && !why;
	if (why)
		log_warn("%s: the saved state cannot be used (%s); starting without it", path, why);
	if (!d->found)
		durable_discard(d);
}

const struct durable_state *durable_state(const struct durable *d)
{
	return d->found ? &d->state : NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int durable_folder_open(struct durable *d, const char *dir)
{
	struct stat st;
	int err = path_answers(dir);

	err = err ? err : path_make(dir, 0700);

	if (!err && !realpath(dir, d->dir))
		err = -errno;
	if (!err && stat(d->dir, &st))
		err = -errno;
	/* Refuse a directory that other users can write to: they could make gp-bpf load any
	 * state. */
	if (!err && (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022))
		err = -EACCES;
	if (err)
		log_error(
			"--durable: state directory %s: %s", dir,
			err == -EACCES
				? "must belong to this user, and other users must not be able to write to it"
				: path_why(err));
	return err;
}

int durable_open(struct durable **ret, const char *dir, bool takeover)
{
	struct durable *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	d->lock = -1;
	err = durable_folder_open(d, dir);
	if (!err)
		err = durable_lock_open(d, takeover);
	if (err) {
		durable_close(d);
		return err;
	}
	durable_state_load(d);
	*ret = d;
	return 0;
}

void durable_close(struct durable *d)
{
	if (!d)
		return;
	tape_close(d->tape);
	if (d->lock >= 0)
		close(d->lock);
	durable_state_free(&d->state);
	free(d);
}

const char *durable_dir(const struct durable *d)
{
	return d->dir;
}

/* ---- tape ------------------------------------------------------------------------------------ */

int durable_replay(struct durable *d, durable_frame_fn *fn, void *ctx)
{
	char path[PATH_MAX + 32];
	struct tape_reader *r;
	struct tape_frame f;
	int err = 0, got;

	for (d->segment = d->first;; d->segment++) {
		durable_segment_path(d, d->segment, path);
		if (access(path, F_OK))
			break;
		/* skip an empty segment: the process was killed right after creating it */
		if (tape_open(&r, path))
			continue;
		while ((got = tape_next(r, &f)) > 0) {
			if (f.source < SOURCES && f.to)
				d->ring_at[f.source] = f.to;
			fn(ctx, &f);
		}
		tape_reader_close(r);
		err = err ? err : got;
	}
	return err;
}

uint64_t durable_ring_at(const struct durable *d, enum tape_source source)
{
	return d->ring_at[source];
}

void durable_rings_anew(struct durable *d)
{
	memset(d->ring_at, 0, sizeof(d->ring_at));
}

/* Creates the first tape segment. Called for the first frame. */
static int durable_tape_begin(struct durable *d)
{
	char path[PATH_MAX + 32];

	durable_segment_path(d, d->segment, path);
	return tape_create(&d->tape, path);
}

int durable_append(struct durable *d, const struct tape_frame *f)
{
	int err = 0;

	/* Advance the position even if the record cannot be written to the tape: the next saved
	 * state will contain its effect. */
	if (f->source < SOURCES && f->to)
		d->ring_at[f->source] = f->to;
	if (d->failed)
		return -EIO;
	if (!d->tape)
		err = durable_tape_begin(d);
	if (!err)
		err = tape_append(d->tape, f);
	if (err) {
		log_error(
			"%s: the tape cannot be written: %s; gp-bpf continues, but a restart would lose what it sees from now on",
			d->dir, strerror(-err));
		d->failed = true;
	}
	return err;
}

bool durable_whole(const struct durable *d)
{
	return !d->failed;
}

uint64_t durable_tape_bytes(const struct durable *d)
{
	return d->tape ? tape_bytes(d->tape) : 0;
}

static int durable_state_write(const struct durable *d, uint64_t first,
			       const struct durable_state *now)
{
	/* A copy: archive functions take non-const pointers, even for writing. */
	struct durable_state state = *now;
	struct header h = {.first = first};
	char path[PATH_MAX + 32], fresh[PATH_MAX + 32];
	struct buffer bytes = {0};
	struct archive a;
	int err;

	clock_boot_id(h.boot_id);
	memcpy(h.ring_at, d->ring_at, sizeof(h.ring_at));
	archive_write(&a, &bytes, STATE_MAGIC, STATE_FORMAT);
	durable_state_archive(&a, &h, &state);
	err = archive_end(&a);
	durable_path_of(d, "state", path);
	durable_path_of(d, "state.new", fresh);
	if (!err)
		err = file_replace(AT_FDCWD, path, fresh, 0600, bytes.data, bytes.len, false);
	buffer_free(&bytes);
	return err;
}

int durable_save(struct durable *d, const struct durable_state *now)
{
	struct tape_writer *fresh = NULL;
	char path[PATH_MAX + 32];
	int err;

	durable_segment_path(d, d->segment + 1, path);
	err = tape_create(&fresh, path);
	if (!err)
		err = durable_state_write(d, d->segment + 1, now);
	if (err) {
		tape_close(fresh);
		unlink(path);
		if (!d->failed)
			log_error(
				"%s: the state cannot be saved: %s; gp-bpf continues and will try again",
				d->dir, strerror(-err));
		d->failed |= !d->tape;
		return err;
	}
	tape_close(d->tape);
	d->tape = fresh;
	durable_segments_remove(d, d->first, d->segment + 1);
	d->first = ++d->segment;
	if (d->failed)
		log_warn("%s: the state was saved; a restart loses nothing from now on", d->dir);
	d->failed = false;
	return 0;
}
