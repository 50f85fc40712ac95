/* SPDX-License-Identifier: Apache-2.0 */
/* exporter.h - the exporters there are; registry.c lists them. */
#ifndef EXPORT_EXPORTER_H
#define EXPORT_EXPORTER_H

#include "userspace/export/export.h"

extern const struct exporter export_json;
extern const struct exporter export_prometheus;

#endif
