/* SPDX-License-Identifier: Apache-2.0 */
/* carry.h - the handoff of a job between nodes: the known facts of the job, as a few lines of text.
 *
 *  gp-bpf carry 1
 *  job llama-7b
 *  node host-a
 *  attempt 2
 *  ...
 *  end
 *
 * One fact per line; times in ns: UTC since 1970, or durations. An unknown line is ignored, so
 * additions need no new version. An invalid line or a missing end is an error. The text has at most
 * CARRY_MAX bytes including its end: a path that is too long loses its beginning, which matching
 * does not need. Pure. Treat the text as hostile: any user with write access to the folder can have
 * made it. */
#ifndef MODEL_CARRY_H
#define MODEL_CARRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/model/job/checkpoint.h"
#include "userspace/model/job/job.h"

#define CARRY_VERSION	1
#define CARRY_MAX	GP_CARRY_MAX /* bytes of the text, about 1 KiB */
#define CARRY_NODE_MAX	32
#define CARRY_TIMES_MAX 9999999 /* upper bound of the number of runs, disruptions, ranks */
#define CARRY_STEPS_MAX 999999999999999ull
#define CARRY_NS_MAX	(1ull << 57) /* upper bound of a time: four and a half years */

struct carry_saved { /* the last complete checkpoint */
	uint64_t step;
	bool stepped, folder; /* as in struct checkpoint */
	/* filed: the file is known; for a folder, the file written last. */
	bool filed;
	struct {
		uint32_t name; /* hash of the last part of the file's path */
		uint64_t bytes, mtime_ns;
	} file;
	char path[GP_PATH_MAX];
};

struct carry {
	char job[GP_JOB_MAX], uid[JOB_UID_MAX]; /* identity of the job */
	char node[CARRY_NODE_MAX];		/* node that wrote the text */
	uint32_t attempt;			/* number of runs so far */
	enum job_state state;
	int64_t until_ns;		 /* UTC; end of the time that the sums cover */
	int64_t run_ns;			 /* UTC; start of the last run */
	uint64_t ns[BUCKET_COUNT];	 /* time of the job by bucket, all runs */
	uint64_t last_step, steps, lost; /* lost: steps lost by restarts */
	/* Excluded shares of the steps that were not lost, added up and rounded; omitted if there
	 * is no room. */
	uint64_t excluded;
	uint64_t gross_ns, wasted_ns;
	uint64_t disruptions; /* disruptions reported */
	/* as in struct job; disrupted: a disruption is open */
	bool disrupted, unreported;
	/* the open disruption; d.at_ns unused, see disrupted_ns */
	struct job_disruption disruption;
	int64_t disrupted_ns; /* UTC */
	bool saves;
	struct carry_saved saved;
	bool secures; /* secured_step and secured_ns (progress in a checkpoint) are known */
	uint64_t secured_step, secured_ns;
};

/* Writes the text to out, which has room for CARRY_MAX + 1 bytes. Returns its length. */
size_t carry_text(char *out, const struct carry *c);
/* Parses a text, which needs no terminator. Returns 0, -EPROTO (newer version) or -EBADMSG
 * (invalid). */
int carry_parse(struct carry *ret, const char *text, size_t len);
/* Decides whether c may replace the text `there`. Returns 0 when it may, also when that text is
 * invalid. -ESTALE: that text is the one to continue from, as it is of a later run, or of the same
 * run by another node whose run began no earlier; -EEXIST: it is of another job; -EPROTO: it is of
 * a newer version. *had: that text, when it was valid. */
int carry_replaces(const struct carry *c, const char *there, size_t len, struct carry *had);
/* Returns the elapsed time of the job: the sum of its buckets (ns). */
uint64_t carry_elapsed_ns(const struct carry *c);

#endif
