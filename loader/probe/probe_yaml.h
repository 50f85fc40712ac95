/* SPDX-License-Identifier: Apache-2.0 */
/* probe_yaml.h - the content of one probe file: shape and types are checked, meanings are not.
 * Private to probe_file. */
#ifndef LOADER_PROBE_YAML_H
#define LOADER_PROBE_YAML_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/yaml_table.h"

/* A capture (a value of a call to be recorded), as written in a probe file */
struct yaml_capture {
	const int *lines;
	char *name;
	int arg;
	int *arm64;	       /* position on arm64; NULL: not given */
	unsigned deref, width; /* width 0: not given */
	int offset;
	int *path; /* NULL: not given */
	unsigned path_count;
	int late;
	int as;		 /* enum probe_as */
	uint64_t equals; /* only in `only` */
};

struct yaml_string {
	const int *lines;
	int arg;
	unsigned deref;
	int offset;
	int as; /* enum probe_string */
};

struct yaml_unless {
	const int *lines;
	char *of;
	int *is;
	unsigned is_count;
};

/* Key `follow` of a probe */
struct yaml_follow {
	const int *lines;
	char *probe, *capture, *join, *with; /* join, with: NULL when absent */
};

struct yaml_code {
	const int *lines;
	char *code, *name;
	int fault; /* enum gp_fault_kind */
};

struct yaml_list {
	char **entry;
	unsigned count;
};

/* Key `result`: which return values are failures */
struct yaml_result {
	const int *lines;
	int is;		     /* enum gp_returns */
	struct yaml_list ok; /* "0", "1003..1004" */
};

struct yaml_probe { /* a probe of the file; optional texts are NULL when absent */
	const int *lines;
	char *id, *symbol, *prefix, *versions, *why, *operations;
	struct yaml_list libraries, variants, keep, only_names, texts;
	int abi, group, role, emit, returns, may_block, anonymous, wake, linked, once, status;
	int pair, object;
	unsigned max_hz;
	struct yaml_unless *unless;
	struct yaml_follow *follow;
	struct yaml_result *result; /* NULL: the key `result` of the file is used */
	struct yaml_string *string;
	struct yaml_capture *captures;
	unsigned captures_count;
	struct yaml_capture *only;
};

/* The content of a probe file */
struct yaml_probes {
	const int *lines;
	char *runtime;
	struct yaml_list libraries, threads, devices;
	struct yaml_result *result; /* NULL: not given */
	int between_ranks;
	struct yaml_code *codes;
	unsigned codes_count;
	struct yaml_probe *probes;
	unsigned probes_count;
};

struct yaml_file {
	char *path;
	struct yaml_probes probes;
	struct yaml_memory memory; /* memory of everything to which probes points */
};

/* Reads a regular file of at most 1 MiB. Returns 0, or -errno after logging the first error. */
int yaml_file_load(struct yaml_file **ret, const char *path);
void yaml_file_free(struct yaml_file *f);

/* Returns the line of a key of probe i; the line of the probe itself when it has no such key or
 * field is NULL. i < 0: field is a key of the file itself. */
int yaml_file_line(const struct yaml_file *f, int i, const char *field);

#endif
