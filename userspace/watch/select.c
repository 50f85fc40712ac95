/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/select.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/helper.h"
#include "userspace/base/buffer.h"
#include "userspace/base/clock.h"
#include "userspace/base/grow.h"
#include "userspace/base/log.h"
#include "userspace/base/proc_file.h"
#include "userspace/identity/place.h"
#include "userspace/identity/process.h"
#include "userspace/kubernetes/pods.h"

#define CGROUPS_BYTES (64 << 10)
#define CGROUP_MOUNT  "/sys/fs/cgroup"
#define CONTAINER_MIN 4 /* least number of digits of an id given with --container */
#define PODS_WAIT_NS  5000000000ull
#define KTHREADD      2

/* A process of this machine */
struct found {
	pid_t pid;
	uint32_t parent;
	bool means; /* the process matches --name, --cgroup, --container or --pod */
};

/* State of one search for the processes that the options select */
struct select {
	const struct options *o;
	const char *root;
	struct helper *helper; /* reads command lines; NULL: no --name */
	struct pods *pods;     /* NULL: no --pod */
	struct pod *pod;
	struct found *all;
	uint32_t count, cap;
	char cgroups[CGROUPS_BYTES];
};

/* ---- matching -------------------------------------------------------------------------------- */

static bool select_by_name(struct select *s, pid_t pid, const struct proc_stat *st)
{
	struct gp_process p;
	bool whole = s->o->names.count && !process_read_by_helper(s->helper, s->root, pid, &p);

	for (int i = 0; i < s->o->names.count; i++) {
		const char *glob = s->o->names.item[i];

		if (!fnmatch(glob, st->comm, 0) || (whole && !fnmatch(glob, p.command, 0)))
			return true;
	}
	return false;
}

/* Returns true if the process is in the control group `wanted` or in a group below it, in any
 * hierarchy. */
static bool select_by_cgroup(const struct select *s, const char *wanted)
{
	size_t len = strlen(wanted);

	while (len > 1 && wanted[len - 1] == '/')
		len--;
	for (const char *at = s->cgroups; *at; at += *at == '\n') {
		size_t n = strcspn(at, "\n");
		const char *path = memchr(at, ':', n);

		path = path ? memchr(path + 1, ':', n - (size_t)(path + 1 - at)) : NULL;
		if (path && n - (size_t)(path + 1 - at) >= len && !strncmp(path + 1, wanted, len) &&
		    (path[1 + len] == '/' || path + 1 + len == at + n))
			return true;
		at += n;
	}
	return false;
}

static bool select_by_pod(const struct select *s, const char *uid)
{
	const char *slash;

	if (!s->pods || !*uid || pods_get(s->pods, uid, s->pod))
		return false;
	for (int i = 0; i < s->o->pods.count; i++) {
		slash = strchr(s->o->pods.item[i], '/');
		if (!strncmp(s->pod->namespace, s->o->pods.item[i],
			     (size_t)(slash - s->o->pods.item[i])) &&
		    !s->pod->namespace[slash - s->o->pods.item[i]] &&
		    !strcmp(s->pod->name, slash + 1))
			return true;
	}
	return false;
}

static const char *select_group_wanted(const char *text)
{
	size_t mount = sizeof(CGROUP_MOUNT) - 1;

	return !strncmp(text, CGROUP_MOUNT "/", mount + 1) ? text + mount : text;
}

static bool select_by_place(struct select *s, pid_t pid)
{
	struct cgroup_place place = {0};

	if (!s->o->cgroups.count && !s->o->containers.count && !s->o->pods.count)
		return false;
	if (proc_slurp(s->root, pid, "cgroup", s->cgroups, sizeof(s->cgroups)) <= 0)
		return false;
	for (int i = 0; i < s->o->cgroups.count; i++)
		if (select_by_cgroup(s, select_group_wanted(s->o->cgroups.item[i])))
			return true;
	cgroup_place_of(s->cgroups, &place);
	for (int i = 0; i < s->o->containers.count; i++)
		if (!strncmp(place.container_id, s->o->containers.item[i],
			     strlen(s->o->containers.item[i])))
			return true;
	return select_by_pod(s, place.pod_uid);
}

/* ---- all processes --------------------------------------------------------------------------- */

static int select_add(struct select *s, pid_t pid)
{
	struct proc_stat st;
	struct found *all;

	if (proc_stat(s->root, pid, &st) || pid == KTHREADD || st.parent == KTHREADD)
		return 0;
	all = grow_items(s->all, &s->cap, s->count + 1, UINT32_MAX, sizeof(*all));
	if (!all)
		return -ENOMEM;
	s->all = all;
	s->all[s->count++] = (struct found){
		.pid = pid,
		.parent = st.parent,
		.means = strncmp(st.comm, "gp-bpf", 6) != 0 &&
			 (select_by_name(s, pid, &st) || select_by_place(s, pid)),
	};
	return 0;
}

static struct found *select_found_of(struct select *s, uint32_t pid)
{
	for (uint32_t i = 0; pid && i < s->count; i++)
		if ((uint32_t)s->all[i].pid == pid)
			return &s->all[i];
	return NULL;
}

/* Excludes the ancestors of gp-bpf: the command line of the process that started it often contains
 * the same words. */
static void select_without_own(struct select *s)
{
	struct found *f = *s->root ? NULL : select_found_of(s, (uint32_t)getpid());

	for (uint32_t i = 0; f && i < s->count; i++, f = select_found_of(s, f->parent))
		f->means = false;
}

static bool select_is_descendant(struct select *s, const struct found *f)
{
	const struct found *p = select_found_of(s, f->parent);

	for (uint32_t i = 0; p && i < s->count; i++, p = select_found_of(s, p->parent))
		if (p->means)
			return true;
	return false;
}

static void select_none_matches(const struct options *o)
{
	const struct {
		const char *name;
		const struct option_list *list;
	} all[] = {{"name", &o->names},
		   {"cgroup", &o->cgroups},
		   {"container", &o->containers},
		   {"pod", &o->pods}};
	const char *pattern = o->names.count == 1 ? o->names.item[0] : "*";
	struct buffer asked = {0};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (int k = 0; k < all[i].list->count; k++)
			buffer_printf(&asked, " --%s %s", all[i].name, all[i].list->item[k]);
	if (strpbrk(pattern, "*?["))
		log_error(
			"no running process matches%s; use gp-bpf node to watch processes that start later",
			asked.data ? asked.data : "");
	else /* explain --name: the pattern must match the whole command line */
		log_error(
			"no running process matches%s; for a part of the command line: --name '*%s*'",
			asked.data ? asked.data : "", pattern);
	buffer_free(&asked);
}

static int select_take(struct select *s, struct options *o)
{
	char text[16];
	int had = o->pids.count;

	for (uint32_t i = 0; i < s->count; i++) {
		if (!s->all[i].means || select_is_descendant(s, &s->all[i]))
			continue;
		if (o->pids.count == OPTION_LIST_MAX) {
			log_error("more than %d processes match; use stricter conditions",
				  OPTION_LIST_MAX);
			return -E2BIG;
		}
		snprintf(text, sizeof(text), "%d", s->all[i].pid);
		o->pids.item[o->pids.count] = strdup(text);
		if (!o->pids.item[o->pids.count])
			return -ENOMEM;
		o->pids.count++;
		log_info("process %s matches", text);
	}
	if (o->pids.count > had)
		return 0;
	select_none_matches(o);
	return -ESRCH;
}

static int select_scan(struct select *s)
{
	char path[PROC_PATH_MAX];
	const struct dirent *e;
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/proc", s->root);
	dir = opendir(path);
	if (!dir) {
		err = -errno;
		log_error("%s: %s", path, strerror(-err));
		return err;
	}
	while (!err && (e = readdir(dir)))
		if (proc_number(e->d_name) > 0)
			err = select_add(s, proc_number(e->d_name));
	closedir(dir);
	return err;
}

/* ---- options --------------------------------------------------------------------------------- */

static int select_open_pods(struct select *s)
{
	struct pods_config cfg = {
		.node = s->o->node_name,
		.server = s->o->api_server,
		.kubelet = s->o->kubelet,
		.kubelet_insecure = s->o->kubelet_insecure,
	};
	uint64_t until_ns = clock_mono_ns() + PODS_WAIT_NS;
	struct pods_view view = {0};
	int err = pods_open(&s->pods, &cfg);

	if (err)
		return err;
	s->pod = malloc(sizeof(*s->pod));
	if (!s->pod)
		return -ENOMEM;
	if (!s->pods) {
		log_error(
			"--pod: found neither a kubelet nor an API server; name one with --kubelet or --api-server");
		return -ENOENT;
	}
	while (pods_get_view(s->pods, &view), !view.current && clock_mono_ns() < until_ns)
		usleep(10000);
	if (view.current)
		return 0;
	log_error("--pod: cannot get the pods of this node%s%s", *view.trouble ? ": " : "",
		  view.trouble);
	return -EAGAIN;
}

int select_check(const struct options *o)
{
	for (int i = 0; i < o->pods.count; i++) {
		const char *slash = strchr(o->pods.item[i], '/');

		if (slash && slash != o->pods.item[i] && slash[1] && !strchr(slash + 1, '/'))
			continue;
		log_error("--pod: '%s': expected NAMESPACE/NAME", o->pods.item[i]);
		return -EINVAL;
	}
	for (int i = 0; i < o->containers.count; i++) {
		const char *id = o->containers.item[i];

		if (strlen(id) >= CONTAINER_MIN && strspn(id, "0123456789abcdef") == strlen(id))
			continue;
		log_error(
			"--container: '%s': expected a container's id, or at least its first %d digits",
			id, CONTAINER_MIN);
		return -EINVAL;
	}
	for (int i = 0; i < o->cgroups.count; i++) {
		if (*o->cgroups.item[i] == '/')
			continue;
		log_error("--cgroup: '%s': expected a path as in /proc/PID/cgroup",
			  o->cgroups.item[i]);
		return -EINVAL;
	}
	return 0;
}

int select_processes(struct options *o)
{
	struct select *s;
	int err = select_check(o);

	if (err || (!o->names.count && !o->cgroups.count && !o->containers.count && !o->pods.count))
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->o = o;
	s->root = o->root ? o->root : "";
	err = o->names.count ? helper_new(&s->helper, sizeof(struct gp_process)) : 0;
	if (!err && o->pods.count)
		err = select_open_pods(s);
	if (!err)
		err = select_scan(s);
	if (!err) {
		select_without_own(s);
		err = select_take(s, o);
	}
	helper_free(s->helper);
	pods_close(s->pods);
	free(s->pod);
	free(s->all);
	free(s);
	return err;
}
