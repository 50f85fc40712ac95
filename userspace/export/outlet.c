/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/base/aside.h"
#include "userspace/base/clock.h"

#define NS_PER_MS 1000000ull

struct outlet {
	struct aside *aside;
	char *path;   /* there since before the other process was begun; as text */
	char *text;   /* shared with it: what is on its way */
	size_t going; /* of it; 0: nothing is */
	off_t size;   /* of the file, as it was told last */
	bool again;   /* the process that had it is gone: another one has it now */
};

/* ---- over there
 * ---------------------------------------------------------------------------------- */

struct ask {
	const char *path, *text;
	size_t len;
	off_t size; /* of the file before it */
	bool keep;
};

struct answer {
	struct outlet_told told;
	off_t size;
};

/* Of the process that writes. */
static struct {
	int fd;
	off_t torn_at, torn; /* a part of a line that could not be cut off: from, to; 0: none */
} there = {.fd = -1};

static ssize_t whole_lines(const char *text, size_t len)
{
	const char *end = len ? memrchr(text, '\n', len) : NULL;

	return end ? end + 1 - text : 0;
}

static int begin(const struct ask *a, int how, struct stat *st)
{
	int err;

	prctl(PR_SET_NAME, "gp-bpf-write");
	/* A pipe's reader would be told of its end by the close that follows. */
	if (!stat(a->path, st) && !S_ISREG(st->st_mode))
		return -ENOTSUP;
	there.fd = open(a->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | how,
			0644);
	if (there.fd < 0)
		return -errno;
	err = fstat(there.fd, st) ? -errno : S_ISREG(st->st_mode) ? 0 : -ENOTSUP;
	if (err) {
		close(there.fd);
		there.fd = -1;
	}
	return err;
}

static ssize_t open_there(const void *arg, void *ret, size_t cap)
{
	const struct ask *a = arg;
	struct answer *answer = ret;
	struct stat st;
	int err = cap < sizeof(*answer) ? -ENOBUFS : begin(a, a->keep ? 0 : O_TRUNC, &st);

	if (err)
		return err;
	*answer = (struct answer){.size = st.st_size};
	return sizeof(*answer);
}

/* Nothing is behind `to`. What cannot be cut is cut before the next line, where nobody else has. */
static void cut(off_t to, off_t size)
{
	if (!ftruncate(there.fd, to))
		return;
	there.torn_at = to;
	there.torn = size;
}

/* 0, or why nothing can be written. */
static int mend(struct stat *st)
{
	if (fstat(there.fd, st))
		return -errno;
	if (there.torn && st->st_size == there.torn) {
		if (ftruncate(there.fd, there.torn_at))
			return -errno;
		st->st_size = there.torn_at;
	}
	there.torn = 0;
	return 0;
}

/* Who had the file before got so far with the same text. */
static size_t begin_again(const struct ask *a, struct stat *st, int *ret_err)
{
	off_t more;
	size_t had = 0;

	*ret_err = begin(a, 0, st);
	more = *ret_err ? 0 : st->st_size - a->size;
	if (more <= 0 || more > (off_t)a->len)
		return 0;
	had = (size_t)more == a->len ? a->len : (size_t)whole_lines(a->text, (size_t)more);
	if ((off_t)had < more)
		cut(a->size + (off_t)had, st->st_size);
	return had;
}

static ssize_t write_there(const void *arg, void *ret, size_t cap)
{
	const struct ask *a = arg;
	struct answer *answer = ret;
	struct stat st;
	size_t at = 0, whole;
	ssize_t n = 0;
	int err = 0;

	if (cap < sizeof(*answer))
		return -ENOBUFS;
	if (there.fd < 0)
		at = begin_again(a, &st, &err);
	err = err ? err : mend(&st);
	if (err)
		return err;
	st.st_size -= (off_t)at;
	while (at < a->len) {
		n = write(there.fd, a->text + at, a->len - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	err = at == a->len ? 0 : n < 0 ? -errno : -EIO;
	whole = at == a->len ? at : (size_t)whole_lines(a->text, at);
	if (whole < at)
		cut(st.st_size + (off_t)whole, st.st_size + (off_t)at);
	*answer = (struct answer){.told = {whole, err}, .size = st.st_size + (off_t)whole};
	return sizeof(*answer);
}

static ssize_t close_there(const void *arg, void *ret, size_t cap)
{
	int fd = there.fd;

	(void)arg;
	(void)ret;
	(void)cap;
	there.fd = -1;
	return fd >= 0 && close(fd) ? -errno : 0;
}

/* ---- here
 * ---------------------------------------------------------------------------------------- */

static int ask(struct outlet *o, aside_fn *fn, bool keep)
{
	struct ask a = {
		.path = o->path, .text = o->text, .len = o->going, .size = o->size, .keep = keep};

	int err = aside_ask(o->aside, fn, &a, sizeof(a));

	return err == -EAGAIN ? -EBUSY : err; /* no process can be had */
}

/* -EAGAIN: not within that time; else as aside_answer(). */
static ssize_t answer_of(struct outlet *o, int wait_ms, struct answer *ret)
{
	uint64_t until_ns = clock_mono_ns() + (uint64_t)wait_ms * NS_PER_MS, now_ns = 0;
	const void *answer;
	ssize_t n;

	do {
		n = aside_answer(o->aside, wait_ms, &answer);
		now_ns = n == -EAGAIN && wait_ms ? clock_mono_ns() : until_ns;
		wait_ms = now_ns < until_ns ? (int)((until_ns - now_ns) / NS_PER_MS) + 1 : 0;
	} while (now_ns < until_ns); /* a signal came */
	if (n > 0)
		memcpy(ret, answer, sizeof(*ret));
	return n;
}

static void outlet_free(struct outlet *o)
{
	aside_free(o->aside);
	if (o->text)
		munmap(o->text, OUTLET_TEXT_MAX);
	free(o->path);
	free(o);
}

static bool only_here(const char *path)
{
	return !strncmp(path, "/dev/fd/", 8) || !strncmp(path, "/dev/std", 8) ||
	       !strncmp(path, "/proc/", 6);
}

int outlet_open(struct outlet **ret, const char *path, bool keep)
{
	struct answer answer = {0};
	struct outlet *o;
	ssize_t n;
	int err;

	if (only_here(path))
		return -ENOTSUP;
	o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->path = strdup(path);
	o->text = mmap(NULL, OUTLET_TEXT_MAX, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (o->text == MAP_FAILED)
		o->text = NULL;
	err = o->path && o->text ? aside_new(&o->aside, sizeof(struct answer)) : -ENOMEM;
	if (!err)
		err = ask(o, open_there, keep);
	n = err ? err : answer_of(o, OUTLET_OPEN_MS, &answer);
	if (n < 0) {
		if (n == -EAGAIN)
			aside_drop(o->aside);
		outlet_free(o);
		return n == -EAGAIN ? -ETIMEDOUT : (int)n;
	}
	o->size = answer.size;
	*ret = o;
	return 0;
}

size_t outlet_give(struct outlet *o, const char *text, size_t len)
{
	size_t whole;

	if (len > OUTLET_TEXT_MAX) {
		whole = (size_t)whole_lines(text, OUTLET_TEXT_MAX);
		len = whole ? whole : OUTLET_TEXT_MAX; /* a line that is longer goes in parts */
	}
	memcpy(o->text, text, len);
	o->going = len;
	o->again = false;
	if (ask(o, write_there, true))
		o->going = 0;
	return o->going;
}

int outlet_take(struct outlet *o, int wait_ms, struct outlet_told *ret)
{
	struct answer answer = {.size = o->size};
	ssize_t n = answer_of(o, wait_ms, &answer);

	if (n == -EAGAIN)
		return -EAGAIN;
	if (n == -EIO && !o->again) {
		o->again = true;
		if (!ask(o, write_there, true))
			return -EAGAIN;
	}
	if (n < 0)
		answer.told.err = (int)n;
	o->going = 0;
	o->size = answer.size;
	*ret = answer.told;
	return 0;
}

uint64_t outlet_bytes(const struct outlet *o)
{
	return (uint64_t)o->size;
}

int outlet_close(struct outlet *o, int wait_ms)
{
	struct answer answer;
	ssize_t n = o && o->going ? -EAGAIN : 0;

	if (!o)
		return 0;
	if (!n) {
		n = ask(o, close_there, true);
		n = n ? n : answer_of(o, wait_ms, &answer);
	}
	if (n == -EAGAIN)
		aside_drop(o->aside);
	outlet_free(o);
	return n == -EAGAIN ? -ETIMEDOUT : (int)n;
}
