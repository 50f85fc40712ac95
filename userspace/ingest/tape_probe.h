/* SPDX-License-Identifier: Apache-2.0 */
/* tape_probe.h - adds missing flags to probes of old tapes, which were recorded before the flags
 * were in the probe files. */
#ifndef INGEST_TAPE_PROBE_H
#define INGEST_TAPE_PROBE_H

#include "bpf/gp_abi.h"

/* If a probe lacks GP_PROBE_WHOLE, adds the flags that the gp-bpf version which wrote the tape
 * derived from the name of the runtime. Other probes are not changed. The texts of p must be
 * NUL-terminated. */
void tape_probe_complete(struct gp_probe *p);

#endif
