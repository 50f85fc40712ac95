/* SPDX-License-Identifier: Apache-2.0 */
/* document_row.h - the lists of a document as tables, from which the text, the page and its
 * timeline are made. Pure. */
#ifndef REPORT_DOCUMENT_ROW_H
#define REPORT_DOCUMENT_ROW_H

#include "userspace/report/document.h"

#define DOCUMENT_CELLS 4

struct document_cell { /* a value in a column right of the text; all 0: empty */
	/* class of the <data> element that has the value on the page; NULL: text alone */
	const char *name;
	uint64_t value;
	bool count; /* value is a number of things; otherwise a duration, a share... */
	bool estimated;
	char text[64];
	char note[64]; /* on the page, below the cell; "": none */
};

struct document_row {
	bool hidden;	/* marked as minor: counted, but not shown */
	bool page_only; /* not shown in the text report */
	bool restore;	/* the row is a checkpoint that was read */
	int64_t at_ns, to_ns;
	uint64_t number; /* number of a run or disruption */
	/* before `what`, in the text alone: end of a file's path, "rank 0" */
	char name[192];
	char what[320];
	struct document_cell cell[DOCUMENT_CELLS];
	const char *more; /* a file's path, or evidence; NULL: none */
	bool tells_more;  /* `more` says more than `what`, so the text report shows it, too */
};

struct document_table {
	const char *id, *heading; /* id and heading of the section on the page */
	const char *caption;
	const char *number, *when, *what, *more; /* column heads; NULL: no such column */
	const char *cell[DOCUMENT_CELLS];
	bool bad;	   /* shown in red */
	const char *bar;   /* head of a column with a bar for the second cell; NULL: none */
	const char *class; /* colour on the timeline */
	uint32_t shown;	   /* most rows on the page; 0: all */
	void (*row)(struct document_row *ret, const struct report_document *s, uint32_t i);
};

/* Fills row i of a table. */
void document_row(struct document_row *ret, const struct document_table *t,
		  const struct report_document *s, uint32_t i);

extern const struct document_table document_runs_table, document_disruptions_table,
	document_checkpoints_table, document_trouble_table, document_ranks_table,
	document_marks_table, document_exclusions_table;

#endif
