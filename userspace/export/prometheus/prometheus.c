/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus.c - the exporters of --export prometheus (--listen) and of the unix socket for `gp-bpf
 * top`, which serves the same pages. The main thread only swaps the pointer to the latest snapshot;
 * the server's thread writes a page when a client requests it. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/base/path.h"
#include "userspace/export/exporter.h"
#include "userspace/http/http.h"
#include "userspace/export/prometheus/prometheus_text.h"

#define STUCK_S 60 /* seconds without a snapshot after which the server reports unhealthy */

struct prometheus {
	struct http_server *http;
	pthread_mutex_t lock; /* protects latest; held only for the swap */
	struct snapshot *latest;
	struct prometheus_own own; /* used by the server's thread */
	void (*state_json)(struct buffer *out, const struct snapshot *s);
	void (*state_masked)(struct buffer *out, const struct snapshot *s);
};

static struct snapshot *prometheus_latest(struct prometheus *p)
{
	struct snapshot *s;

	pthread_mutex_lock(&p->lock);
	s = p->latest ? snapshot_ref(p->latest) : NULL;
	pthread_mutex_unlock(&p->lock);
	return s;
}

static uint64_t prometheus_version(void *ctx)
{
	struct prometheus *p = ctx;
	uint64_t number;

	pthread_mutex_lock(&p->lock);
	number = p->latest && (!p->latest->node.on || p->latest->node.ready) ? p->latest->number
									     : 0;
	pthread_mutex_unlock(&p->lock);
	return number;
}

static void prometheus_render(void *ctx, struct buffer *out, enum prometheus_format format)
{
	struct prometheus *p = ctx;
	struct snapshot *s = prometheus_latest(p);

	prometheus_own_read(&p->own);
	prometheus_text_own(out, s, &p->own, format);
	snapshot_unref(s);
}

/* Writes the state for `gp-bpf top`. Called only when there is a snapshot. */
static void prometheus_state(void *ctx, struct buffer *out)
{
	struct prometheus *p = ctx;
	struct snapshot *s = prometheus_latest(p);

	p->state_json(out, s);
	snapshot_unref(s);
}

static void prometheus_state_masked(void *ctx, struct buffer *out)
{
	struct prometheus *p = ctx;
	struct snapshot *s = prometheus_latest(p);

	p->state_masked(out, s);
	snapshot_unref(s);
}

static struct prometheus *prometheus_new(const struct export_options *opt, struct http_source *ret)
{
	struct prometheus *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	p->state_json = opt->state_json;
	p->state_masked = opt->state_masked;
	*ret = (struct http_source){p,
				    prometheus_version,
				    prometheus_render,
				    p->state_json ? prometheus_state : NULL,
				    STUCK_S,
				    p->state_masked ? prometheus_state_masked : NULL};
	return p;
}

static void prometheus_free(struct prometheus *p)
{
	snapshot_unref(p->latest);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static int prometheus_open(void **ret_state, const char *arg, const struct export_options *opt)
{
	const char *listen = arg && *arg ? arg : opt->listen;
	struct http_source source;
	struct prometheus *p = prometheus_new(opt, &source);
	int err;

	if (!p)
		return -ENOMEM;
	err = http_open(&p->http, listen, opt->web_config, &source);
	if (err) {
		prometheus_free(p);
		return err;
	}
	log_info("metrics at %s, path /metrics (%s)", http_address(p->http),
		 http_protection(p->http));
	if (http_exposed(p->http))
		log_warn(
			"--listen %s: anyone who can reach the port can read the metrics; to restrict access, set users or client certificates in --web-config",
			listen ? listen : http_address(p->http));
	*ret_state = p;
	return 0;
}

static void prometheus_snapshot(void *state, struct snapshot *s)
{
	struct prometheus *p = state;
	struct snapshot *old, *own = snapshot_ref(s);

	pthread_mutex_lock(&p->lock);
	old = p->latest;
	p->latest = own;
	pthread_mutex_unlock(&p->lock);
	snapshot_unref(old);
	http_tick(p->http);
}

static int prometheus_close(void *state)
{
	struct prometheus *p = state;

	http_close(p->http);
	prometheus_free(p);
	return 0;
}

const struct exporter export_prometheus = {
	.name = "prometheus",
	.help = "metrics over HTTP, at --listen (default 127.0.0.1:9847)",
	.spec = {"prometheus"},
	.usage = {[EXPORT_EVENTS] = "prometheus"},
	.serves = true,
	.open = prometheus_open,
	.snapshot = prometheus_snapshot,
	.close = prometheus_close,
};

/* Opens the socket, and makes its folder if it is missing. A failure is logged; the service
 * continues without the socket. */
static int prometheus_socket_open(void **ret_state, const char *path,
				  const struct export_options *opt)
{
	struct http_source source;
	struct prometheus *p = prometheus_new(opt, &source);
	char folder[PATH_MAX];
	int err;

	if (!p)
		return -ENOMEM;
	snprintf(folder, sizeof(folder), "%s", path);
	path_make(dirname(folder), 0700);
	err = http_open_own(&p->http, path, &source);
	if (err) {
		log_warn("%s: cannot listen: %s; gp-bpf top cannot read this service", path,
			 err == -ENAMETOOLONG ? "the path is too long for a socket"
					      : strerror(-err));
		prometheus_free(p);
		p = NULL;
	}
	*ret_state = p;
	return 0;
}

static void prometheus_socket_snapshot(void *state, struct snapshot *s)
{
	if (state)
		prometheus_snapshot(state, s);
}

static int prometheus_socket_close(void *state)
{
	return state ? prometheus_close(state) : 0;
}

const struct exporter export_socket = {
	.name = "socket",
	.open = prometheus_socket_open,
	.snapshot = prometheus_socket_snapshot,
	.close = prometheus_socket_close,
};
