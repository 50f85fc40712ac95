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
	/* names: the probe reports the program's name in each run. compiles: the probe's runtime
	 * also has probes that report the name when a program is compiled. */
	bool names, compiles;
	/* reason for any state except "attached", as text for users; "": none */
	const char *why;
	uint32_t hit_cost_ns; /* time of one hit on this host; 0: unknown */
	struct gp_attach a;   /* attachment of the probe; a.library is escaped */
};

struct check_runtime { /* a library of a runtime that was found in a process or file */
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
	uint32_t enter_ns, return_ns; /* time of one hit of a probe; 0: not measured */
};

struct check_host {
	const struct feature *features;
	int nfeatures;
	struct check_hit_cost prices[4];
	size_t nprices;	    /* 0: the probe files could not be read */
	uint64_t budget_ns; /* limit of the time that probes may take, per second; 0: no limit */
	uint32_t gvisor;    /* number of running gVisor sandboxes */
	/* lockdown mode of the kernel: none, integrity or confidentiality; "": unknown */
	char lockdown[24];
	/* how the clocks of accelerators are read, or why not: "2 by libnvidia-ml.so.1..."; "":
	 * unknown */
	char accelerators[256];
};

/* How exactly steps can be found, from the roles of the attached probes. */
enum check_tier { CHECK_NONE, CHECK_CYCLE, CHECK_B, CHECK_A };
struct check_verdict {
	enum check_tier tier;
	const char *by; /* ID of the probe from which steps are found; "": none */
	char text[384]; /* one sentence */
};
/* Decides how steps can be found in a process. If the targets are files, the n files are treated as
 * mapped by one process. */
void check_classify(const struct check_target *t, size_t n, struct check_verdict *ret);

/* Decides whether gp-bpf can watch anything on this host, and what it cannot observe. */
struct check_host_verdict {
	bool able, lacking;
	char text[768]; /* one sentence */
};
void check_classify_host(const struct check_host *h, struct check_host_verdict *ret);

/* Returns the name of a probe's state. For a file it is "resolved" instead of "attached", as
 * nothing is attached to a file. */
const char *check_state_name(const struct check_target *t, const struct check_probe *p);

/* The following functions append to out. cols: width of the terminal, at which lines are wrapped;
 * 0: no limit. color: use ANSI colours. */
void check_text_host(struct buffer *out, const struct check_host *h, int cols, bool color);
void check_text_targets(struct buffer *out, const struct check_target *targets, size_t n, int cols,
			bool color);
void check_text_verdict(struct buffer *out, const struct check_host *h, int cols, bool color);
/* Appends one JSON object, with files before processes. */
void check_json(struct buffer *out, const struct check_host *h, const struct check_target *targets,
		size_t n);

#endif
