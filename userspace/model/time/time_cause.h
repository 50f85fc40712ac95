/* SPDX-License-Identifier: Apache-2.0 */
/* time_cause.h - why steps became slower, and how much of the lost time each cause explains. A
 * cause gets only time that was measured (waits for a CPU, for example); the rest is
 * TIME_CAUSE_unknown. Pure. */
#ifndef MODEL_TIME_CAUSE_H
#define MODEL_TIME_CAUSE_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/time/lines.h"
#include "userspace/model/time/resource.h"

/* Causes: id, name, label, text for people. Names and labels are values in outputs. Append only,
 * never renumber. */
#define TIME_CAUSES(X)                                                                             \
	X(unknown, "unknown", "unexplained")                                                       \
	X(cpu_contention, "CPU contention", "waits for a CPU on which other threads run")          \
	X(cpu_throttled, "CPU quota",                                                              \
	  "waits because the CPU quota of its control group is used up")                           \
	X(memory_pressure, "memory pressure", "waits for memory: reclaim or swap")                 \
	X(disk, "disk", "waits for block I/O or a file")                                           \
	X(loader_cpu, "data loader at its CPU limit", "waits for input while its loader computes") \
	X(loader_io, "slow files of the data loader",                                              \
	  "waits for input while the loader's workers wait for files")                             \
	X(network, "network", "waits for the network, itself or in its data loader")               \
	X(garbage_collection, "garbage collection", "runs Python's garbage collector")             \
	X(own_code, "own code", "own code")                                                        \
	X(device_throttled, "accelerator throttled",                                               \
	  "waits for an accelerator whose clock is lowered")                                       \
	X(device_error, "accelerator errors", "waits for an accelerator with memory errors")       \
	X(interpreter_lock, "interpreter lock",                                                    \
	  "waits for Python's interpreter lock, which another thread holds")                       \
	X(straggler, "straggler", "waits for a rank that comes late")                              \
	X(checkpoint, "checkpoint",                                                                \
	  "waits while a thread that saves a checkpoint has the interpreter's lock")               \
	X(frequency, "CPU frequency", "runs longer because the clock of its CPU is lower")         \
	X(kernel, "kernel time", "runs in the kernel (system calls, page faults)")                 \
	X(lock, "lock", "waits for a lock or another thread")                                      \
	X(pipe, "pipe", "waits for a pipe or a local socket")                                      \
	X(child, "child process", "waits for a child process")

enum time_cause {
#define X(id, label, text) TIME_CAUSE_##id,
	TIME_CAUSES(X)
#undef X
		TIME_CAUSE_COUNT
};
extern const char *const time_cause_name[TIME_CAUSE_COUNT];  /* "cpu_contention" */
extern const char *const time_cause_label[TIME_CAUSE_COUNT]; /* "CPU contention" */
extern const char *const time_cause_text[TIME_CAUSE_COUNT];

/* Returns the label of the cause with this name: "" for "unknown"; the name itself if there is no
 * such cause. */
const char *time_cause_label_of(const char *name);

#define TIME_CAUSE_FIGURES 240

struct time_causes {
	uint64_t lost_ns; /* time lost per step (ns); 0: not examined */
	/* How much of lost_ns each cause explains; the sum is lost_ns. */
	uint64_t ns[TIME_CAUSE_COUNT];
	/* Lines of Python, as "train.py:31 in step()"; "": unknown. line: the one to which own_code
	 * refers. holder_line: where the thread is that has the interpreter's lock, for
	 * interpreter_lock and checkpoint. waits_line: where most of the time is waited that is
	 * unexplained, or a wait for the network, a disk, a lock, a pipe or a child. */
	char line[LINES_TEXT_MAX], holder_line[LINES_TEXT_MAX], waits_line[LINES_TEXT_MAX];
	/* Figures that support the causes, as text: "it reads 12.0 MB/s from storage"; "": none */
	char figures[TIME_CAUSE_FIGURES];
	uint32_t mhz_before, mhz_after; /* mean clock of the CPU, for frequency; 0: unknown */
};

/* Examines a slowdown: steps took before_ns, and now take after_ns. before, after: what the process
 * lacked before and since the slowdown began. ret->lost_ns is 0 if too little was measured. */
void time_cause_slower(struct time_causes *ret, const struct resource_sums *before,
		       uint64_t before_ns, const struct resource_sums *after, uint64_t after_ns);
/* Adds time that a cause explains, at most what is unexplained so far. */
void time_cause_add(struct time_causes *l, enum time_cause c, uint64_t ns);
/* Adds time of waits that were measured in each step. If too little time is unexplained, takes the
 * rest from cpu_contention, which also counts time in which the training thread sleeps. */
void time_cause_add_wait(struct time_causes *l, enum time_cause c, uint64_t ns);
/* Adds the growth of the time in the kernel, at most what is unexplained so far. The parameters are
 * those of time_cause_slower(). */
void time_cause_add_kernel(struct time_causes *l, const struct resource_sums *before,
			   uint64_t before_ns, const struct resource_sums *after,
			   uint64_t after_ns);
/* Returns the cause that explains most, if it explains at least 30 %; else TIME_CAUSE_unknown. */
enum time_cause time_cause_main(const struct time_causes *l);
/* Returns the share of the lost time, 0 to 1, that a cause explains. */
double time_cause_share(const struct time_causes *l, enum time_cause c);
/* Returns the line of Python that belongs to a cause: line, holder_line or, for other waits
 * and unknown, waits_line. "": unknown, or the cause has none. */
const char *time_causes_line(const struct time_causes *l, enum time_cause c);
/* Returns the field of that line (LINES_TEXT_MAX bytes); NULL: the cause has none. */
char *time_causes_line_of(struct time_causes *l, enum time_cause c);
/* Writes "81 % waits for a CPU on which other threads run, 19 % unexplained" to out and returns
 * out. Causes with the largest share come first. "" if nothing was examined or explained. */
const char *time_causes_text(char *out, size_t len, const struct time_causes *l);
/* Writes the same text as time_causes_text(), with the text detail[c] after each cause c, for
 * example " (stress-ng: 76 %)" or "". */
const char *time_causes_text_with(char *out, size_t len, const struct time_causes *l,
				  const char *const detail[TIME_CAUSE_COUNT]);
void time_causes_archive(struct archive *a, struct time_causes *l);

#endif
