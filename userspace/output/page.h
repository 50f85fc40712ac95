/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - makes the HTML page (--html) of a live run or a replay. Facts are collected in a store
 * in memory, and step times in curves (text/curve.h), so memory is bounded. */
#ifndef OUTPUT_PAGE_H
#define OUTPUT_PAGE_H

#include <stdbool.h>

#include "userspace/model/job/fact.h"
#include "userspace/model/snapshot.h"
#include "userspace/report/document.h"

struct page;
/* Opens the page's file at once, so that a wrong name is reported early. Returns 0, or -errno after
 * logging the reason. */
int page_open(struct page **ret, const char *file);
void page_fact(struct page *p, const struct fact *f);
/* Returns true if the last fact is about a process that was in no snapshot yet. The caller then
 * makes a snapshot and calls page_snapshot(). */
bool page_wants(const struct page *p);
/* Passes a snapshot to the page. wait: see store_writer_snapshot(). */
void page_snapshot(struct page *p, const struct snapshot *s, bool wait);
/* Writes the page of the job with the most steps, and frees p, which may be NULL. Returns 0, or
 * -errno after logging the reason. */
int page_close(struct page *p);
/* Frees p without writing or logging. */
void page_drop(struct page *p);

/* Writes a document as a page; file "-" is standard output. Returns 0, or -errno after logging the
 * reason. */
int page_put(const char *file, const struct report_document *s);

#endif
