/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - what `gp-bpf check` found, and how it is shown: where each probe would sit in a process
 * or a file, and whether steps can be found there. Plain values; who fills them owns what they
 * point to. */
#ifndef REPORT_CHECK_H
#define REPORT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/buffer.h"

struct feature; /* loader/loader.h */

struct check_probe {
	const char *id, *runtime, *versions; /* of the row; versions "" when it is for all */
	uint16_t role;
	bool returns, anonymous, verified;
	const char *why;    /* of a state other than attached, for people; "" */
	uint32_t price_ns;  /* of one hit on this host; 0: unknown */
	struct gp_attach a; /* library: escaped */
};

struct check_runtime { /* one library of a runtime that was found */
	const char *runtime, *library;
	char version[48]; /* "" when it cannot be told */
	const char *version_from;
};

struct check_target { /* a process or a file */
	const char *name;
	uint32_t pid;	   /* 0: a file */
	const char *error; /* it could not be looked at: why; NULL */
	const struct check_probe *probes;
	size_t nprobes;
	const struct check_runtime *runtimes;
	size_t nruntimes;
};

struct check_price {
	const char *insn;
	uint32_t enter_ns, return_ns; /* 0: not measured */
};

struct check_host {
	const struct feature *features;
	int nfeatures;
	struct check_price prices[4];
	size_t nprices;	    /* 0: the probes could not be opened */
	uint64_t budget_ns; /* of a second; 0: no bound */
	uint32_t gvisor;    /* sandboxes of gVisor that run here */
	char lockdown[24];  /* of the kernel: none, integrity, confidentiality; "": unknown */
};

/* By what steps can be found, from the roles of the probes that are attached. */
enum check_tier { CHECK_NONE, CHECK_CYCLE, CHECK_B, CHECK_A };
struct check_verdict {
	enum check_tier tier;
	const char *by; /* id of the probe that tells them; "" */
	char text[384]; /* one sentence */
};
/* For a process, or for one that would map all of these files. */
void check_judge(const struct check_target *t, size_t n, struct check_verdict *ret);

/* Whether anything can be watched on this host, and what cannot be seen. */
struct check_host_verdict {
	bool able, lacking;
	char text[768]; /* one sentence */
};
void check_judge_host(const struct check_host *h, struct check_host_verdict *ret);

/* "attached"; of a file, where nothing is: "resolved". */
const char *check_state_name(const struct check_target *t, const struct check_probe *p);

/* These append to out. cols: of the terminal, where longer lines are wrapped; 0: no bound. color:
 * on a terminal that has it. */
void check_text_host(struct buffer *out, const struct check_host *h, int cols, bool color);
void check_text_targets(struct buffer *out, const struct check_target *targets, size_t n, int cols,
			bool color);
void check_text_verdict(struct buffer *out, const struct check_host *h, int cols,
			bool color); /* on the host */
/* Files come first, then processes. One object. */
void check_json(struct buffer *out, const struct check_host *h, const struct check_target *targets,
		size_t n);

#endif
