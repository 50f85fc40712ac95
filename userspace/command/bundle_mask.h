/* SPDX-License-Identifier: Apache-2.0 */
/* bundle_mask.h - what may leave the machine in a bug report. Of JSON and of metrics a text is kept
 * where its key is known to hold none of the user's, and is "[masked]" under any other; in free
 * text what looks like a secret goes. Names of jobs, pods, users and hosts stay, or become stable
 * hashes. Not thread-safe. */
#ifndef COMMAND_BUNDLE_MASK_H
#define COMMAND_BUNDLE_MASK_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/base/buffer.h"

#define MASKED "[masked]"

struct mask;
/* anonymize: names, those of this machine's people and of folders in /home too, become hashes,
 * keyed by this machine's id: the same in every bundle of one machine. NULL: no memory. */
struct mask *mask_new(bool anonymize);
void mask_free(struct mask *m); /* NULL is fine */

/* Each adds to out what is left of the text, and returns how many places were masked. */
size_t mask_text(struct mask *m, struct buffer *out, const char *text, size_t len);
/* names: of jobs, where the key "name" stands for one; else it is gp-bpf's own. */
size_t mask_json(struct mask *m, struct buffer *out, const char *text, size_t len, bool names);
size_t mask_metrics(struct mask *m, struct buffer *out, const char *text, size_t len);
size_t mask_config(struct mask *m, struct buffer *out, const char *text,
		   size_t len); /* of --print-config */
/* A name of a host, user, job... as it may be told. */
size_t mask_name(struct mask *m, struct buffer *out, const char *name, size_t len);

#endif
