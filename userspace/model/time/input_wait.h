/* SPDX-License-Identifier: Apache-2.0 */
/* input_wait.h - explains the time that a training process waits for its data loader, second by
 * second: by what the loader's workers did meanwhile.
 *
 *   main        the training thread was on a CPU: it loads or takes the batches itself. Counts as
 *               far as its time without a CPU in that second is too short for the wait.
 *   pin         the thread that pins memory was on a CPU for 90 % of the second
 *   workers     workers on a CPU, or waiting for one, for 90 % of the second: their time on a CPU
 *   contention  their time without one
 *   disk, network  workers that were found to wait so
 *   block       the training thread waited for block I/O itself, without workers
 *   unknown     the rest: workers that sleep, or work less
 *
 * Pure; 10 KiB. Times in ns, CLOCK_MONOTONIC. */
#ifndef MODEL_INPUT_WAIT_H
#define MODEL_INPUT_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"

#define INPUT_SECONDS 180 /* that are kept */

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
	uint64_t wait_ns;	    /* for input, in seconds of which there are figures */
	uint64_t ns[INPUT_REASONS]; /* the sum is wait_ns */
	/* Means over the wait, times wait_ns / 1 us. CPUs and shares in hundredths. */
	uint64_t workers, busy, cores, idle;
	uint64_t top_cpu; /* share of the busiest worker */
	uint64_t all_cpu; /* sum of the shares of all workers */
};

struct input_finding {
	enum input_reason reason;
	uint64_t ns;  /* of the wait that it explains */
	double share; /* of the wait, 0 to 1 */
	/* Means over the wait. */
	double workers, busy; /* worker processes; those at 90 % of a CPU or more */
	double cpu;	      /* share of a CPU that the busiest worker used, 0 to 1 */
	double cores, idle;   /* CPUs that the process may use, and that nothing used; 0: unknown */
	bool one_slow;	      /* one worker is busy, while the others wait for work */
};

/* Whether a process has waited for input for 3 % of the last half minute. */
struct input_gate {
	uint64_t since_ns, wait_ns, before_ns; /* present quarter of a minute; last one */
	bool whole;			       /* before_ns is known */
};
void input_gate_wait(struct input_gate *g, uint64_t from_ns, uint64_t to_ns);
bool input_gate_starved(const struct input_gate *g, uint64_t now_ns);
void input_gate_archive(struct archive *a, struct input_gate *g);

struct input_waits;
struct input_waits *input_waits_new(void); /* NULL: no memory */
void input_waits_free(struct input_waits *w);
/* Takes a wait for input that is over. */
void input_waits_add(struct input_waits *w, uint64_t from_ns, uint64_t to_ns);
/* Takes the figures of a second that ends at ts_ns. */
void input_waits_figures(struct input_waits *w, uint64_t ts_ns, const struct gp_input *f);
/* Sums what is known of a span; a second that lies partly within counts in proportion. */
void input_waits_between(const struct input_waits *w, uint64_t from_ns, uint64_t to_ns,
			 struct input_sums *ret);
/* Sums everything since the process began. */
void input_waits_total(const struct input_waits *w, struct input_sums *ret);
void input_waits_archive(struct archive *a, struct input_waits **w);
void input_sums_archive(struct archive *a, struct input_sums *s);

/* Writes the reason that explains most to *ret, INPUT_UNKNOWN last. Returns false if there is no
 * wait. */
bool input_find(const struct input_sums *s, struct input_finding *ret);
/* Writes the finding for one reason. */
void input_finding(const struct input_sums *s, enum input_reason reason, struct input_finding *ret);
/* Writes "2 loader workers at 100 % CPU, 14 of 16 cores idle" to out and returns it; "" for
 * INPUT_UNKNOWN. */
const char *input_finding_text(char *out, size_t len, const struct input_finding *f);

#endif
