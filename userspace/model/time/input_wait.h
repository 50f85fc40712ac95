/* SPDX-License-Identifier: Apache-2.0 */
/* input_wait.h - explains the time that a training process waits for its data loader, second by
 * second: by what the loader's workers did meanwhile.
 *
 *   main        The training thread loads or takes the batches itself. This is the part of the wait
 *               that is longer than the time in which the thread was not on a CPU.
 *   pin         The thread that pins memory was on a CPU for 90 % of the second.
 *   workers     The busiest worker was busy, on a CPU or waiting for one, for 90 % of the second.
 *               This is the part on a CPU.
 *   contention  The part in which busy workers waited for a CPU.
 *   disk, network  Workers waited for a file or the disk, or for the network.
 *   block       There are no workers, and the training thread waited for block I/O.
 *   unknown     The rest: for example, workers sleep, or work for less than 90 % of the second.
 *
 * Pure; 10 KiB. Times in ns, CLOCK_MONOTONIC. */
#ifndef MODEL_INPUT_WAIT_H
#define MODEL_INPUT_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"

#define INPUT_SECONDS 180 /* number of last seconds that are kept */

enum input_reason {
	INPUT_UNKNOWN,
	INPUT_MAIN,
	INPUT_PIN,
	INPUT_WORKERS,
	INPUT_CONTENTION,
	INPUT_DISK,
	INPUT_NETWORK,
	INPUT_BLOCK,
	INPUT_REASONS
};

struct input_sums {
	/* time that the thread waited for input, in seconds for which there are figures */
	uint64_t wait_ns;
	uint64_t ns[INPUT_REASONS]; /* the parts of wait_ns that each reason explains */
	/* For each figure: sum over the seconds of figure * (wait in us). The mean is the sum
	 * divided by wait_ns / 1000. CPUs and shares of a CPU are in hundredths. */
	uint64_t workers, busy, cores, idle;
	uint64_t top_cpu; /* share of a CPU that the busiest worker used */
	uint64_t all_cpu; /* CPUs that all workers used together */
};

struct input_finding {
	enum input_reason reason;
	uint64_t ns;  /* part of the wait that the reason explains */
	double share; /* share of the wait that the reason explains, 0 to 1 */
	/* The members below are means over the wait. */
	/* number of worker processes; number of those that used 90 % of a CPU or more */
	double workers, busy;
	double cpu; /* share of a CPU that the busiest worker used, 0 to 1 */
	/* number of CPUs that the process may use, and how many of them were idle; 0: unknown */
	double cores, idle;
	bool one_slow; /* one worker is busy, while the others wait for work */
};

/* Used to find out whether a process has waited for input for 3 % of the last half minute. */
struct input_gate {
	/* wait in the quarter of a minute that began at since_ns; wait in the previous quarter */
	uint64_t since_ns, wait_ns, before_ns;
	bool whole; /* before_ns covers a whole quarter of a minute */
};
void input_gate_wait(struct input_gate *g, uint64_t from_ns, uint64_t to_ns);
bool input_gate_starved(const struct input_gate *g, uint64_t now_ns);
void input_gate_archive(struct archive *a, struct input_gate *g);

struct input_waits;
struct input_waits *input_waits_new(void); /* NULL: no memory */
void input_waits_free(struct input_waits *w);
/* Adds a wait for input that has ended. */
void input_waits_add(struct input_waits *w, uint64_t from_ns, uint64_t to_ns);
/* Adds what the loader did in the second that ends at ts_ns. */
void input_waits_figures(struct input_waits *w, uint64_t ts_ns, const struct gp_input *f);
/* Sums the kept seconds within a span. A second that is partly in the span counts in proportion. */
void input_waits_between(const struct input_waits *w, uint64_t from_ns, uint64_t to_ns,
			 struct input_sums *ret);
/* Sums everything since the process began. */
void input_waits_total(const struct input_waits *w, struct input_sums *ret);
void input_waits_archive(struct archive *a, struct input_waits **w);
void input_sums_archive(struct archive *a, struct input_sums *s);

/* Writes the reason that explains most to *ret; INPUT_UNKNOWN only if there is no other. Returns
 * false if there is no wait. */
bool input_find(const struct input_sums *s, struct input_finding *ret);
/* Writes how much one reason explains to *ret. */
void input_finding(const struct input_sums *s, enum input_reason reason, struct input_finding *ret);
/* Writes "2 loader workers at 100 % CPU, 14 of 16 cores idle" to out and returns it; "" for
 * INPUT_UNKNOWN. */
const char *input_finding_text(char *out, size_t len, const struct input_finding *f);

#endif
