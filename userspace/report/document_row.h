/* SPDX-License-Identifier: Apache-2.0 */
/* document_row.h - the lists of a document as tables, from which the text, the page and its
 * timeline are made. Pure. */
#ifndef REPORT_DOCUMENT_ROW_H
#define REPORT_DOCUMENT_ROW_H

#include "userspace/report/document.h"

#define DOCUMENT_CELLS 4

struct document_cell { /* a value to the right; all 0: empty */
	/* Class of its <data> element on the page, which has the value; NULL: text alone. */
	const char *name;
	uint64_t value;
	bool count; /* a number, else the text is a duration, a share... */
	bool estimated;
	char text[64];
	char note[64]; /* on the page, below it; "": none */
};

struct document_row {
	bool hidden;	/* it is marked as minor: only counted */
	bool page_only; /* the text does not have it */
	bool restore;	/* of a checkpoint: it was read */
	int64_t at_ns, to_ns;
	uint64_t number; /* of a run or disruption */
	/* In front of what, in the text alone: the end of the path of a file, "rank 0". */
	char name[192];
	char what[320];
	struct document_cell cell[DOCUMENT_CELLS];
	const char *more; /* a path, or evidence; NULL: none */
	bool tells_more;  /* what does not say it all: the text has more, too */
};

struct document_table {
	const char *id, *heading; /* of the page */
	const char *caption;
	const char *number, *when, *what, *more; /* heads; NULL: there is no such column */
	const char *cell[DOCUMENT_CELLS];
	bool bad;	   /* shown in red */
	const char *bar;   /* head of a bar for the second cell; NULL: none */
	const char *class; /* colour on the timeline */
	uint32_t shown;	   /* at most, on the page; 0: all */
	void (*row)(struct document_row *ret, const struct report_document *s, uint32_t i);
};

/* Fills a row of a table. */
void document_row(struct document_row *ret, const struct document_table *t,
		  const struct report_document *s, uint32_t i);

extern const struct document_table document_runs_table, document_disruptions_table,
	document_checkpoints_table, document_trouble_table, document_ranks_table,
	document_marks_table, document_exclusions_table;

#endif
