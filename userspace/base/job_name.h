/* SPDX-License-Identifier: Apache-2.0 */
/* job_name.h - shortens and escapes the name of a job. Thread-safe. */
#ifndef BASE_JOB_NAME_H
#define BASE_JOB_NAME_H

#define JOB_NAME_MAX                                                                               \
	256 /* bytes of a stored name, terminator included: GP_JOB_MAX of bpf/gp_abi.h */

/* Writes the name of a job as gp-bpf uses it, escaped as by log_escape(). Names of up to 253 bytes
 * (the limit of Kubernetes, RFC 1123) are kept. A longer name becomes its first 236 bytes, "~" and
 * a hash of the whole name; the first such name is logged. Returns out. */
char *job_name_keep(char out[JOB_NAME_MAX], const char *name);

#endif
