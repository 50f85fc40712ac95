/* SPDX-License-Identifier: Apache-2.0 */
/* gcm_log.h - gp-bpf account LOG --export cloud-monitoring --dry-run: prints the requests that the
 * goodput library would have made of a log at an instant, without those that the service refuses.
 */
#ifndef EXPORT_GCM_LOG_H
#define EXPORT_GCM_LOG_H

#include "userspace/export/export.h"

/* See log_check() and log_write() of struct exporter. arg: "project=ID"; NULL: none, which is an
 * error that is logged with all else that is missing where the options have no --export. */
int gcm_log_check(const char *arg, const struct export_options *opt, struct export_log *log);
/* Prints all jobs, one request a line. */
int gcm_log_write(const char *arg, const struct export_options *opt, const struct export_log *log);

#endif
