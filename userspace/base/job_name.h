/* SPDX-License-Identifier: Apache-2.0 */
/* job_name.h - a job's name as it is kept. Thread-safe. */
#ifndef BASE_JOB_NAME_H
#define BASE_JOB_NAME_H

#define JOB_NAME_MAX 256 /* of what is kept, terminator included: GP_JOB_MAX of bpf/gp_abi.h */

/* Up to 253 bytes (a name of Kubernetes, RFC 1123) are kept whole; of a longer name the first 236
 * bytes, "~" and a hash of all of it, which the log says once. Escaped as by log_escape(). Returns
 * out. */
char *job_name_keep(char out[JOB_NAME_MAX], const char *name);

#endif
