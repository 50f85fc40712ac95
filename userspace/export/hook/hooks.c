/* SPDX-License-Identifier: Apache-2.0 */
/* hooks.c - the exporter that runs hooks (--on, hook.h). Each hook has its own thread, so that a
 * blocked hook delays neither others nor the caller. Facts that a predecessor reported are not sent
 * again. */
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/json_text.h"
#include "userspace/base/log.h"
#include "userspace/base/worker.h"
#include "userspace/cloud/web.h"
#include "userspace/export/exporter.h"
#include "userspace/export/hook/hook.h"
#include "userspace/export/hook/hook_command.h"
#include "userspace/export/hook/hook_file.h"
#include "userspace/export/hook/hook_queue.h"
#include "userspace/export/file/json_line.h"

#define NS_PER_S  1000000000ull
#define NS_PER_MS 1000000ull
#define CLOSE_NS  (5 * NS_PER_S) /* time for unsent messages when gp-bpf ends */
#define SOON_NS	  (NS_PER_S / 2) /* shorter time for unsent messages, if a successor waits */

struct hook_thread {
	struct hooks *hooks;
	struct hook hook;
	char program[PATH_MAX]; /* path of the command without links, found at start */
	struct web *web;	/* NULL: a command */
	/* The worker's lock protects all members below; never held while the hook runs. */
	struct worker worker;
	struct hook_queue queue;
	uint64_t sent, failed, timeout, closing;
	int64_t last_ns;
	bool broken; /* the last message was not delivered */
	char trouble[200];
};

struct hooks {
	struct hook_thread *thread;
	int count;
	struct hook_user user;
	char host[64];
	int wake_fd;
	_Atomic uint64_t closed_ns; /* time (CLOCK_MONOTONIC) to kill hooks; 0: not set yet */
	struct buffer line;
};

/* ---- sending --------------------------------------------------------------------------------- */

/* Writes the message: the members of the fact's JSON line, and then data about the hook. */
static void hooks_body_of(const struct hook_thread *t, const struct hook_item *item,
			  struct buffer *ret)
{
	buffer_add(ret, item->line, item->len);
	json_open(ret, "hook", '{');
	json_string(ret, "event", hook_event_name[item->event]);
	json_string(ret, "host", t->hooks->host);
	json_string(ret, "version", GP_VERSION);
	json_uint(ret, "suppressed", item->suppressed);
	json_close(ret, '}');
	json_close(ret, '}');
	buffer_add(ret, "\n", 1);
}

static enum hook_end hooks_run_command(struct hook_thread *t, const struct hook_item *item,
				       const struct buffer *body, char why[HOOK_WHY_MAX])
{
	const struct hook_command c = {
		.path = t->program,
		.words = t->hook.words,
		.event = hook_event_name[item->event],
		.job = item->job,
		.why = item->why,
		.at = item->at,
		.body = body->data,
		.len = body->len,
		.user = &t->hooks->user,
		.limit_ns = HOOK_LIMIT_NS,
		.closed_ns = &t->hooks->closed_ns,
		.wake_fd = t->hooks->wake_fd,
	};
	char real[PATH_MAX];

	if (hook_file_program(t->program, t->hooks->user.uid, real, why, HOOK_WHY_MAX))
		return HOOK_FAILED;
	return hook_command_run(&c, why);
}

static enum hook_end hooks_post(struct hook_thread *t, const struct buffer *body,
				char why[HOOK_WHY_MAX])
{
	struct web_request rq = {.method = "POST",
				 .url = t->hook.url,
				 .headers = t->hook.headers,
				 .body = body->data,
				 .len = body->len,
				 .timeout_ms = HOOK_LIMIT_NS / NS_PER_MS};
	uint64_t closed_ns = t->hooks->closed_ns, now_ns = clock_mono_ns();
	struct web_reply reply = {0};
	enum hook_end end = HOOK_DONE;
	int err;

	if (closed_ns)
		rq.timeout_ms = closed_ns > now_ns ? (closed_ns - now_ns) / NS_PER_MS + 1 : 1;
	err = web_send(t->web, &rq, &reply);
	*why = '\0';
	if (err) {
		end = reply.failure == WEB_CANCELLED ? HOOK_CLOSED
		      : reply.failure == WEB_TIMEOUT ? HOOK_TIMEOUT
						     : HOOK_FAILED;
		snprintf(why, HOOK_WHY_MAX, "%s", *reply.why ? reply.why : strerror(-err));
	} else if (reply.status < 200 || reply.status > 299) {
		end = HOOK_FAILED;
		snprintf(why, HOOK_WHY_MAX, "answered HTTP %ld", reply.status);
	}
	web_reply_free(&reply);
	return end;
}

static enum hook_end hooks_send(struct hook_thread *t, const struct hook_item *item)
{
	const char *event = hook_event_name[item->event];
	char why[HOOK_WHY_MAX] = "out of memory";
	enum hook_end end = HOOK_FAILED;
	struct buffer body = {0};

	hooks_body_of(t, item, &body);
	if (!body.failed)
		end = t->web ? hooks_post(t, &body, why) : hooks_run_command(t, item, &body, why);
	buffer_free(&body);
	if (end != HOOK_DONE)
		log_warn("--on %s: %s: %s", event, t->hook.label, why);
	else
		log_debug("--on %s: %s: done%s%s", event, t->hook.label, *why ? ": " : "", why);
	worker_lock(&t->worker);
	t->sent += end == HOOK_DONE;
	t->failed += end == HOOK_FAILED;
	t->timeout += end == HOOK_TIMEOUT;
	t->closing += end == HOOK_CLOSED;
	t->broken = end != HOOK_DONE;
	if (end == HOOK_DONE)
		t->last_ns = clock_real_ns();
	snprintf(t->trouble, sizeof(t->trouble), "%s%s%.80s", t->broken ? event : "",
		 t->broken ? ": " : "", t->broken ? why : "");
	worker_unlock(&t->worker);
	return end;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Waits until a message may be sent. The lock must be held, and is held on return. Returns false
 * when gp-bpf ends and no message waits. */
static bool hooks_await(struct hook_thread *t)
{
	/* At the end, messages are sent without the pause between them. */
	if (t->hooks->closed_ns)
		return t->queue.waiting;
	worker_wait(&t->worker, hook_queue_due(&t->queue));
	return true;
}

static void hooks_run(void *arg)
{
	struct hook_thread *t = arg;
	struct hook_item item;
	uint64_t now_ns, closed_ns;

	worker_lock(&t->worker);
	do {
		while (closed_ns = t->hooks->closed_ns, now_ns = clock_mono_ns(),
		       hook_queue_take(&t->queue, now_ns, closed_ns, &item)) {
			if (closed_ns && now_ns >= closed_ns) {
				t->closing++;
			} else {
				worker_unlock(&t->worker);
				hooks_send(t, &item);
				worker_lock(&t->worker);
			}
			free(item.line);
		}
	} while (hooks_await(t));
	worker_unlock(&t->worker);
}

static int hooks_start(struct hook_thread *t)
{
	int err = worker_start(&t->worker, "hook", hooks_run, t);

	if (err)
		log_error("--on %s: cannot start a thread: %s", t->hook.label, strerror(-err));
	return err;
}

/* ---- the exporter ---------------------------------------------------------------------------- */

static int hooks_thread_open(struct hooks *hs, struct hook_thread *t, const char *spec)
{
	char why[HOOK_WHY_MAX];
	int err;

	t->hooks = hs;
	worker_init(&t->worker);
	hs->count++; /* count it now, so that a partly opened hook is closed, too */
	err = hook_parse(&t->hook, spec);
	if (err)
		return err;
	if (t->hook.url) {
		err = web_open(&t->web);
	} else if (hook_file_program(t->hook.words[0], hs->user.uid, t->program, why,
				     sizeof(why))) {
		log_error("--on %.*s=%s: %s", (int)strcspn(spec, "="), spec, t->hook.label, why);
		err = -EINVAL;
	}
	return err ? err : hooks_start(t);
}

static void hooks_end(void *state, bool soon)
{
	struct hooks *hs = state;
	uint64_t one = 1;

	if (hs->closed_ns)
		return;
	hs->closed_ns = clock_mono_ns() + (soon ? SOON_NS : CLOSE_NS);
	if (write(hs->wake_fd, &one, sizeof(one)) != sizeof(one))
		log_debug("--on: cannot wake the hooks: %s", strerror(errno)); /* they end later */
	for (int i = 0; i < hs->count; i++) {
		worker_lock(&hs->thread[i].worker);
		worker_wake(&hs->thread[i].worker);
		worker_unlock(&hs->thread[i].worker);
	}
}

static int hooks_close(void *state)
{
	struct hooks *hs = state;

	hooks_end(hs, false);
	for (int i = 0; i < hs->count; i++) {
		struct hook_thread *t = &hs->thread[i];

		worker_ended(&t->worker, hs->closed_ns);
		if (t->web)
			web_cancel(t->web);
		worker_free(&t->worker);
		web_close(t->web);
		hook_queue_free(&t->queue);
		hook_free(&t->hook);
	}
	if (hs->wake_fd >= 0)
		close(hs->wake_fd);
	buffer_free(&hs->line);
	free(hs->thread);
	free(hs);
	return 0;
}

static int hooks_open(void **ret_state, const char *arg, const struct export_options *opt)
{
	struct hooks *hs = calloc(1, sizeof(*hs));
	int err;

	(void)arg;
	if (!hs)
		return -ENOMEM;
	hs->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	hs->thread = calloc((size_t)opt->nhooks, sizeof(*hs->thread));
	err = hs->wake_fd < 0 || !hs->thread ? -ENOMEM : 0;
	if (gethostname(hs->host, sizeof(hs->host) - 1))
		hs->host[0] = '\0';
	if (!err && opt->nhooks > HOOKS_MAX) {
		log_error(
			"--on: more than %d hooks; name several events in one: --on EVENT,EVENT=ACTION",
			HOOKS_MAX);
		err = -EINVAL;
	}
	if (!err)
		err = hook_user_find(&hs->user, opt->hook_user);
	for (int i = 0; !err && i < opt->nhooks; i++)
		err = hooks_thread_open(hs, &hs->thread[i], opt->hooks[i]);
	if (err) {
		hooks_close(hs);
		return err == -EPERM ? -EINVAL
				     : err; /* callers treat -EPERM as a missing privilege */
	}
	*ret_state = hs;
	return 0;
}

static void hooks_fact(void *state, const struct fact *f)
{
	enum hook_event event = f->repeated ? HOOK_EVENTS : hook_event_of(f);
	struct hook_item item = {.event = event};
	struct hooks *hs = state;
	uint64_t now_ns;
	bool over;

	if (event == HOOK_EVENTS)
		return;
	over = f->type == FACT_HEALTH && f->health->over;
	now_ns = clock_mono_ns();
	buffer_clear(&hs->line);
	json_line(&hs->line, f, NULL);
	if (hs->line.failed || hs->line.len < 2)
		return;
	item.line = hs->line.data;
	item.len = hs->line.len - 2; /* without "}\n" */
	snprintf(item.job, sizeof(item.job), "%s", f->job ? f->job : "");
	if (f->type == FACT_HEALTH) {
		snprintf(item.why, sizeof(item.why), "%s", f->health->why);
		snprintf(item.at, sizeof(item.at), "%s", f->health->line ? f->health->line : "");
	}
	for (int i = 0; i < hs->count; i++) {
		struct hook_thread *t = &hs->thread[i];

		if (!(t->hook.events & 1u << event))
			continue;
		worker_lock(&t->worker);
		hook_queue_put(&t->queue, now_ns, &item, over);
		worker_wake(&t->worker);
		worker_unlock(&t->worker);
	}
}

static void hooks_view(void *state, struct export_view *ret)
{
	static const char *const cause[] = {"rate", "queue", "failed", "timeout", "closing"};
	uint64_t count[] = {0, 0, 0, 0, 0};
	struct hooks *hs = state;

	_Static_assert(sizeof(cause) / sizeof(cause[0]) <= EXPORT_CAUSES, "room for each cause");
	*ret = (struct export_view){.name = export_hooks.name,
				    .up = true,
				    .ndropped = sizeof(cause) / sizeof(cause[0])};
	for (int i = 0; i < hs->count; i++) {
		struct hook_thread *t = &hs->thread[i];

		worker_lock(&t->worker);
		ret->up &= !t->broken;
		ret->sent += t->sent;
		ret->waiting += t->queue.waiting;
		ret->last_ns = t->last_ns > ret->last_ns ? t->last_ns : ret->last_ns;
		count[0] += t->queue.superseded;
		count[1] += t->queue.full;
		count[2] += t->failed;
		count[3] += t->timeout;
		count[4] += t->closing;
		if (t->broken)
			snprintf(ret->trouble, sizeof(ret->trouble), "%.80s: %.100s", t->hook.label,
				 t->trouble);
		worker_unlock(&t->worker);
	}
	for (uint32_t i = 0; i < ret->ndropped; i++) {
		ret->dropped[i].cause = cause[i];
		ret->dropped[i].count = count[i];
	}
}

const struct exporter export_hooks = {
	.name = "hooks",
	.help = "actions of --on",
	.open = hooks_open,
	.fact = hooks_fact,
	.view = hooks_view,
	.end = hooks_end,
	.close = hooks_close,
};
