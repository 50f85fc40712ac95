/* SPDX-License-Identifier: Apache-2.0 */
/* library_report.h - reports the state of a library's probes. */
#ifndef LOADER_LIBRARY_REPORT_H
#define LOADER_LIBRARY_REPORT_H

#include "loader/library/library.h"
#include "loader/library/library_private.h"

/* Reports one site to on_attach. */
void library_report_site(const struct library_deps *deps, const struct library *lib,
			 const struct site *site);
/* Logs a line about sites whose page the file system does not keep in memory, if there are any. */
void library_report_uncached(const struct library *lib);
/* Logs rows that begin ranges while no probe is attached that ends ranges of the same runtime:
 * these rows send nothing, as their ranges would never end. files: table of struct library. */
void library_report_silent(const struct library_deps *deps, const struct table *files);
/* Returns the reason why a library cannot be probed, for people. */
const char *library_error_text(int err);

#endif
