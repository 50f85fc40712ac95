/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/watch_kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "userspace/base/log.h"
#include "userspace/ingest/kernel_log.h"

#define KMSG	   "/dev/kmsg"
#define KMSG_FLAGS (O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)
/* Limit of lines read in a second, in case another source floods the log; the remaining lines are
 * read later. */
#define READS_MAX 256
/* Limit of faults recorded in a second: a lost device reports a fault for each process again and
 * again. */
#define FAULTS_MAX 32

struct watch_log {
	struct loop *loop;
	struct journal *journal;
	int fd;
	/* The loop calls a function when there are new lines. False: they are read in the next
	 * second, because READS_MAX was reached or the file is a plain file. */
	bool listens;
	unsigned reads, faults; /* numbers of reads and faults in the present second */
};

static void watch_log_on_fault(void *ctx, uint32_t pid, const struct gp_fault *f)
{
	struct watch_log *w = ctx;
	struct gp_fault *own;

	if (w->faults++ >= FAULTS_MAX)
		return;
	own = journal_record(w->journal, GP_KIND_fault, pid, 0);
	if (own)
		*own = *f;
}

/* Records how many faults beyond FAULTS_MAX were not recorded. before: faults that were read
 * earlier in this second. */
static void watch_log_faults_lost(struct watch_log *w, unsigned before)
{
	unsigned reported = before > FAULTS_MAX ? before : FAULTS_MAX;
	struct gp_loss *l = w->faults > reported ? journal_record(w->journal, GP_KIND_loss, 0, 0)
						 : NULL;

	if (!l)
		return;
	l->cause = GP_LOSS_rate_limited;
	l->count = w->faults - reported;
}

static void log_read(struct watch_log *w)
{
	char data[KERNEL_LOG_RECORD];
	unsigned faults = w->faults;
	ssize_t n;

	while (w->reads < READS_MAX) {
		n = read(w->fd, data, sizeof(data));
		if (n < 0 && errno == EPIPE) /* unread lines were overwritten */
			n = 1, data[0] = '\n';
		if (n <= 0)
			break;
		w->reads++;
		kernel_log_read(data, (size_t)n, watch_log_on_fault, w);
	}
	watch_log_faults_lost(w, faults);
	if (faults != w->faults)
		journal_flush(w->journal);
}

static void watch_log_on_readable(void *ctx, uint64_t value)
{
	struct watch_log *w = ctx;

	(void)value;
	log_read(w);
	if (w->reads < READS_MAX)
		return;
	loop_remove_fd(w->loop, w->fd);
	w->listens = false;
}

static int prepared = -1;

void watch_log_prepare(const char *root)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s" KMSG, root);
	prepared = open(path, KMSG_FLAGS);
}

int watch_log_new(struct watch_log **ret, struct loop *l, struct journal *j, const char *root)
{
	struct watch_log *w = calloc(1, sizeof(*w));
	char path[4096];

	if (!w)
		return -ENOMEM;
	*w = (struct watch_log){.loop = l, .journal = j};
	snprintf(path, sizeof(path), "%s" KMSG, root);
	w->fd = prepared >= 0 ? prepared : open(path, KMSG_FLAGS);
	prepared = -1;
	if (w->fd < 0)
		log_info(
			"%s: the kernel's log cannot be read: %s; device errors in it will not be reported",
			path, strerror(errno));
	else
		lseek(w->fd, 0, SEEK_END);
	w->listens = w->fd >= 0 && !loop_add_fd(l, w->fd, EPOLLIN, watch_log_on_readable, w);
	*ret = w;
	return 0;
}

void watch_log_free(struct watch_log *w)
{
	if (!w)
		return;
	if (w->listens)
		loop_remove_fd(w->loop, w->fd);
	if (w->fd >= 0)
		close(w->fd);
	free(w);
}

void watch_log_tick(struct watch_log *w)
{
	w->reads = w->faults = 0;
	if (w->fd < 0 || w->listens)
		return;
	log_read(w);
	if (w->reads < READS_MAX)
		w->listens = !loop_add_fd(w->loop, w->fd, EPOLLIN, watch_log_on_readable, w);
}
