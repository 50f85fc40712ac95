/* SPDX-License-Identifier: Apache-2.0 */
/* attach.h - attaches BPF programs to functions, and owns the links that keep them attached. Uses
 * one multi link for many offsets of a file where the kernel can, otherwise one perf link for each
 * offset; callers need not know which. */
#ifndef LOADER_ATTACH_H
#define LOADER_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attach;
struct bpf_link;
struct bpf_program;
struct pins;

/* An instruction to which a program is attached */
struct attach_site {
	uint64_t offset; /* file offset */
	uint64_t cookie;
	int error; /* out: 0, or -errno of the kernel */
};

/* pins: gives names to links so that they outlive this process; NULL: no names. Borrowed. Returns 0
 * or -errno. */
int attach_new(struct attach **ret, bool multi, struct pins *pins);
/* Closes all links in parallel, and returns when all are gone except those with deferred close.
 * keep: links with a name stay attached. NULL is allowed. */
void attach_free(struct attach *at, bool keep);

/* Links that are attached and removed together. */
struct attach_set {
	/* number that the caller chose for the file; attach_drop() closes the links with this
	 * number */
	uint64_t tag;
	unsigned int group; /* part of the file's links that attach_drop_group() closes together */
	/* Name for pins: unique, and the same after a restart of gp-bpf; NULL: not pinned */
	const char *name;
	const struct bpf_program *prog; /* runs at every site */
	bool returns;
	int fd; /* descriptor of the file; the caller may close it after attach_sites() */
};

/* Attaches to every site, or takes over the link left by a predecessor. One bad offset makes the
 * kernel refuse a whole multi link, so a refused set is halved until the bad offsets are alone.
 * Returns 0, also when some sites failed (site.error); -errno: no site was tried. */
int attach_sites(struct attach *at, const struct attach_set *set, struct attach_site *sites,
		 size_t n);
/* Take ownership of a link made elsewhere; after an error the link is closed. If the link has a
 * pin, the caller has to remove that. deferred: the kernel closes the link later, without a wait
 * (deferred_close.h). Return 0 or -errno. */
int attach_adopt(struct attach *at, struct bpf_link *link, bool deferred);
int attach_adopt_fd(struct attach *at, int link_fd, bool deferred);
/* Close all links with this tag (and in this group). Return when all of them are closed. */
void attach_drop(struct attach *at, uint64_t tag);
void attach_drop_group(struct attach *at, uint64_t tag, unsigned int group);
/* Marks all present links as old. The caller then attaches new links in their place, and calls
 * attach_drop_aged(). */
void attach_age(struct attach *at);
/* Closes the links that attach_age() marked as old or, if old is false, the links made since. Keeps
 * links that were added by attach_adopt(). */
void attach_drop_aged(struct attach *at, bool old);

#define ATTACH_UPROBE_MULTI   48 /* BPF_TRACE_UPROBE_MULTI of newer kernel headers */
#define ATTACH_UPROBE_SESSION 57 /* BPF_TRACE_UPROBE_SESSION of newer kernel headers */

/* Logs one warning if detaching all links will take seconds. */
void attach_warn_slow(const struct attach *at);

/* Makes a multi link. Returns its descriptor, or -errno. Also used to test the feature. */
int attach_multi_link(int prog_fd, uint32_t attach_type, const char *path, bool returns,
		      const uint64_t *offsets, const uint64_t *cookies, uint32_t n);

#endif
