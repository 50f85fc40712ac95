/* SPDX-License-Identifier: Apache-2.0 */
/* library_tell.h - what becomes of a library's probes, told. */
#ifndef LOADER_LIBRARY_TELL_H
#define LOADER_LIBRARY_TELL_H

#include "loader/library.h"
#include "loader/library_private.h"

/* To on_attach. */
void library_tell_site(const struct library_deps *deps, const struct library *lib,
		       const struct site *site);
/* A line about sites whose page the file system would not keep, when there are such. */
void library_tell_uncached(const struct library *lib);
/* A begin whose runtime announces no end would open ranges for ever: such rows stay silent, and
 * that is told. files: of struct library. */
void library_tell_silent(const struct library_deps *deps, const struct table *files);
/* Why a library cannot be probed, for people. */
const char *library_error_text(int err);

#endif
