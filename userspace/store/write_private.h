/* SPDX-License-Identifier: Apache-2.0 */
/* write_private.h - what write.c and write_former.c share. */
#ifndef STORE_WRITE_PRIVATE_H
#define STORE_WRITE_PRIVATE_H

#include "userspace/store/write.h"

/* 1: the store has it, and it is this session's from here on; 0: it has not; -errno. *ret is zero
 * before. */
int write_place_find(struct store *st, int64_t session, const char *boot_id,
		     const struct intake_about *a, struct intake_place *ret);

#endif
