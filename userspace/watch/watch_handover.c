/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/watch_handover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "userspace/base/log.h"
#include "userspace/base/worker.h"
#include "userspace/handover/successor.h"

struct handover {
	struct watch *watch;
	struct successor *successor;
	struct worker thread;
	bool comes; /* belongs to the thread until it has ended */
	int fd;	    /* readable when the answer is there */
	char why[400];
};

static void handover_end(struct watch *w, enum gp_end_reason why)
{
	w->end = why;
	loop_stop(w->loop, 0);
}

static void handover_run(void *ctx)
{
	struct handover *l = ctx;

	l->comes = successor_comes(l->successor, l->why, sizeof(l->why));
	eventfd_write(l->fd, 1);
}

static void watch_handover_on_answer(void *ctx, uint64_t value)
{
	struct handover *l = ctx;

	(void)value;
	worker_join(&l->thread);
	loop_remove_fd(l->watch->loop, l->fd);
	if (!l->comes)
		log_warn("detaching, for no other gp-bpf comes to this node: %s", l->why);
	handover_end(l->watch, l->comes ? GP_END_HANDOVER : GP_END_USER);
}

static int handover_start(struct handover *l)
{
	int err;

	l->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = l->fd < 0 ? -errno
			: loop_add_fd(l->watch->loop, l->fd, EPOLLIN, watch_handover_on_answer, l);
	if (err)
		return err;
	err = worker_start(&l->thread, "handover", handover_run, l);
	if (err)
		loop_remove_fd(l->watch->loop, l->fd);
	return err;
}

void watch_hand_over(struct watch *w)
{
	struct successor *s = NULL;
	struct handover *l;
	int err;

	if (w->handover) {
		handover_end(w, GP_END_USER);
		return;
	}
	err = w->node ? successor_new(&s,
				      &(struct successor_config){.server = w->options->api_server})
		      : 0;
	if (!err && !s) {
		handover_end(w, GP_END_HANDOVER);
		return;
	}
	w->handover = l = calloc(1, sizeof(*l));
	if (l) {
		*l = (struct handover){.watch = w, .successor = s, .fd = -1};
		worker_init(&l->thread);
		err = err ? err : handover_start(l);
	} else {
		successor_free(s);
		err = -ENOMEM;
	}
	if (!err)
		return;
	log_warn("detaching: whether another gp-bpf comes to this node cannot be asked: %s",
		 strerror(-err));
	handover_end(w, GP_END_USER);
}

void handover_free(struct handover *l)
{
	if (!l)
		return;
	if (l->thread.count) {
		successor_cancel(l->successor);
		loop_remove_fd(l->watch->loop, l->fd);
	}
	worker_free(&l->thread);
	successor_free(l->successor);
	if (l->fd >= 0)
		close(l->fd);
	free(l);
}
