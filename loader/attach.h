/* SPDX-License-Identifier: Apache-2.0 */
/* attach.h - owns every link. One multi link for many offsets of a file where the kernel can, one
 * perf link for each offset otherwise; callers need not know which. */
#ifndef LOADER_ATTACH_H
#define LOADER_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attach; /* all links */
struct bpf_link;
struct bpf_program;
struct pins;

struct attach_site {
	uint64_t offset; /* in the file */
	uint64_t cookie;
	int error; /* out: 0, or why the kernel refused this one */
};

/* pins: where links get a name that outlives us; NULL: they die with us. Borrowed. */
int attach_new(struct attach **ret, bool multi, struct pins *pins);
/* Closes all, in parallel, and comes back when all but those that linger are gone. keep: those with
 * a name stay attached. NULL is fine. */
void attach_free(struct attach *at, bool keep);

/* Links that come and go together. */
struct attach_set {
	uint64_t tag;	    /* of the file, for attach_drop() */
	unsigned int group; /* for attach_drop_group() */
	const char *name; /* of the set, unique and the same for a successor; NULL: never pinned */
	const struct bpf_program *prog; /* runs at every site */
	bool returns;
	int fd; /* of the file; may be closed afterwards */
};

/* Attaches to every site, or takes over the very link that a predecessor left. One bad offset
 * spoils a whole multi link, so a refused one is halved until the bad ones are alone. 0 also when
 * some sites failed; -errno: none was tried. */
int attach_sites(struct attach *at, const struct attach_set *set, struct attach_site *sites,
		 size_t n);
/* Takes over a link made elsewhere, also when it fails (then the link is closed); its pin is the
 * caller's. lingers: at the end nobody waits for it (linger.h). */
int attach_adopt(struct attach *at, struct bpf_link *link, bool lingers);
int attach_adopt_fd(struct attach *at, int link_fd, bool lingers);
/* Closes every link of the tag (and group) and comes back when the last is gone. */
void attach_drop(struct attach *at, uint64_t tag);
void attach_drop_group(struct attach *at, uint64_t tag, unsigned int group);
/* For replacing: what was attached before this call is older than what is attached after it... */
void attach_age(struct attach *at);
/* ... and goes, or what is newer does; adopted links excepted. */
void attach_drop_aged(struct attach *at, bool old);

#define ATTACH_UPROBE_MULTI   48 /* BPF_TRACE_UPROBE_MULTI, newer than our headers */
#define ATTACH_UPROBE_SESSION 57 /* BPF_TRACE_UPROBE_SESSION, likewise */

/* One warning, where detaching will take seconds. */
void attach_tell_slow(const struct attach *at);

/* The system call behind a multi link; descriptor or -errno. Also the feature's test. */
int attach_multi_link(int prog_fd, uint32_t attach_type, const char *path, bool returns,
		      const uint64_t *offsets, const uint64_t *cookies, uint32_t n);

#endif
