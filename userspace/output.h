/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - stream, model and everything that shows what it found, wired up once for live runs and
 * replays alike: whoever feeds the same records gets the same output. Single-threaded. */
#ifndef GP_OUTPUT_H
#define GP_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/option.h"

struct output;
struct snapshot;

enum output_view { VIEW_NONE, VIEW_PLAIN, VIEW_LIVE };

/* plain_fd: where plain lines go; the report goes to report_fd. 0 or -errno after one line. */
int output_open(struct output **ret, const struct options *o, enum output_view view, int plain_fd,
		int report_fd);
/* Records in order of arrival (ingest/stream.h). */
int output_feed(struct output *out, const void *records, size_t len);
/* A second passed: snapshot to exporters and view. */
void output_tick(struct output *out);
/* The live view has the terminal. */
bool output_is_live(const struct output *out);
/* A key was pressed in the live view; 'q' means: end. 0: none. */
int output_key(struct output *out);
void output_resize(struct output *out);
/* No more records: everything held is released, the report written, exporters closed. -errno when some
 * output was lost. */
int output_close(struct output *out, bool report);

#endif
