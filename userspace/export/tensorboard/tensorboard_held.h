/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_held.h - which scalars the event files of a run hold already, by their last MiB each:
 * what a predecessor that was killed had written of what is told again. Not thread-safe. */
#ifndef EXPORT_TENSORBOARD_HELD_H
#define EXPORT_TENSORBOARD_HELD_H

#include <stdbool.h>

#include "userspace/export/tensorboard/tensorboard_record.h"

struct tb_held;
/* folder: borrowed. NULL: no memory. */
struct tb_held *tb_held_new(int folder);
void tb_held_free(struct tb_held *h);
/* As the files were when a run was asked for first. */
bool tb_held_has(struct tb_held *h, const char *run, const struct tb_scalar *s);

#endif
