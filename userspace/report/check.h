/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - results of `gp-bpf check`, and how to print them: where each probe would be attached in
 * a process or file, and whether steps can be found there. Plain values; the code that fills them
 * owns the memory. */
#ifndef REPORT_CHECK_H
#define REPORT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/buffer.h"

struct feature; /* loader/loader.h */

struct check_probe {
	const char *id, *runtime, *versions; /* from the probe row; versions "": all versions */
	uint16_t role;
	bool returns, anonymous, verified;
	/* names: the probe's string names the program in each run; compiles: the probe's runtime
	 * has rows that name a program when it is compiled. */
	bool names, compiles;
	const char *why;      /* for people, reason for any state except "attached"; "" */
	uint32_t hit_cost_ns; /* cost of a hit on this host; 0: unknown */
	struct gp_attach a;   /* library: escaped */
};

struct check_runtime { /* a library of a runtime that was found */
	const char *runtime, *library;
	char version[48]; /* "" if unknown */
	const char *version_from;
};

struct check_target { /* a process or a file that was checked */
	const char *name;
	uint32_t pid;	   /* 0: a file */
	const char *error; /* why the target could not be checked; NULL: it was checked */
	const struct check_probe *probes;
	size_t nprobes;
	const struct check_runtime *runtimes;
	size_t nruntimes;
};

struct check_hit_cost {
	const char *insn;
	uint32_t enter_ns, return_ns; /* cost of one hit; 0: not measured */
};

struct check_host {
	const struct feature *features;
	int nfeatures;
	struct check_hit_cost prices[4];
	size_t nprices;	    /* 0: the probe files could not be read */
	uint64_t budget_ns; /* limit of the probes' cost per second; 0: no limit */
	uint32_t gvisor;    /* number of running gVisor sandboxes */
	/* mode of the kernel's lockdown: none, integrity, confidentiality; "": unknown */
	char lockdown[24];
};

/* How exactly steps can be found, from the roles of the attached probes. */
enum check_tier { CHECK_NONE, CHECK_CYCLE, CHECK_B, CHECK_A };
struct check_verdict {
	enum check_tier tier;
	const char *by; /* ID of the probe that finds steps; "" */
	char text[384]; /* one sentence */
};
/* Decides how steps can be found in a process, or in a process that would map all of these
 * files. */
void check_classify(const struct check_target *t, size_t n, struct check_verdict *ret);

/* Says whether this host can watch anything, and what it cannot observe. */
struct check_host_verdict {
	bool able, lacking;
	char text[768]; /* one sentence */
};
void check_classify_host(const struct check_host *h, struct check_host_verdict *ret);

/* Returns the name of the probe's state: "resolved" instead of "attached" for a file, in which
 * nothing is attached. */
const char *check_state_name(const struct check_target *t, const struct check_probe *p);

/* These append to out. cols: width of the terminal, at which lines are wrapped; 0: no limit. color:
 * use ANSI colours. */
void check_text_host(struct buffer *out, const struct check_host *h, int cols, bool color);
void check_text_targets(struct buffer *out, const struct check_target *targets, size_t n, int cols,
			bool color);
void check_text_verdict(struct buffer *out, const struct check_host *h, int cols,
			bool color); /* how the host's features are shown */
/* Appends one object; files come before processes. */
void check_json(struct buffer *out, const struct check_host *h, const struct check_target *targets,
		size_t n);

#endif
