/* SPDX-License-Identifier: Apache-2.0 */
/* exporter.h - the exporters there are; registry.c lists them. */
#ifndef EXPORT_EXPORTER_H
#define EXPORT_EXPORTER_H

#include "userspace/export/export.h"

extern const struct exporter export_cloud_monitoring;
extern const struct exporter export_hooks; /* asked for by --on alone */
extern const struct exporter export_csv;
extern const struct exporter export_json;
extern const struct exporter export_otlp;
extern const struct exporter export_prometheus;
extern const struct exporter export_socket; /* of a service, for gp-bpf top */
extern const struct exporter export_tensorboard;
extern const struct exporter export_trace;

#endif
