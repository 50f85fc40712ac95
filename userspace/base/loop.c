/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define LOOP_BATCH   32
#define LOOP_SIGNALS 65 /* signals have the numbers 1 to SIGRTMAX, which is 64 */

enum source_type { SOURCE_FD, SOURCE_TIMER, SOURCE_SIGNAL };

/* A descriptor, timer or signalfd that the loop waits for */
struct source {
	struct source *next;
	enum source_type type;
	int fd;
	/* Removed. Freed after this round of events, because the round may still contain events of
	 * this source. */
	bool dead;
	loop_fn *fn;
	void *ctx;
};

struct loop {
	int epoll;
	int code;
	bool stop;
	struct source *sources;
	struct source *signal; /* the one signalfd */
	sigset_t signals;
	struct {
		loop_fn *fn;
		void *ctx;
	} on_signal[LOOP_SIGNALS];
};

int loop_new(struct loop **ret)
{
	struct loop *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	sigemptyset(&l->signals);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0) {
		err = -errno;
		free(l);
		return err;
	}
	*ret = l;
	return 0;
}

static void loop_free_source(struct source *s)
{
	if (s->type != SOURCE_FD && s->fd >= 0)
		close(s->fd);
	free(s);
}

void loop_free(struct loop *l)
{
	struct source *s, *next;

	if (!l)
		return;
	for (s = l->sources; s; s = next) {
		next = s->next;
		loop_free_source(s);
	}
	close(l->epoll);
	free(l);
}

static void loop_sweep(struct loop *l)
{
	struct source **at = &l->sources, *s;

	while ((s = *at)) {
		if (!s->dead) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		loop_free_source(s);
	}
}

/* Adds a source. On failure the caller still owns fd. */
static int loop_add(struct loop *l, enum source_type type, int fd, uint32_t events, loop_fn *fn,
		    void *ctx, struct source **ret)
{
	struct epoll_event ev = {.events = events};
	struct source *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	*s = (struct source){.type = type, .fd = fd, .fn = fn, .ctx = ctx};
	ev.data.ptr = s;
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &ev)) {
		err = -errno;
		free(s);
		return err;
	}
	s->next = l->sources;
	l->sources = s;
	if (ret)
		*ret = s;
	return 0;
}

int loop_add_fd(struct loop *l, int fd, uint32_t events, loop_fn *fn, void *ctx)
{
	return loop_add(l, SOURCE_FD, fd, events, fn, ctx, NULL);
}

void loop_remove_fd(struct loop *l, int fd)
{
	for (struct source *s = l->sources; s; s = s->next) {
		if (s->type != SOURCE_FD || s->fd != fd || s->dead)
			continue;
		epoll_ctl(l->epoll, EPOLL_CTL_DEL, fd, NULL);
		s->dead = true;
		return;
	}
}

static int loop_timer_set(int fd, uint64_t period_ns)
{
	struct timespec period = {(time_t)(period_ns / 1000000000), (long)(period_ns % 1000000000)};
	struct itimerspec when = {.it_value = period, .it_interval = period};

	if (!period_ns)
		return -EINVAL;
	return timerfd_settime(fd, 0, &when, NULL) ? -errno : 0;
}

int loop_add_timer(struct loop *l, uint64_t period_ns, loop_fn *fn, void *ctx)
{
	int fd, err;

	fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = loop_timer_set(fd, period_ns);
	if (!err)
		err = loop_add(l, SOURCE_TIMER, fd, EPOLLIN, fn, ctx, NULL);
	if (err)
		close(fd);
	return err;
}

int loop_set_timer(struct loop *l, uint64_t period_ns, loop_fn *fn, void *ctx)
{
	for (const struct source *s = l->sources; s; s = s->next)
		if (s->type == SOURCE_TIMER && s->fn == fn && s->ctx == ctx)
			return loop_timer_set(s->fd, period_ns);
	return -ENOENT;
}

int loop_add_signal(struct loop *l, int signo, loop_fn *fn, void *ctx)
{
	sigset_t set = l->signals;
	int fd, err;

	if (signo <= 0 || signo >= LOOP_SIGNALS || sigaddset(&set, signo))
		return -EINVAL;
	err = pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (err)
		return -err;
	fd = signalfd(l->signal ? l->signal->fd : -1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!l->signal) {
		err = loop_add(l, SOURCE_SIGNAL, fd, EPOLLIN, NULL, NULL, &l->signal);
		if (err) {
			close(fd);
			return err;
		}
	}
	l->signals = set;
	l->on_signal[signo].fn = fn;
	l->on_signal[signo].ctx = ctx;
	return 0;
}

static void loop_dispatch(struct loop *l, struct source *s, uint32_t events)
{
	struct signalfd_siginfo info;
	uint64_t count;

	switch (s->type) {
	case SOURCE_FD:
		s->fn(s->ctx, events);
		break;
	case SOURCE_TIMER:
		if (read(s->fd, &count, sizeof(count)) == sizeof(count))
			s->fn(s->ctx, count);
		break;
	case SOURCE_SIGNAL:
		/* Handles one signal in each round. epoll reports further signals again in the next
		 * round, so that other sources are handled in between. */
		if (read(s->fd, &info, sizeof(info)) == sizeof(info) &&
		    info.ssi_signo < LOOP_SIGNALS && l->on_signal[info.ssi_signo].fn)
			l->on_signal[info.ssi_signo].fn(
				l->on_signal[info.ssi_signo].ctx,
				info.ssi_signo | (uint64_t)(uint32_t)info.ssi_code << 32);
		break;
	}
}

int loop_run(struct loop *l)
{
	struct epoll_event events[LOOP_BATCH];
	struct source *s;
	int n;

	while (!l->stop) {
		n = epoll_wait(l->epoll, events, LOOP_BATCH, -1);
		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n && !l->stop; i++) {
			s = events[i].data.ptr;
			if (!s->dead)
				loop_dispatch(l, s, events[i].events);
		}
		loop_sweep(l);
	}
	l->stop = false;
	return l->code;
}

void loop_stop(struct loop *l, int code)
{
	l->stop = true;
	l->code = code;
}
