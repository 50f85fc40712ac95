/* SPDX-License-Identifier: Apache-2.0 */
/* probe_names.h - the kernel's view of probe_names (probe_file.h). */
#ifndef LOADER_PROBE_NAMES_H
#define LOADER_PROBE_NAMES_H

#include "bpf/gp_private.h"
#include "loader/probe_file.h"

#define PROBE_PREFIX_LEAST 4 /* letters, or much that is nobody's would begin so */

/* What a glob says of the first letters. */
void probe_prefix(const char *glob, struct gp_prefix *ret);
/* At most GP_PREFIXES_MAX; n's. */
size_t probe_names_prefixes(const struct probe_names *n, const struct gp_prefix **ret);

#endif
