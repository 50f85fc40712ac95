/* SPDX-License-Identifier: Apache-2.0 */
/* tape_probe.h - adds missing flags to probes on tapes that were recorded before probe files had
 * all flags. */
#ifndef INGEST_TAPE_PROBE_H
#define INGEST_TAPE_PROBE_H

#include "bpf/gp_abi.h"

/* Sets the flags of a probe that lacks GP_PROBE_WHOLE, as gp-bpf did when the tape was recorded.
 * Other probes are not changed. The texts of p must be terminated. */
void tape_probe_complete(struct gp_probe *p);

#endif
