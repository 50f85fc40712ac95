/* SPDX-License-Identifier: Apache-2.0 */
/* carry.h - what is known of a job, as the few lines of text that go with it from node to node
 *(design §7).
 *
 *	gp-bpf carry 1
 *	job llama-7b
 *	node host-a
 *	attempt 2
 *	...
 *	end
 *
 * One fact a line, times in ns: UTC since 1970, or durations. A line that is not known is passed
 *over, so that what is added needs no other version; one that cannot be is an error, and so is a
 *text without its end. The text is at most CARRY_MAX bytes, its end included: where a path is too
 *long for that it loses its beginning, which a match does not need. Pure. The text is hostile:
 *anybody who may write to the folder made it. */
#ifndef MODEL_CARRY_H
#define MODEL_CARRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/model/checkpoint.h"
#include "userspace/model/job.h"

#define CARRY_VERSION	1
#define CARRY_MAX	GP_CARRY_MAX /* bytes of the text (design §7: 1 KiB) */
#define CARRY_NODE_MAX	32
#define CARRY_TIMES_MAX 9999999 /* runs, disruptions, ranks */
#define CARRY_STEPS_MAX 999999999999999ull
#define CARRY_NS_MAX	(1ull << 57) /* four and a half years: more time than that no job has */

struct carry_saved { /* the last whole checkpoint */
	uint64_t step;
	bool stepped, folder; /* as of struct checkpoint */
	bool filed;	      /* its file is known; of a folder, the one written last: */
	struct {
		uint32_t name; /* hash of its last part */
		uint64_t bytes, mtime_ns;
	} file;
	char path[GP_PATH_MAX];
};

struct carry {
	char job[64], uid[JOB_UID_MAX]; /* what makes it the same job */
	char node[CARRY_NODE_MAX];	/* who wrote it */
	uint32_t attempt;		/* runs so far */
	enum job_state state;
	int64_t until_ns;		 /* UTC: up to then it is known; the sums end there */
	int64_t run_ns;			 /* UTC: the last run began */
	uint64_t ns[BUCKET_COUNT];	 /* of the job, over all runs */
	uint64_t last_step, steps, lost; /* lost: steps that restarts have disproved */
	uint64_t away; /* of the others, those whose time is left out, rounded; not told without
			  room */
	uint64_t gross_ns, wasted_ns;
	uint64_t falls;	      /* disruptions that were told */
	bool fell, untold;    /* as of struct job: a disruption is open */
	struct job_fall fall; /* ... what is known of it; d.at_ns unused: */
	int64_t fell_ns;      /* UTC */
	bool saves;
	struct carry_saved saved;
	bool secures; /* progress that a checkpoint covers is known: */
	uint64_t secured_step, secured_ns;
};

/* out has room for CARRY_MAX + 1. Returns its length. */
size_t carry_text(char *out, const struct carry *c);
/* -EPROTO: of a newer version; -EBADMSG: anything else that is none. text needs no terminator. */
int carry_parse(struct carry *ret, const char *text, size_t len);
/* a is the one to go on from: of a later run; of one run, what was known last. */
bool carry_newer(const struct carry *a, const struct carry *b);
/* Whether c may take the place of the text that is there, where that is another one's too: 0, also
 * where that is none; -ESTALE: that is the one to go on from: of a later run, or of the same one,
 * another node's whose run began no earlier, and had is that; -EEXIST: it is of another job;
 * -EPROTO: of a newer version. */
int carry_replaces(const struct carry *c, const char *there, size_t len, struct carry *had);
/* All its time: the sum of its buckets. */
uint64_t carry_elapsed_ns(const struct carry *c);

#endif
