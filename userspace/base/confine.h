/* SPDX-License-Identifier: Apache-2.0 */
/* confine.h - a process gives up for good what it has no use for: capabilities, ways to gain new
 * ones, and system calls that change other processes or the machine. The limits apply to the
 * calling thread and to threads and processes that it starts later: call it while there is one
 * thread. Errors: 0 or -errno, nothing is logged. */
#ifndef BASE_CONFINE_H
#define BASE_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

#define CONFINE_CAP(number) (1ull << (number)) /* CAP_BPF... of linux/capability.h */

/* Permitted and effective: those of keep that are there. Inheritable, ambient: none. The bounding
 * set, where CAP_SETPCAP allows it, likewise. What was never there is not missed. */
int confine_capabilities(uint64_t keep);
/* Whether all of these are effective. */
bool confine_has(uint64_t caps);
/* No program that is executed from now on has more than we: set-user-ID bits and capabilities of
 * files do not count. */
int confine_privileges(void);

enum confine_calls {
	CONFINE_MACHINE, /* what changes another process or the machine: the list in confine.c */
	CONFINE_READER, /* programs, sockets, processes, signals: for who reads what may be hostile,
			   above that */
};
/* Those calls answer EPERM (ENOSYS: clone3, whose arguments cannot be seen) from now on, and the
 * kernel's audit log is told. Implies confine_privileges(). -ENOSYS, -EINVAL...: the kernel has no
 * such filters. */
int confine_calls(enum confine_calls what);

#endif
