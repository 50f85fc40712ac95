/* SPDX-License-Identifier: Apache-2.0 */
/* intake_private.h - what intake.c and intake_minute.c share. */
#ifndef STORE_INTAKE_PRIVATE_H
#define STORE_INTAKE_PRIVATE_H

#include "userspace/store/intake.h"

/* What the rank's ledger gained since the last time goes into the minute in which that time began.
 */
void intake_form(struct intake *t, struct intake_rank *r);
/* Its place in the store is another one now, which has all that was written: the rest is told anew.
 */
void intake_unplace(struct intake *t, struct intake_rank *r);
void intake_rank_free(struct intake *t, struct intake_rank *r);

#endif
