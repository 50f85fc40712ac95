/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - the page (--html) of a run that is watched or replayed: what it tells is collected in a
 * store of its own, in memory, and the times of its steps beside it; both are bounded, whatever
 * comes. */
#ifndef OUTPUT_PAGE_H
#define OUTPUT_PAGE_H

#include <stdbool.h>

#include "userspace/model/job/fact.h"
#include "userspace/model/snapshot.h"
#include "userspace/report/story.h"

struct page;
/* Opens the file, so that what is wrong with its name shows at once. -errno after one line. */
int page_open(struct page **ret, const char *file);
void page_fact(struct page *p, const struct fact *f);
/* The fact before was of a process that no snapshot has shown: one is wanted now. */
bool page_wants(const struct page *p);
/* wait: as store_writer_snapshot(). */
void page_snapshot(struct page *p, const struct snapshot *s, bool wait);
/* Writes the page of the job that made most steps, and frees p; NULL is fine. 0 or -errno after one
 * line. */
int page_close(struct page *p);
/* Without a word: there is nothing to be told of. */
void page_drop(struct page *p);

/* Writes a story as a page; file "-" is standard output. -errno after one line. */
int page_put(const char *file, const struct story *s);

#endif
