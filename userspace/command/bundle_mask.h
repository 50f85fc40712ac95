/* SPDX-License-Identifier: Apache-2.0 */
/* bundle_mask.h - masks texts for a bug report. In JSON and in metrics, a text is kept only if its
 * key is known to have no text of the user; other texts become "[masked]". In free text, everything
 * that looks like a secret is masked. Names of jobs, pods, users and hosts are kept or, with
 * --anonymize, replaced by hashes. Not thread-safe. */
#ifndef COMMAND_BUNDLE_MASK_H
#define COMMAND_BUNDLE_MASK_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/base/buffer.h"

#define MASKED "[masked]"

struct mask;
/* anonymize: replace names by hashes, including the users of this machine and the folders in /home.
 * The hash key is made from the machine ID, so that a name has the same hash in every bundle of a
 * machine. Returns NULL if there is no memory. */
struct mask *mask_new(bool anonymize);
void mask_free(struct mask *m); /* m may be NULL */

/* These functions append the masked text to out and return the number of masks. */
size_t mask_text(struct mask *m, struct buffer *out, const char *text, size_t len);
/* names: the key "name" in this JSON contains names of jobs; false: it contains names that gp-bpf
 * defines. */
size_t mask_json(struct mask *m, struct buffer *out, const char *text, size_t len, bool names);
size_t mask_metrics(struct mask *m, struct buffer *out, const char *text, size_t len);
size_t mask_config(struct mask *m, struct buffer *out, const char *text,
		   size_t len); /* text: the output of --print-config */
/* Appends the name of a host, user or job; as a hash if the mask anonymizes. */
size_t mask_name(struct mask *m, struct buffer *out, const char *name, size_t len);

#endif
