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

struct attach_site {
	uint64_t offset; /* in the file */
	uint64_t cookie;
	int error; /* out: 0, or why the kernel refused this one */
};

int attach_new(struct attach **ret, bool multi);
void attach_free(struct attach *at); /* closes all, in parallel; NULL is fine */

/* Attaches prog to every site of the file open at fd, which may be closed afterwards. One bad offset
 * spoils a whole multi link, so a refused one is halved until the bad ones are alone. tag: name for
 * attach_drop(). 0 also when some sites failed; -errno: none was tried. */
int attach_sites(struct attach *at, uint64_t tag, const struct bpf_program *prog, bool returns, int fd,
		 struct attach_site *sites, size_t n);
/* Takes over a link made elsewhere, also when it fails (then the link is closed). */
int attach_adopt(struct attach *at, struct bpf_link *link);
/* Closes every link of the tag and comes back when the last is gone. */
void attach_drop(struct attach *at, uint64_t tag);

/* The system call behind a multi link; descriptor or -errno. Also the feature's test. */
int attach_multi_link(int prog_fd, const char *path, bool returns, const uint64_t *offsets,
		      const uint64_t *cookies, uint32_t n);

#endif
