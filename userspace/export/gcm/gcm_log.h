/* SPDX-License-Identifier: Apache-2.0 */
/* gcm_log.h - gp-bpf account LOG --export cloud-monitoring --dry-run: prints the requests to Cloud
 * Monitoring that the goodput library would have sent at a given time, computed from its log;
 * series that the service refuses are excluded. */
#ifndef EXPORT_GCM_LOG_H
#define EXPORT_GCM_LOG_H

#include "userspace/export/export.h"

/* The log_check() function of struct exporter. arg: "project=ID"; NULL: no argument. */
int gcm_log_check(const char *arg, const struct export_options *opt, struct export_log *log);
/* The log_write() function of struct exporter. Prints the requests of all jobs, one a line. */
int gcm_log_write(const char *arg, const struct export_options *opt, const struct export_log *log);

#endif
