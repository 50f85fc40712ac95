/* SPDX-License-Identifier: Apache-2.0 */
/* job_name.h - the stored form of a job's name. Thread-safe. */
#ifndef BASE_JOB_NAME_H
#define BASE_JOB_NAME_H

#define JOB_NAME_MAX                                                                               \
	256 /* bytes of a stored name, terminator included: GP_JOB_MAX of bpf/gp_abi.h */

/* Writes the stored form of a name. Names of up to 253 bytes (the limit of Kubernetes, RFC 1123)
 * are stored whole; of a longer name the first 236 bytes, "~" and a hash of the whole name, which
 * is logged once. Escaped like log_escape(). Returns out. */
char *job_name_keep(char out[JOB_NAME_MAX], const char *name);

#endif
