/* SPDX-License-Identifier: Apache-2.0 */
/* confine.h - permanently drops capabilities that the process does not need, ways to gain new ones,
 * and system calls that change other processes or the machine. The limits apply to the calling
 * thread and to threads and processes that it starts later: call while there is only one thread.
 * Functions return 0 or -errno and log nothing. */
#ifndef BASE_CONFINE_H
#define BASE_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

/* bit of a capability; number: CAP_BPF... of linux/capability.h */
#define CONFINE_CAP(number) (1ull << (number))

/* Reduces the permitted and effective sets to `keep`, clears the inheritable and ambient sets, and
 * reduces the bounding set where CAP_SETPCAP allows it. A capability of `keep` that the process
 * lacks is not an error. */
int confine_capabilities(uint64_t keep);
/* Returns true if all of these capabilities are effective. */
bool confine_has(uint64_t caps);
/* Makes the programs that are executed from now on gain no privileges: set-user-ID bits and file
 * capabilities have no effect. */
int confine_privileges(void);

/* Kinds of system calls that can be denied */
enum confine_calls {
	CONFINE_MACHINE, /* calls that change other processes or the machine: see confine.c */
	CONFINE_READER,	 /* also starting programs and processes, sockets, and signals */
};
/* Makes calls of the given kind fail with EPERM from now on, and has them reported to the kernel's
 * audit log. clone3() fails with ENOSYS, because a filter cannot see its arguments. Includes
 * confine_privileges(). Returns 0, or -ENOSYS, -EINVAL... if the kernel does not support such
 * filters. */
int confine_calls(enum confine_calls what);

#endif
