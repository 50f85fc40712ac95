/* SPDX-License-Identifier: Apache-2.0 */
/* pods.c - finds Kubernetes, and starts the threads that follow it. */
#include "userspace/kubernetes/pods_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"

#define NODE_MAX 253 /* length of a name, RFC 1123 */

const struct pods_intervals pods_usual_intervals = {
	.backoff_first_s = 1,
	.backoff_max_s = 60,
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
			*c = (char)(*c - 'A' + 'a'); /* the kubelet registers lower case */
	return strdup(host);
}

static int pods_configure(struct pods *p, const struct pods_config *cfg)
{
	const char *url;

	p->kubelet = cfg->kubelet ? strdup(cfg->kubelet) : NULL;
	p->kubelet_insecure = cfg->kubelet_insecure;
	p->node = pods_node(cfg->node);
	if (!p->node || (cfg->kubelet && !p->kubelet))
		return -ENOMEM;
	url = p->kubelet ? p->kubelet : p->server;
	/* A token is never sent without encryption. */
	if (!access_is_open(url)) {
		p->token_file = access_file(cfg->token_file, "token");
		p->ca_file = access_file(cfg->ca_file, "ca.crt");
		if (!p->token_file || !p->ca_file)
			return -ENOMEM;
	}
	if (!access_fits(p->kubelet ? "kubelet" : "Kubernetes API server", url))
		return -EINVAL;
	if (!access_is_plain(p->node, "", NODE_MAX)) {
		log_error(
			"the name of this node is unknown, so are its pods: set NODE_NAME (spec.nodeName)");
		return -EINVAL;
	}
	return 0;
}

/* ---- threads */

static void pods_free(struct pods *p)
{
	for (unsigned i = 0; i < WORKER_THREADS; i++)
		web_close(p->workers[i].web);
	for (uint32_t i = 0; i < p->nrows; i++)
		free(p->rows[i]);
	worker_free(&p->threads);
	free(p->node);
	free(p->server);
	free(p->token_file);
	free(p->ca_file);
	free(p->kubelet);
	free(p);
}

static int pods_start(struct pods *p, unsigned which, worker_fn *fn)
{
	struct pods_worker *w = &p->workers[which];
	int err;

	w->pods = p;
	err = web_open(&w->web);
	if (err)
		return err;
	err = worker_start(&p->threads, "kubernetes", fn, w);
	if (err)
		log_error("Kubernetes: a thread cannot be started: %s", strerror(-err));
	return err;
}

int pods_new(struct pods **ret, const struct pods_config *cfg,
	     const struct pods_intervals *intervals)
{
	char *server = access_server(cfg->server);
	struct pods *p;
	int err;

	*ret = NULL;
	if (!server && !cfg->kubelet)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p) {
		free(server);
		return -ENOMEM;
	}
	worker_init(&p->threads);
	p->server = server;
	p->intervals = *intervals;
	p->view.here = true;
	err = pods_configure(p, cfg);
	if (err)
		pods_free(p);
	else
		*ret = p;
	return err;
}

int pods_open_with_intervals(struct pods **ret, const struct pods_config *cfg,
			     const struct pods_intervals *intervals)
{
	struct pods *p;
	int err = pods_new(&p, cfg, intervals);

	*ret = NULL;
	if (err || !p)
		return err;
	err = pods_start(p, WORKER_PODS, p->kubelet ? pods_watch_kubelet : pods_watch_pods);
	if (!err && !p->kubelet)
		err = pods_start(p, WORKER_NODE, pods_watch_node);
	if (!err)
		err = pods_start(p, WORKER_METADATA, pods_watch_metadata);
	if (err) {
		pods_close(p);
		return err;
	}
	*ret = p;
	return 0;
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
		if (p->workers[i].web)
			web_cancel(p->workers[i].web);
	worker_join(&p->threads);
	pods_free(p);
}

/* ---- state */

void pods_get_view(const struct pods *p, struct pods_view *ret)
{
	/* Locking does not change the object for the caller. */
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
