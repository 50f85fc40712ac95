/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loader/attach.h"

#define CLOSERS_MAX 64 /* closing sleeps in the kernel (RCU), so threads cost nothing but their stacks */

#define TAG_ADOPTED (UINT64_MAX - 1) /* nobody drops these alone */

struct link {
	uint64_t tag;
	struct bpf_link *object; /* NULL: */
	int multi_fd;
};

struct attach {
	struct link *links;
	size_t count, room;
	bool multi;
};

/* union bpf_attr.link_create.uprobe_multi, include/uapi/linux/bpf.h since 89ae89f53d20 (v6.6); libbpf
 * 1.1 does not know it. */
struct multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, path_fd;
};
#define ATTACH_UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI */
#define MULTI_RETURN	    1  /* BPF_F_UPROBE_MULTI_RETURN */
#define CMD_LINK_CREATE	    28 /* BPF_LINK_CREATE */

int attach_multi_link(int prog_fd, const char *path, bool returns, const uint64_t *offsets,
		      const uint64_t *cookies, uint32_t n)
{
	struct multi_attr attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.cookies = (uintptr_t)cookies,
		.count = n,
		.multi_flags = returns ? MULTI_RETURN : 0,
	};
	int fd = (int)syscall(SYS_bpf, CMD_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

int attach_new(struct attach **ret, bool multi)
{
	struct attach *at = calloc(1, sizeof(*at));

	if (!at)
		return -ENOMEM;
	at->multi = multi;
	*ret = at;
	return 0;
}

static void link_close(const struct link *link)
{
	if (link->object)
		bpf_link__destroy(link->object);
	else
		close(link->multi_fd);
}

/* Room is made before the link, so that no link can be without an owner. */
static int link_room(struct attach *at)
{
	size_t room = at->room ? at->room * 2 : 32;
	struct link *links;

	if (at->count < at->room)
		return 0;
	links = reallocarray(at->links, room, sizeof(*links));
	if (!links)
		return -ENOMEM;
	at->links = links;
	at->room = room;
	return 0;
}

int attach_adopt(struct attach *at, struct bpf_link *link)
{
	int err = link_room(at);

	if (err)
		bpf_link__destroy(link);
	else
		at->links[at->count++] = (struct link){.tag = TAG_ADOPTED, .object = link};
	return err;
}

struct request { /* what all sites of one call share */
	struct attach *at;
	uint64_t tag;
	const struct bpf_program *prog;
	const char *path;
	bool returns;
};

static int site_attach_perf(const struct request *rq, struct attach_site *site)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = site->cookie, .retprobe = rq->returns);
	struct bpf_link *link;
	int err = link_room(rq->at);

	if (err)
		return err;
	link = bpf_program__attach_uprobe_opts(rq->prog, -1, rq->path, site->offset, &opts);
	if (!link)
		return -errno;
	rq->at->links[rq->at->count++] = (struct link){.tag = rq->tag, .object = link};
	return 0;
}

static int sites_attach_multi(const struct request *rq, const struct attach_site *sites, size_t n)
{
	uint64_t *offsets = calloc(2 * n, sizeof(*offsets));
	int fd, err = link_room(rq->at);

	if (!offsets || err) {
		free(offsets);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		offsets[i] = sites[i].offset;
		offsets[n + i] = sites[i].cookie;
	}
	fd = attach_multi_link(bpf_program__fd(rq->prog), rq->path, rq->returns, offsets, offsets + n,
			       (uint32_t)n);
	free(offsets);
	if (fd < 0)
		return fd;
	rq->at->links[rq->at->count++] = (struct link){.tag = rq->tag, .multi_fd = fd};
	return 0;
}

/* Depth is log2(n): both halves of a refused set are tried on their own. */
static void sites_bisect(const struct request *rq, struct attach_site *sites, size_t n)
{
	int err = sites_attach_multi(rq, sites, n);

	if (err != -EINVAL || n == 1) {
		for (size_t i = 0; i < n; i++)
			sites[i].error = err;
		return;
	}
	sites_bisect(rq, sites, n / 2);
	sites_bisect(rq, sites + n / 2, n - n / 2);
}

int attach_sites(struct attach *at, uint64_t tag, const struct bpf_program *prog, bool returns, int fd,
		 struct attach_site *sites, size_t n)
{
	char path[32];
	struct request rq = {at, tag, prog, path, returns};

	if (!n)
		return 0;
	/* By descriptor: the file is the one that was looked at, whatever its path names by now. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (at->multi) {
		sites_bisect(&rq, sites, n);
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		sites[i].error = site_attach_perf(&rq, &sites[i]);
	return 0;
}

struct closing {
	const struct link *links;
	size_t count;
	atomic_size_t next;
};

static void *closer_run(void *arg)
{
	struct closing *c = arg;
	size_t i;

	while ((i = atomic_fetch_add(&c->next, 1)) < c->count)
		link_close(&c->links[i]);
	return NULL;
}

/* Each close waits for a grace period of its own (24-44 ms); waiting together takes one. */
static void links_close(const struct link *links, size_t count)
{
	struct closing c = {.links = links, .count = count};
	pthread_t threads[CLOSERS_MAX];
	size_t started = 0;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	while (started < CLOSERS_MAX && started + 1 < count) {
		if (pthread_create(&threads[started], &attr, closer_run, &c))
			break;
		started++;
	}
	closer_run(&c);
	while (started)
		pthread_join(threads[--started], NULL);
	pthread_attr_destroy(&attr);
}

void attach_drop(struct attach *at, uint64_t tag)
{
	size_t kept = 0, gone;
	struct link swap;

	for (size_t i = 0; i < at->count; i++) {
		if (at->links[i].tag == tag)
			continue;
		swap = at->links[kept];
		at->links[kept++] = at->links[i];
		at->links[i] = swap;
	}
	gone = at->count - kept;
	at->count = kept;
	links_close(at->links + kept, gone);
}

void attach_free(struct attach *at)
{
	if (!at)
		return;
	links_close(at->links, at->count);
	free(at->links);
	free(at);
}
