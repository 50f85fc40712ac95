/* SPDX-License-Identifier: Apache-2.0 */
/* exporter.h - the list of exporters, each a struct exporter in a file of its own. */
#ifndef EXPORT_EXPORTER_H
#define EXPORT_EXPORTER_H

#include "userspace/export/export.h"

/* Exporters of --export, in the order in which messages and shell completion list them. */
#define EXPORTERS(X)                                                                               \
	X(json)                                                                                    \
	X(prometheus)                                                                              \
	X(cloud_monitoring)                                                                        \
	X(csv)                                                                                     \
	X(trace)                                                                                   \
	X(tensorboard)                                                                             \
	X(otlp)

#define EXPORTER_DECLARE(name) extern const struct exporter export_##name;
EXPORTERS(EXPORTER_DECLARE)
EXPORTER_DECLARE(hooks)	 /* requested by --on */
EXPORTER_DECLARE(socket) /* opened by a service, for gp-bpf top */

#endif
