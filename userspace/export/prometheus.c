/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus: --export prometheus, --listen. The collecting thread only swaps a pointer; text is made on
 * the server's thread, when somebody asks. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "userspace/base/log.h"
#include "userspace/export/exporter.h"
#include "userspace/export/http.h"
#include "userspace/export/prometheus_text.h"

struct prometheus {
	struct http_server *http;
	pthread_mutex_t lock; /* of latest, held for the swap alone */
	struct snapshot *latest;
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
	number = p->latest ? p->latest->number : 0;
	pthread_mutex_unlock(&p->lock);
	return number;
}

static void prometheus_render(void *ctx, struct buffer *out)
{
	struct snapshot *s = prometheus_latest(ctx);

	prometheus_text(out, s);
	snapshot_unref(s);
}

static int prometheus_open(void **ret_state, const char *arg, const struct export_options *opt)
{
	struct prometheus *p = calloc(1, sizeof(*p));
	const char *listen = arg && *arg ? arg : opt->listen;
	int err;

	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	err = http_open(
		&p->http, listen,
		&(struct http_source){p, PROMETHEUS_CONTENT_TYPE, prometheus_version, prometheus_render});
	if (err) {
		pthread_mutex_destroy(&p->lock);
		free(p);
		return err;
	}
	log_info("metrics at %s, path /metrics", http_address(p->http));
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
}

static int prometheus_close(void *state)
{
	struct prometheus *p = state;

	http_close(p->http);
	snapshot_unref(p->latest);
	pthread_mutex_destroy(&p->lock);
	free(p);
	return 0;
}

const struct exporter export_prometheus = {
	.name = "prometheus",
	.help = "metrics over HTTP, at --listen (default 127.0.0.1:9847)",
	.open = prometheus_open,
	.snapshot = prometheus_snapshot,
	.close = prometheus_close,
};
