/* SPDX-License-Identifier: Apache-2.0 */
/* document_row.h - turns the lists of a document (runs, ranks, disruptions...) into table rows. The
 * text report, the HTML page and its timeline are made from these rows. Pure. */
#ifndef REPORT_DOCUMENT_ROW_H
#define REPORT_DOCUMENT_ROW_H

#include "userspace/report/document.h"

#define DOCUMENT_CELLS 4

struct document_cell { /* a value in a column to the right of a row's text; all 0: empty */
	/* class of the HTML <data> element that has the value; NULL: text only */
	const char *name;
	uint64_t value;
	bool count; /* value is a count; otherwise it is a duration or a share */
	bool estimated;
	char text[64];
	char note[64]; /* shown below the cell on the HTML page; "": none */
};

struct document_row {
	bool hidden;	/* marked as minor: counted, but not listed */
	bool page_only; /* shown on the HTML page, not in the text report */
	bool restore;	/* the row is a checkpoint that a run restored */
	int64_t at_ns, to_ns;
	uint64_t number; /* number of a run or disruption */
	/* prefix of `what` in the text report only: the end of a file's path, or "rank 0" */
	char name[192];
	char what[320];
	struct document_cell cell[DOCUMENT_CELLS];
	const char *more; /* path of the checkpoint, or evidence of the event; NULL: none */
	bool tells_more;  /* `more` adds to `what`, so that the text report shows it as well */
};

struct document_table {
	const char *id, *heading; /* id and heading of the section on the HTML page */
	const char *caption;
	/* headings of columns; NULL: the table lacks the column */
	const char *number, *when, *what, *more;
	const char *cell[DOCUMENT_CELLS];
	bool bad;	   /* the items are shown in red */
	const char *bar;   /* heading of a column that draws the second cell as a bar; NULL: none */
	const char *class; /* CSS class with the colour of the items on the timeline */
	uint32_t shown;	   /* limit of rows on the HTML page; 0: no limit */
	void (*row)(struct document_row *ret, const struct report_document *s, uint32_t i);
};

/* Fills row i of a table. */
void document_row(struct document_row *ret, const struct document_table *t,
		  const struct report_document *s, uint32_t i);

extern const struct document_table document_runs_table, document_disruptions_table,
	document_checkpoints_table, document_trouble_table, document_ranks_table,
	document_marks_table, document_exclusions_table;

#endif
