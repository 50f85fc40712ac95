/* SPDX-License-Identifier: Apache-2.0 */
/* examination.h - the last examination of a training thread: what it waited for during some
 * seconds, and which processes ran while it waited for a CPU. It refines the causes of a slowdown.
 * Pure; at most 4 KiB. Times in ns, CLOCK_MONOTONIC. */
#ifndef MODEL_EXAMINATION_H
#define MODEL_EXAMINATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/ingest/event.h"
#include "userspace/model/time/resource.h"
#include "userspace/model/time/time_cause.h"

#define EXAMINATION_WAITS   8
#define EXAMINATION_INSTEAD 5
#define EXAMINATION_DEVICES 5

extern const char *const examination_wait_name[GP_WAIT_COUNT]; /* JSON values: "network" */
extern const char *const examination_wait_text[GP_WAIT_COUNT]; /* "waits for a network socket" */

struct examination {
	uint64_t from_ns, to_ns;
	uint32_t tid;
	int32_t error; /* 0, or -errno: nothing was examined */
	bool dear;     /* the examination ended early, because it exceeded the overhead budget */
	bool blocks;   /* block devices were examined */
	/* runnable_ns: time in which the thread waited for a CPU; wait_ns: time asleep, by what the
	 * thread waited for; asleep_ns: all time asleep */
	uint64_t runnable_ns, wait_ns[GP_WAIT_COUNT], asleep_ns;
	uint64_t block_ns; /* part of asleep_ns: for block I/O, as the kernel counts it */
	uint64_t cost_ns;  /* time that the examination took on the busiest CPU */
	uint32_t nwaits, ninstead, ndevices;
	struct examination_wait {
		uint64_t ns, worst_ns;
		uint32_t count, slow; /* number of sleeps; number of those of 10 ms or more */
		enum gp_wait wait;
		char name[128];	    /* path, address...; "": none */
	} waits[EXAMINATION_WAITS]; /* most time first */
	struct examination_instead {
		uint64_t ns;
		uint32_t pid;  /* 0: no process ran */
		bool watched;  /* the process is one of a watched job */
		bool own;      /* the process is of the same job as the examined thread */
		char comm[24]; /* command */
		/* end of the path of the process's control group; "": unknown */
		char group[96];
		/* name of the process's job, cut if it is too long; "": none */
		char job[64];
	} instead[EXAMINATION_INSTEAD]; /* most time first */
	struct examination_device {
		char name[24];
		uint64_t ns, worst_ns, count, slow;
	} devices[EXAMINATION_DEVICES];
};

/* Begins an examination with a record gp_examined; *e is replaced. Returns false: the record is
 * invalid, and *e is unchanged. */
bool examination_begin(struct examination *e, const struct event *ev);
/* Adds a record gp_waited or gp_instead of the same thread. job: name of the watched job of the
 * process that ran instead; NULL: it is in no watched job. own: it is the job of the examined
 * thread. */
void examination_wait(struct examination *e, const struct event *ev);
void examination_instead(struct examination *e, const struct event *ev, const char *job, bool own);

/* Adds to the causes of a slowdown the time in which the thread slept for a network socket or for a
 * file. Only the time by which these sleeps exceed all sleep before the slowdown is added. The
 * other parameters are those of time_cause_slower(). */
void examination_refine(const struct examination *e, struct time_causes *l,
			const struct resource_sums *before, uint64_t before_ns,
			const struct resource_sums *after, uint64_t after_ns);
/* Adds the time in which the thread slept for a lock, a pipe, a local socket or a child process, as
 * far as it is unexplained after all other causes were added, and less the waits for a data loader,
 * which are such waits, too. grown_ns: by how much the waits in each step have grown for certain,
 * by samples (ns); they are divided as the examined ones, without those for a time to pass. */
void examination_add_waits(const struct examination *e, struct time_causes *l,
			   const struct resource_sums *before, uint64_t before_ns,
			   const struct resource_sums *after, uint64_t after_ns, uint64_t grown_ns);
/* Writes the same text as time_causes_text(), with what the examination found about each cause: "81
 * % waits for a CPU on which other threads run (stress-ng, not part of a job: 76 %)". e: NULL if
 * there was no examination. */
const char *examination_causes_text(char *out, size_t len, const struct time_causes *l,
				    const struct examination *e);
/* Writes what the examination found about a cause: "76 % of it stress-ng, not part of a job"; "" if
 * nothing. Returns out. */
const char *examination_detail(char *out, size_t len, const struct examination *e,
			       enum time_cause c);
/* Finds the thing outside the job for which the thread slept longest (a network socket, a file, a
 * pipe, a child process, a timer), and writes it to out: "waits for a file (/data/shard-3)". own:
 * a line of the job's own code waits, so that locks, other threads and events count, too.
 * *ret_wait: its kind. Returns the share of the examined time, 0 to 1; 0 and "": there is none. */
double examination_blocked(char *out, size_t len, const struct examination *e, bool own,
			   enum gp_wait *ret_wait);
/* Writes where the thread's time went: "examined for 9.0 s: 12 % runs, 81 % waits for a network
 * socket (127.0.0.1:80)", or why it was not examined. Returns out. */
const char *examination_text(char *out, size_t len, const struct examination *e);
void examination_archive(struct archive *a, struct examination **e);

#endif
