/* SPDX-License-Identifier: Apache-2.0 */
/* feature.h - what the running kernel allows, for the rest of loader/. Valid after
 * loader_features(). */
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
	FEATURE_FILE,
	FEATURE_BPFFS,
	FEATURE_COUNT
};

bool feature_have(enum feature_id id);
bool feature_kernel_function(const char *name); /* in the kernel's BTF */
/* 0, or -EPERM/-ENOSYS/-EINVAL after one line that says what is missing and what helps. */
int feature_able(const char *features_off);
/* The same, and a line of each feature that is done without. */
int feature_check(const char *features_off);

#endif
