/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loader/attach/attach.h"
#include "loader/attach/deferred_close.h"
#include "loader/attach/pin.h"
#include "loader/attach/parallel.h"
#include "userspace/base/clock.h"
#include "userspace/base/hash.h"
#include "userspace/base/log.h"
#include "userspace/base/plural.h"

#define CLOSING_REPORT_NS 5000000000ull

/* Tag of links made elsewhere; attach_drop() never closes them */
#define TAG_ADOPTED (UINT64_MAX - 1)

/* One link of the kernel: it keeps a BPF program attached to one site, or to many */
struct link {
	uint64_t tag;
	unsigned int group;
	bool old, deferred;
	/* Libbpf's object for the link; NULL: the link has only a descriptor, fd */
	struct bpf_link *object;
	int fd;
	char pin[PIN_NAME_MAX]; /* name of the link's pin; "": not pinned */
};

struct attach {
	struct link *links;
	size_t count, room;
	bool multi;
	struct pins *pins;
};

/* A copy of the kernel's union bpf_attr.link_create.uprobe_multi (since Linux 6.6, commit
 * 89ae89f53d20), which the headers of libbpf 1.1 lack. */
struct multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, path_fd;
};
#define MULTI_RETURN	1  /* BPF_F_UPROBE_MULTI_RETURN of newer kernel headers */
#define CMD_LINK_CREATE 28 /* BPF_LINK_CREATE */

int attach_multi_link(int prog_fd, uint32_t attach_type, const char *path, bool returns,
		      const uint64_t *offsets, const uint64_t *cookies, uint32_t n)
{
	struct multi_attr attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = attach_type,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.cookies = (uintptr_t)cookies,
		.count = n,
		.multi_flags = returns ? MULTI_RETURN : 0,
	};
	int fd = (int)syscall(SYS_bpf, CMD_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

int attach_new(struct attach **ret, bool multi, struct pins *pins)
{
	struct attach *at = calloc(1, sizeof(*at));

	if (!at)
		return -ENOMEM;
	at->multi = multi;
	at->pins = pins;
	*ret = at;
	return 0;
}

static void attach_link_close(const struct link *link)
{
	if (link->object)
		bpf_link__destroy(link->object);
	else
		close(link->fd);
}

/* Makes room for one more link. Called before the link is created, so that adding the link cannot
 * fail. */
static int attach_link_room(struct attach *at)
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

int attach_adopt(struct attach *at, struct bpf_link *link, bool deferred)
{
	int err = attach_link_room(at);

	if (err)
		bpf_link__destroy(link);
	else
		at->links[at->count++] = (struct link){
			.tag = TAG_ADOPTED, .deferred = deferred, .object = link};
	return err;
}

int attach_adopt_fd(struct attach *at, int attach_link_fd, bool deferred)
{
	int err = attach_link_room(at);

	if (err)
		close(attach_link_fd);
	else
		at->links[at->count++] = (struct link){
			.tag = TAG_ADOPTED, .deferred = deferred, .fd = attach_link_fd};
	return err;
}

struct request { /* arguments of attach_sites() that are the same for all sites */
	struct attach *at;
	const struct attach_set *set;
	const char *path;
};

/* Makes the name of a link from the offsets and cookies of its sites: a successor finds the link
 * only if it would create an identical one. */
static void attach_link_name(const struct request *rq, const struct attach_site *sites, size_t n,
			     char name[PIN_NAME_MAX])
{
	uint64_t h = HASH_START;

	for (size_t i = 0; i < n; i++) {
		h = hash_word(h, sites[i].offset);
		h = hash_word(h ^ h >> 29, sites[i].cookie);
	}
	snprintf(name, PIN_NAME_MAX, "%s-%zu-%016lx", rq->set->name, n, (unsigned long)h);
}

/* Adds a link, after attach_link_room(). If pinning fails, the link works, but ends with this
 * process. */
static void attach_link_add(const struct request *rq, struct bpf_link *object, int fd,
			    const struct attach_site *sites, size_t n, bool pinned)
{
	struct attach *at = rq->at;
	struct link *link = &at->links[at->count++];
	int err = 0;

	*link = (struct link){
		.tag = rq->set->tag, .group = rq->set->group, .object = object, .fd = fd};
	if (!at->pins || !rq->set->name)
		return;
	attach_link_name(rq, sites, n, link->pin);
	if (!pinned)
		err = pins_put(at->pins, link->pin, object ? bpf_link__fd(object) : fd);
	if (!err)
		return;
	log_warn(
		"--durable: a link cannot be pinned: %s; its probes will be detached when gp-bpf exits",
		strerror(-err));
	link->pin[0] = 0;
}

static int attach_site_attach_perf(const struct request *rq, const struct attach_site *site)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = site->cookie,
		    .retprobe = rq->set->returns);
	struct bpf_link *link;
	int err = attach_link_room(rq->at);

	if (err)
		return err;
	link = bpf_program__attach_uprobe_opts(rq->set->prog, -1, rq->path, site->offset, &opts);
	if (!link)
		return -errno;
	attach_link_add(rq, link, -1, site, 1, false);
	return 0;
}

static int attach_sites_attach_multi(const struct request *rq, const struct attach_site *sites,
				     size_t n)
{
	uint64_t *offsets = calloc(2 * n, sizeof(*offsets));
	int fd, err = attach_link_room(rq->at);

	if (!offsets || err) {
		free(offsets);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		offsets[i] = sites[i].offset;
		offsets[n + i] = sites[i].cookie;
	}
	fd = attach_multi_link(bpf_program__fd(rq->set->prog), ATTACH_UPROBE_MULTI, rq->path,
			       rq->set->returns, offsets, offsets + n, (uint32_t)n);
	free(offsets);
	if (fd < 0)
		return fd;
	attach_link_add(rq, NULL, fd, sites, n, false);
	return 0;
}

/* Attaches a set of sites. If the kernel refuses the set, attaches each half of it in the same way
 * (depth log2(n)), until each bad offset is alone. */
static void attach_sites_bisect(const struct request *rq, struct attach_site *sites, size_t n)
{
	int err = n == 1 && !rq->at->multi ? attach_site_attach_perf(rq, sites)
		  : rq->at->multi	   ? attach_sites_attach_multi(rq, sites, n)
					   : -EINVAL;

	if (err != -EINVAL || n == 1) {
		for (size_t i = 0; i < n; i++)
			sites[i].error = err;
		return;
	}
	attach_sites_bisect(rq, sites, n / 2);
	attach_sites_bisect(rq, sites + n / 2, n - n / 2);
}

static bool attach_sites_claim(const struct request *rq, const struct attach_site *sites, size_t n)
{
	char name[PIN_NAME_MAX];
	int fd;

	if (attach_link_room(rq->at))
		return false;
	attach_link_name(rq, sites, n, name);
	fd = pins_claim(rq->at->pins, name);
	if (fd < 0)
		return false;
	attach_link_add(rq, NULL, fd, sites, n, true);
	return true;
}

/* Takes over the predecessor's links, whole or in the halves into which the predecessor had split
 * them. Attaches the sites that the predecessor had not reached. */
static void attach_sites_take_over(const struct request *rq, struct attach_site *sites, size_t n)
{
	if (attach_sites_claim(rq, sites, n)) {
		for (size_t i = 0; i < n; i++)
			sites[i].error = 0;
	} else if (n == 1 || !pins_waiting(rq->at->pins, rq->set->name)) {
		attach_sites_bisect(rq, sites, n);
	} else {
		attach_sites_take_over(rq, sites, n / 2);
		attach_sites_take_over(rq, sites + n / 2, n - n / 2);
	}
}

int attach_sites(struct attach *at, const struct attach_set *set, struct attach_site *sites,
		 size_t n)
{
	char path[32];
	struct request rq = {at, set, path};

	if (!n)
		return 0;
	/* Attach through the descriptor of the file that was read: its path may name another file
	 * by now. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", set->fd);
	if (!at->pins || !set->name || !pins_waiting(at->pins, set->name)) {
		attach_sites_bisect(&rq, sites, n);
		return 0;
	}
	attach_sites_take_over(&rq, sites, n);
	/* Remove the predecessor's links that were not taken over: they are at sites that the file
	 * no longer has, because it was changed */
	pins_drop_waiting(at->pins, set->name);
	return 0;
}

/* Returns the seconds that closing this number of single-probe links takes: the kernel closes one
 * at a time, in 60 to 110 ms (measured on 6.1 and 6.18). Closing multi links takes almost no time.
 */
static size_t attach_close_s(const struct attach *at, size_t links)
{
	return at->multi ? 0 : links / 12;
}

void attach_warn_slow(const struct attach *at)
{
	size_t s = attach_close_s(at, at->count);

	if (s)
		log_warn(
			"detaching %zu probe%s will take about %zu s: this kernel cannot attach many probes by one link (feature multi)",
			at->count, plural(at->count), s);
}

/* State of the progress messages while many links are closed */
struct closing {
	const struct link *links;
	size_t count;
	/* Time of the last progress message; 0: log no progress, as closing is quick */
	uint64_t reported_ns;
};

static void attach_closing_report(void *ctx, size_t begun)
{
	struct closing *c = ctx;
	uint64_t now_ns = clock_mono_ns();

	if (!c->reported_ns || begun >= c->count || now_ns - c->reported_ns < CLOSING_REPORT_NS)
		return;
	c->reported_ns = now_ns;
	log_warn("detaching: %zu of %zu probes remain", c->count - begun, c->count);
}

static void attach_closing_close(void *ctx, size_t i)
{
	const struct closing *c = ctx;

	attach_link_close(&c->links[i]);
}

static void attach_links_close(const struct attach *at, const struct link *links, size_t count)
{
	size_t s = attach_close_s(at, count);
	struct closing c = {.links = links, .count = count, .reported_ns = s ? clock_mono_ns() : 0};

	if (s)
		log_warn("detaching %zu probe%s one by one takes about %zu s", count, plural(count),
			 s);
	parallel_each(count, attach_closing_close, attach_closing_report, &c);
}

/* Pins are removed first, so that links end with this process even if closing is interrupted. */
static void attach_links_drop(struct attach *at,
			      bool (*chosen)(const struct link *link, const void *ctx),
			      const void *ctx)
{
	size_t kept = 0, gone;
	struct link swap;

	for (size_t i = 0; i < at->count; i++) {
		if (chosen(&at->links[i], ctx)) {
			if (at->links[i].pin[0])
				pins_remove(at->pins, at->links[i].pin);
			continue;
		}
		swap = at->links[kept];
		at->links[kept++] = at->links[i];
		at->links[i] = swap;
	}
	gone = at->count - kept;
	at->count = kept;
	attach_links_close(at, at->links + kept, gone);
}

static bool attach_link_has_tag(const struct link *link, const void *ctx)
{
	return link->tag == ((const struct attach_set *)ctx)->tag;
}

static bool attach_link_has_group(const struct link *link, const void *ctx)
{
	return attach_link_has_tag(link, ctx) &&
	       link->group == ((const struct attach_set *)ctx)->group;
}

static bool attach_link_is_aged(const struct link *link, const void *old)
{
	return link->tag != TAG_ADOPTED && link->old == *(const bool *)old;
}

static bool attach_link_is_any(const struct link *link, const void *ctx)
{
	(void)link;
	(void)ctx;
	return true;
}

void attach_drop(struct attach *at, uint64_t tag)
{
	attach_links_drop(at, attach_link_has_tag, &(struct attach_set){.tag = tag});
}

void attach_drop_group(struct attach *at, uint64_t tag, unsigned int group)
{
	attach_links_drop(at, attach_link_has_group,
			  &(struct attach_set){.tag = tag, .group = group});
}

void attach_age(struct attach *at)
{
	for (size_t i = 0; i < at->count; i++)
		at->links[i].old = at->links[i].tag != TAG_ADOPTED;
}

void attach_drop_aged(struct attach *at, bool old)
{
	attach_links_drop(at, attach_link_is_aged, &old);
}

static int attach_link_fd(const struct link *link)
{
	return link->object ? bpf_link__fd(link->object) : link->fd;
}

/* Closes all links. The kernel closes links with deferred close later; all others are closed when
 * this function returns. */
static void attach_links_drop_all(struct attach *at)
{
	int folder = deferred_close_open();

	for (size_t i = 0; folder >= 0 && i < at->count; i++)
		if (at->links[i].deferred)
			deferred_close_add(folder, i, attach_link_fd(&at->links[i]));
	attach_links_drop(at, attach_link_is_any, NULL);
	if (folder >= 0)
		close(folder);
}

void attach_free(struct attach *at, bool keep)
{
	if (!at)
		return;
	/* Separate the links from libbpf's objects: destroying the object of a perf link would
	 * disable the probe even if the link is pinned. Closing the link's descriptor does not
	 * disable it. */
	if (keep)
		for (size_t i = 0; i < at->count; i++)
			if (at->links[i].object)
				bpf_link__disconnect(at->links[i].object);
	if (!keep)
		attach_links_drop_all(at);
	else
		attach_links_close(at, at->links, at->count);
	free(at->links);
	free(at);
}
