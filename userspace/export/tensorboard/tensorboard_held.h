/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_held.h - finds out which scalars a run's event files already contain (in the last MiB
 * of each file): a killed predecessor may have written scalars that are now passed again. Not
 * thread-safe. */
#ifndef EXPORT_TENSORBOARD_HELD_H
#define EXPORT_TENSORBOARD_HELD_H

#include <stdbool.h>

#include "userspace/export/tensorboard/tensorboard_record.h"

struct tb_held;
/* folder: descriptor of the folder of all runs, owned by the caller. Returns NULL without memory.
 */
struct tb_held *tb_held_new(int folder);
void tb_held_free(struct tb_held *h);
/* Returns true if a file of the run contained the scalar at the first call for the run. */
bool tb_held_has(struct tb_held *h, const char *run, const struct tb_scalar *s);

#endif
