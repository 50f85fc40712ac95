/* SPDX-License-Identifier: Apache-2.0 */
/* bundle_mask.h - masks texts for a bug report. In JSON and metrics a text is kept only if its key
 * is known to hold no words of the user; otherwise it becomes "[masked]". In free text everything
 * that looks like a secret is masked. Names of jobs, pods, users and hosts are kept, or replaced by
 * stable hashes. Not thread-safe. */
#ifndef COMMAND_BUNDLE_MASK_H
#define COMMAND_BUNDLE_MASK_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/base/buffer.h"

#define MASKED "[masked]"

struct mask;
/* anonymize: replace names, also those of this machine's users and of folders in /home, by hashes.
 * Their key is made from the machine ID, so hashes are the same in every bundle of a machine. NULL:
 * no memory. */
struct mask *mask_new(bool anonymize);
void mask_free(struct mask *m); /* m may be NULL */

/* These append the masked text to out, and return the number of masks. */
size_t mask_text(struct mask *m, struct buffer *out, const char *text, size_t len);
/* names: true if "name" is the key of a job's name; false if it is the key of a name that gp-bpf
 * gives. */
size_t mask_json(struct mask *m, struct buffer *out, const char *text, size_t len, bool names);
size_t mask_metrics(struct mask *m, struct buffer *out, const char *text, size_t len);
size_t mask_config(struct mask *m, struct buffer *out, const char *text,
		   size_t len); /* output of --print-config */
/* Appends the name of a host, user or job: unchanged, or as a hash. */
size_t mask_name(struct mask *m, struct buffer *out, const char *name, size_t len);

#endif
