/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.c - parses cgroup paths.
 *
 * Kubernetes has two forms (kubelet's cgroup_manager_linux.go): /kubepods/burstable/podUID/ID and,
 * with systemd, /kubepods.slice/...-podU_I_D.slice/RUNTIME-ID.scope. A node that is itself a
 * container has a prefix (kind: /kubelet.slice/kubelet-kubepods.slice/...). A path of another
 * cgroup namespace begins with one or more "/..". */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/identity/place.h"

#define ID_LEN	64 /* hexadecimal digits of a container's id */
#define UID_LEN 36
/* Digits of the hash of a static pod's manifest, which is in the path instead of the pod's uid. */
#define HASH_LEN 32
/* Limit of lines of /proc/PID/cgroup: version 1 has one for each hierarchy, version 2 has one. */
#define LINES_MAX    64
#define SEGMENTS_MAX 256

struct word {
	const char *at;
	size_t len;
};

static const struct {
	const char *word; /* text before the id */
	enum gp_container container;
} runtimes[] = {
	{"cri-containerd", GP_CONTAINER_containerd},
	{"crio", GP_CONTAINER_crio},
	{"docker", GP_CONTAINER_docker},
	{"libpod", GP_CONTAINER_podman},
	{"libpod-payload", GP_CONTAINER_podman},
	{"libpod_parent", GP_CONTAINER_podman},
	{"nerdctl", GP_CONTAINER_containerd},
};

/* Services that start unrelated processes. Their names are not names of jobs. A "*" at the end
 * matches any rest. */
static const char *const shared_services[] = {
	"user@*",
	"ssh",
	"sshd",
	"ssh@*",
	"sshd@*",
	"getty@*",
	"serial-getty@*",
	"cron",
	"crond",
	"atd",
	"anacron",
	"dbus",
	"dbus-broker",
	"systemd-*",
	"docker",
	"containerd",
	"crio",
	"cri-docker",
	"podman",
	"kubelet",
	"k3s",
	"k3s-agent",
	"rke2-agent",
	"rke2-server",
	"slurmd",
	"gdm",
	"lightdm",
	"sddm",
	"display-manager",
	"snap.docker.dockerd",
};

static bool cgroup_word_is(struct word w, const char *text)
{
	return w.len == strlen(text) && !memcmp(w.at, text, w.len);
}

static bool cgroup_word_begins(struct word w, const char *text)
{
	size_t len = strlen(text);

	return w.len >= len && !memcmp(w.at, text, len);
}

/* Removes the suffix from a word. Returns false if the word does not end with it. */
static bool cgroup_word_strip(struct word *w, const char *suffix)
{
	size_t len = strlen(suffix);

	if (w->len < len || memcmp(w->at + w->len - len, suffix, len) != 0)
		return false;
	w->len -= len;
	return true;
}

static bool cgroup_all_hex(const char *at, size_t len)
{
	while (len && isxdigit((unsigned char)*at))
		at++, len--;
	return !len;
}

static void cgroup_put(char *out, size_t cap, struct word w)
{
	log_escape(out, cap, w.at, w.len);
}

/* ---- the pod --------------------------------------------------------------------------------- */

/* Returns true for the uid of a pod: digits in groups of 8-4-4-4-12, joined by '-' or '_', or a
 * hash. */
static bool cgroup_uid_is(struct word w)
{
	static const int groups[] = {8, 4, 4, 4, 12};
	const char *at = w.at;

	if (w.len == HASH_LEN)
		return cgroup_all_hex(w.at, w.len);
	if (w.len != UID_LEN)
		return false;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (i && *at != '-' && *at != '_')
			return false;
		at += i ? 1 : 0;
		if (!cgroup_all_hex(at, (size_t)groups[i]))
			return false;
		at += groups[i];
	}
	return true;
}

/* Parses the part of a path with a pod: "podUID" or "...-podUID.slice". */
static bool cgroup_take_pod(struct cgroup_place *p, struct word w)
{
	static const size_t lens[] = {UID_LEN, HASH_LEN};

	cgroup_word_strip(&w, ".slice");
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		size_t len = lens[i] + 3;
		struct word uid = {w.at + w.len - lens[i], lens[i]};

		if (w.len < len || memcmp(uid.at - 3, "pod", 3) != 0 ||
		    (w.len > len && uid.at[-4] != '-') || !cgroup_uid_is(uid))
			continue;
		cgroup_put(p->pod_uid, sizeof(p->pod_uid), uid);
		for (char *c = p->pod_uid; *c; c++)
			*c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
		/* A container around the pod is the node itself, not the container of the process:
		 * forget it. */
		p->container = GP_CONTAINER_none;
		*p->container_id = '\0';
		return true;
	}
	return false;
}

/* ---- the container --------------------------------------------------------------------------- */

static enum gp_container cgroup_runtime_of(struct word w)
{
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		if (cgroup_word_is(w, runtimes[i].word))
			return runtimes[i].container;
	return GP_CONTAINER_unknown;
}

/* Parses the part of a path with a container: "RUNTIME-ID.scope", or "ID" after a part that names
 * the runtime. The process that monitors a container ("crio-conmon-ID") is not in the container. */
static bool cgroup_take_container(struct cgroup_place *p, struct word w, struct word before)
{
	struct word runtime = before, id;

	cgroup_word_strip(&w, ".scope");
	if (w.len < ID_LEN)
		return false;
	id = (struct word){w.at + w.len - ID_LEN, ID_LEN};
	if (!cgroup_all_hex(id.at, id.len))
		return false;
	if (w.len > ID_LEN) {
		if (id.at[-1] != '-')
			return false;
		runtime = (struct word){w.at, w.len - ID_LEN - 1};
		if (runtime.len >= 6 && !memcmp(runtime.at + runtime.len - 6, "conmon", 6))
			return false;
	}
	cgroup_put(p->container_id, sizeof(p->container_id), id);
	p->container = cgroup_runtime_of(runtime);
	return true;
}

/* ---- Slurm, services, sessions --------------------------------------------------------------- */

static bool cgroup_take_slurm(struct cgroup_place *p, struct word w, bool *slurm)
{
	if (cgroup_word_is(w, "slurm") || cgroup_word_begins(w, "slurm_") ||
	    cgroup_word_strip(&w, "slurmstepd.scope")) {
		*slurm = true;
		return true;
	}
	if (!*slurm || !cgroup_word_begins(w, "job_"))
		return false;
	w.at += 4;
	w.len -= 4;
	for (size_t i = 0; i < w.len; i++)
		if (!isdigit((unsigned char)w.at[i]))
			return false;
	if (!w.len || w.len >= sizeof(p->slurm_job))
		return false;
	cgroup_put(p->slurm_job, sizeof(p->slurm_job), w);
	return true;
}

static bool cgroup_service_shared(struct word w)
{
	for (size_t i = 0; i < sizeof(shared_services) / sizeof(shared_services[0]); i++) {
		const char *name = shared_services[i];
		size_t len = strlen(name) - 1;

		if (name[len] == '*' ? w.len >= len && !memcmp(w.at, name, len)
				     : cgroup_word_is(w, name))
			return true;
	}
	return false;
}

/* Parses the part of a path with a systemd unit. Services inside a container are ignored. */
static void cgroup_take_unit(struct cgroup_place *p, struct word w)
{
	if (!cgroup_word_strip(&w, ".service") || *p->container_id || *p->pod_uid)
		return;
	if (cgroup_service_shared(w))
		*p->service = '\0';
	else
		cgroup_put(p->service, sizeof(p->service), w);
}

/* ---- a path ---------------------------------------------------------------------------------- */

static void cgroup_take_segment(struct cgroup_place *p, struct word w, struct word before,
				bool *slurm)
{
	if (!w.len || cgroup_word_is(w, "..") || cgroup_take_pod(p, w) ||
	    cgroup_take_container(p, w, before) || cgroup_take_slurm(p, w, slurm))
		return;
	cgroup_take_unit(p, w);
}

void cgroup_place_parse(const char *path, struct cgroup_place *ret)
{
	struct word whole = {path, strlen(path)}, before = {"", 0};
	bool slurm = false;
	const char *end;

	memset(ret, 0, sizeof(*ret));
	cgroup_word_strip(&whole, " (deleted)");
	end = whole.at + whole.len;
	/* Without systemd, runc makes one part of the form "slice:runtime:id". */
	for (int i = 0; i < SEGMENTS_MAX && whole.at < end; i++) {
		struct word w = {whole.at, 0};

		while (w.at + w.len < end && w.at[w.len] != '/' && w.at[w.len] != ':')
			w.len++;
		cgroup_take_segment(ret, w, before, &slurm);
		if (w.len)
			before = w;
		whole.at += w.len + 1;
	}
	ret->shared = !*ret->pod_uid && !*ret->container_id && !*ret->slurm_job && !*ret->service;
}

/* Rates how much a path reveals about a process, to choose the best line of /proc/PID/cgroup:
 * version 1 has a line for each hierarchy, and some hierarchies are unused. */
static int cgroup_place_says(const struct cgroup_place *p)
{
	return 8 * !!*p->pod_uid + 4 * !!*p->container_id + 2 * !!*p->slurm_job + !!*p->service;
}

void cgroup_place_of(const char *text, struct cgroup_place *ret)
{
	struct cgroup_place p;
	char path[4096];

	memset(ret, 0, sizeof(*ret));
	ret->shared = true;
	for (int i = 0; i < LINES_MAX && *text; i++) {
		size_t len = strcspn(text, "\n");
		const char *at = memchr(text, ':', len);

		at = at ? memchr(at + 1, ':', len - (size_t)(at + 1 - text)) : NULL;
		/* skip a path that is too long; the kernel makes none */
		if (at && (size_t)(text + len - at) < sizeof(path)) {
			snprintf(path, sizeof(path), "%.*s", (int)(text + len - at - 1), at + 1);
			cgroup_place_parse(path, &p);
			if (cgroup_place_says(&p) > cgroup_place_says(ret))
				*ret = p;
		}
		text += len + (text[len] == '\n');
	}
}
