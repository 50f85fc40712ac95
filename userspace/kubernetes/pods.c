/* SPDX-License-Identifier: Apache-2.0 */
/* pods.c - finds out whether this machine is in a Kubernetes cluster, and starts the threads that
 * follow its pods. */
#include "userspace/kubernetes/pods_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"

#define NODE_MAX 253 /* limit of a node's name in bytes (RFC 1123) */

const struct pods_intervals pods_usual_intervals = {
	.backoff = {.first_ns = 1000000000, .most_ns = 60000000000, .least_ns = 100000000},
	.watch_s = 300,
	.watch_grace_s = 15,
	.list_s = 60,
	.token_s = 60,
	.kubelet_s = 10,
	.metadata_s = 5,
};

/* ---- configuration */

static char *pods_node(const char *given)
{
	char host[NODE_MAX + 2] = "";

	if (!given)
		given = access_environment("NODE_NAME");
	if (given)
		return strdup(given);
	if (gethostname(host, sizeof(host) - 1))
		host[0] = '\0';
	for (char *c = host; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a'); /* as the kubelet does */
	return strdup(host);
}

static int pods_find_node(struct pods *p, const char *given)
{
	p->node = pods_node(given);
	if (!p->node)
		return -ENOMEM;
	if (access_is_plain(p->node, "", NODE_MAX))
		return 0;
	log_error(
		"Kubernetes: cannot follow the pods of this node: its name is unknown; set NODE_NAME (spec.nodeName)");
	return -EINVAL;
}

static int pods_access(struct pods *p, struct pods_worker *w, const struct pods_config *cfg)
{
	int err = access_open(&w->access, cfg->kubelet ? "kubelet" : "Kubernetes API server",
			      cfg->kubelet ? cfg->kubelet : cfg->server, cfg->token_file,
			      cfg->ca_file, p->intervals.token_s);

	w->pods = p;
	w->access.unverified = cfg->kubelet && cfg->kubelet_insecure;
	return err == -EDESTADDRREQ ? -EINVAL : err;
}

/* ---- threads */

static int pods_start(struct pods *p, unsigned which, worker_fn *fn)
{
	int err = worker_start(&p->threads, "kubernetes", fn, &p->workers[which]);

	if (err)
		log_error(
			"Kubernetes: cannot read the pods of this node: cannot start a thread: %s",
			strerror(-err));
	return err;
}

int pods_open_with_intervals(struct pods **ret, const struct pods_config *cfg,
			     const struct pods_intervals *intervals)
{
	struct pods *p = calloc(1, sizeof(*p));
	int err = 0;

	*ret = NULL;
	if (!p)
		return -ENOMEM;
	worker_init(&p->threads);
	p->intervals = *intervals;
	p->view.here = true;
	for (unsigned i = 0; !err && i < WORKER_THREADS; i++)
		err = pods_access(p, &p->workers[i], cfg);
	if (err || !p->workers[0].access.server) {
		pods_close(p);
		return err;
	}
	err = pods_find_node(p, cfg->node);
	if (!err)
		err = pods_start(p, WORKER_PODS,
				 cfg->kubelet ? pods_watch_kubelet : pods_watch_pods);
	if (!err && !cfg->kubelet)
		err = pods_start(p, WORKER_NODE, pods_watch_node);
	if (!err)
		err = pods_start(p, WORKER_METADATA, pods_watch_metadata);
	if (err)
		pods_close(p);
	else
		*ret = p;
	return err;
}

int pods_open(struct pods **ret, const struct pods_config *cfg)
{
	return pods_open_with_intervals(ret, cfg, &pods_usual_intervals);
}

void pods_close(struct pods *p)
{
	if (!p)
		return;
	worker_stop(&p->threads);
	for (unsigned i = 0; i < WORKER_THREADS; i++)
		if (p->workers[i].access.web)
			web_cancel(p->workers[i].access.web);
	worker_free(&p->threads);
	for (unsigned i = 0; i < WORKER_THREADS; i++)
		access_free(&p->workers[i].access);
	for (uint32_t i = 0; i < p->nrows; i++)
		free(p->rows[i]);
	free(p->node);
	free(p);
}

/* ---- state */

void pods_get_view(const struct pods *p, struct pods_view *ret)
{
	/* Cast away const, because the lock must be writable; the view itself does not change. */
	struct pods *q = (struct pods *)p;
	const struct pods_worker *w;

	memset(ret, 0, sizeof(*ret));
	if (!p)
		return;
	worker_lock(&q->threads);
	*ret = p->view;
	ret->current = p->listed && p->workers[WORKER_PODS].current;
	for (uint32_t i = 0; i < p->nrows; i++)
		ret->pods += !p->rows[i]->pod.gone;
	w = &p->workers[p->workers[WORKER_PODS].trouble[0] ? WORKER_PODS : WORKER_NODE];
	memcpy(ret->trouble, w->trouble, sizeof(ret->trouble));
	worker_unlock(&q->threads);
}
