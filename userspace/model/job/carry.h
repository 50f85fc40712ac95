/* SPDX-License-Identifier: Apache-2.0 */
/* carry.h - the handoff of a job between nodes: its history as a few lines of text, so that the
 * next node can continue its counts.
 *
 *  gp-bpf carry 1
 *  job llama-7b
 *  node host-a
 *  attempt 2
 *  ...
 *  end
 *
 * Each line has one value. Times are in ns: UTC since 1970, or durations. Unknown lines are
 * ignored, so that new lines need no new version. An invalid line or a missing "end" is an error.
 * The text has at most CARRY_MAX bytes. A path that is too long loses its beginning, which is not
 * needed to recognise a checkpoint. These functions do not access files. Any user with write access
 * to the folder of handoffs can write such a text, so nothing in it is trusted. */
#ifndef MODEL_CARRY_H
#define MODEL_CARRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/model/job/checkpoint.h"
#include "userspace/model/job/job.h"

#define CARRY_VERSION 1
/* Limits for values in the text. CARRY_MAX is its length in bytes, about 1 KiB; CARRY_TIMES_MAX
 * limits the numbers of runs, disruptions and ranks; CARRY_NS_MAX limits times (ns): about four and
 * a half years. */
#define CARRY_MAX	GP_CARRY_MAX
#define CARRY_NODE_MAX	32
#define CARRY_TIMES_MAX 9999999
#define CARRY_STEPS_MAX 999999999999999ull
#define CARRY_NS_MAX	(1ull << 57)

/* The last complete checkpoint of the job. */
struct carry_saved {
	uint64_t step;
	bool stepped, folder; /* as in struct checkpoint */
	/* `file` is known: the file of the checkpoint, or, if that is a folder, the last file
	 * written to it */
	bool filed;
	struct {
		uint32_t name; /* hash of the last part of the file's path */
		uint64_t bytes, mtime_ns;
	} file;
	char path[GP_PATH_MAX];
};

struct carry {
	char job[GP_JOB_MAX], uid[JOB_UID_MAX]; /* identity of the job */
	char node[CARRY_NODE_MAX];		/* node that wrote this history */
	uint32_t attempt;			/* number of runs of the job so far */
	enum job_state state;
	int64_t until_ns;		 /* UTC; the sums below end at this instant */
	int64_t run_ns;			 /* UTC; start of the last run */
	uint64_t ns[BUCKET_COUNT];	 /* time of the job by bucket, all runs */
	uint64_t last_step, steps, lost; /* lost: steps lost by restarts */
	/* Sum over all steps that were not lost: the share (0 to 1) of the step's time that the
	 * user excluded, rounded to a whole number. 0 if the text had no room for it. */
	uint64_t excluded;
	uint64_t gross_ns, wasted_ns;
	uint64_t disruptions; /* number of disruptions reported */
	/* disrupted: a disruption has begun and is not over. unreported: see struct job. */
	bool disrupted, unreported;
	/* The disruption that is not over. d.at_ns is not used; see disrupted_ns. */
	struct job_disruption disruption;
	int64_t disrupted_ns; /* UTC */
	bool saves;
	struct carry_saved saved;
	bool secures; /* secured_step and secured_ns are known: progress that is in a checkpoint */
	uint64_t secured_step, secured_ns;
};

/* Writes the text to out, which has room for CARRY_MAX + 1 bytes. Returns its length. */
size_t carry_text(char *out, const struct carry *c);
/* Reads a text of len bytes; no NUL is needed. Returns 0, -EPROTO if a newer version wrote it, or
 * -EBADMSG if it is invalid. */
int carry_parse(struct carry *ret, const char *text, size_t len);
/* Decides whether c may replace the text `there`. Returns 0 if it may, or if that text is invalid.
 * Returns -ESTALE if that text is newer: it is of a later run, or it is of the same run, from
 * another node, and the run did not begin earlier there than c says. Returns -EEXIST if it is of
 * another job, and -EPROTO if a newer version wrote it. *had: that text, if it is valid. */
int carry_replaces(const struct carry *c, const char *there, size_t len, struct carry *had);
/* Returns the elapsed time of the job: the sum of its buckets (ns). */
uint64_t carry_elapsed_ns(const struct carry *c);

#endif
