/* SPDX-License-Identifier: Apache-2.0 */
/* feature.h - features of the running kernel, for the rest of loader/. Call loader_features()
 * first. */
#ifndef LOADER_FEATURE_H
#define LOADER_FEATURE_H

#include <stdbool.h>

enum feature_id {
	FEATURE_BPF,
	FEATURE_COOKIE,
	FEATURE_BTF,
	FEATURE_TP_BTF,
	FEATURE_TASK_VMA,
	FEATURE_MULTI,
	FEATURE_SESSION,
	FEATURE_TRACEFS,
	FEATURE_SYSCALL_TP,
	FEATURE_KERNEL_READ,
	FEATURE_FILE,
	FEATURE_BPFFS,
	FEATURE_COUNT
};

bool feature_have(enum feature_id id);
/* Returns true when the kernel's BTF has a function of that name. */
bool feature_kernel_function(const char *name);
/* Returns 0, or -EPERM, -ENOSYS, -EINVAL after logging what is missing and the remedy. */
int feature_able(const char *features_off);
/* Like feature_able(), and logs a line for each optional feature that is missing. */
int feature_check(const char *features_off);
/* Detaches the links that the tests of features attached, in a separate thread. Call when the
 * programs of the loader and the first libraries are attached: attaching would have to wait for the
 * detaching. */
void feature_tests_end(void);

#endif
