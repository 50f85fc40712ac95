/* SPDX-License-Identifier: Apache-2.0 */
/* tape_probe.h - adds missing flags to probes of old tapes, which were recorded before the flags
 * were in the probe files. */
#ifndef INGEST_TAPE_PROBE_H
#define INGEST_TAPE_PROBE_H

#include "bpf/gp_abi.h"

/* If a probe lacks GP_PROBE_WHOLE, sets its flags as gp-bpf did when the tape was recorded. Other
 * probes are not changed. The texts of p must be NUL-terminated. */
void tape_probe_complete(struct gp_probe *p);

#endif
