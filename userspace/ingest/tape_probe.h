/* SPDX-License-Identifier: Apache-2.0 */
/* tape_probe.h - definitions of probes on tapes that were recorded before probe files said it all.
 */
#ifndef INGEST_TAPE_PROBE_H
#define INGEST_TAPE_PROBE_H

#include "bpf/gp_abi.h"

/* Completes a definition without GP_PROBE_WHOLE, whose texts end within their fields: as the probe
 * files of then would have. Others stay as they are. */
void tape_probe_complete(struct gp_probe *p);

#endif
