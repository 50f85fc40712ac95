/* SPDX-License-Identifier: Apache-2.0 */
/* tape_probe.h - completes probes on tapes that were recorded before probe files had all flags. */
#ifndef INGEST_TAPE_PROBE_H
#define INGEST_TAPE_PROBE_H

#include "bpf/gp_abi.h"

/* Sets the flags that a probe without GP_PROBE_WHOLE had when its tape was recorded; other probes
 * stay as they are. The texts of p must be terminated. */
void tape_probe_complete(struct gp_probe *p);

#endif
